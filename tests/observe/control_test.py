# SPDX-License-Identifier: MIT
"""Owns: commands to running processes: what they do, what they never do, and why one is refused."""

import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from process import COMMAND, REAL, Process, address_of, look, program, read, talus
from refused import (AS_ROOT, RefusedCase, as_nobody, asked_of_a_set_user_id_program,
                     asked_of_another_user, reachable_command, run_as_nobody)

WITH_HELPER = {"TALUS_HELPER": "1", "TALUS_DECAY_MS": "3600s", "TALUS_PRINT_STATS": "/dev/null",
               "TALUS_PRINT_STATS_TRIGGER": "2", "TALUS_PRINT_STATS_MS": "3600s"}


# Refuses ptrace, prctl, process_vm_readv, process_vm_writev, kill and new threads, for ever.
FILTERED = """
import ctypes, platform, struct, time
numbers = {"x86_64": (101, 157, 310, 311, 62, 56, 435), "aarch64": (117, 167, 270, 271, 129, 220,
           435)}[platform.machine()]
program = struct.pack("<HBBI", 0x20, 0, 0, 0)
for place, number in enumerate(numbers):
    program += struct.pack("<HBBI", 0x15, len(numbers) - place, 0, number)
program += struct.pack("<HBBI", 6, 0, 0, 0x7fff0000) + struct.pack("<HBBI", 6, 0, 0, 0x50001)
kept = ctypes.create_string_buffer(program)
head = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8,
                                               ctypes.addressof(kept)))
call = ctypes.CDLL(None).prctl
call.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
assert call(38, 1, None, 0, 0) == 0
assert call(22, 2, ctypes.addressof(head), 0, 0) == 0
print("ready", flush=True)
"""


def ctl(*words, **more):
    return talus("ctl", *words, **more)


def states_of(pid):
    """{thread: letter of its state}"""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
            found[int(thread)] = file.read().rsplit(")", 1)[1].split()[0]
    return found


def helper_of(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as file:
            if file.read() == "talus\n" and int(thread) != pid:
                return int(thread)
    return 0


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return file.read()


def is_traced(pid, tracer):
    """Whether the tracer has each thread. It attaches to one after the other."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
                if f"TracerPid:\t{tracer}\n" not in file.read():
                    return False
        except (FileNotFoundError, ProcessLookupError):
            pass  # the thread has just ended
    return True


def yama():
    """Which processes may look into others; None: the kernel is without Yama."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def wait_for(condition):
    for _ in range(6000):  # a minute: a busy machine may not run the others for seconds
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


class Commands(unittest.TestCase):
    def assert_done(self, done, words):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn(words, done.stdout)
        self.assertNotIn("\033", done.stdout)

    def test_each_command_in_a_busy_process_without_helper(self):
        for kind in ("shared", "static", "object", "header"):
            with Process(kind) as process:
                process.ask("b")
                self.assert_done(ctl(process.pid, "trim", "1M"), "MiB went back")
                self.assert_done(ctl(process.pid, "set", "decay_ms=123ms"),
                                 "decay_ms = 123ms, was 1s")
                self.assert_done(ctl(process.pid, "set", "TALUS_THP=never"), "= never, was ")
                self.assert_done(ctl(process.pid, "set", "limit_soft=3G"), "= 3GiB, was ")
                self.assert_done(ctl(process.pid, "set", "limit_soft="), "was 3GiB")
                self.assert_done(ctl(process.pid, "release", "100K"), "MiB went back")
                self.assert_done(ctl(process.pid, "reset-peak"), "peaks")

    def test_an_idle_process_with_a_helper(self):
        with Process("shared", **WITH_HELPER) as process:
            process.ask("b")
            wait_for(lambda: helper_of(process.pid))
            process.ask("s")  # its threads end
            before = look(process.pid)
            start = time.monotonic()
            done = ctl(process.pid, "release")
            took = time.monotonic() - start
            self.assert_done(done, "MiB went back")
            self.assertGreater(float(re.search(r"([\d.]+) MiB", done.stdout)[1]), 0)
            self.assertLess(took, 1)  # it slept for an hour
            after = look(process.pid)
            self.assertLess(after["resident"]["total_bytes"], before["resident"]["total_bytes"])
            self.assertEqual(after["heap"]["live_bytes"], before["heap"]["live_bytes"])
            self.assertNotIn("t", states_of(process.pid).values())

    def test_counting(self):
        with Process("shared") as process:
            process.ask("b")
            self.assertIsNone(look(process.pid)["calls"]["allocations"])
            self.assert_done(ctl(process.pid, "stats", "on"), "counts its calls")
            wait_for(lambda: look(process.pid)["calls"]["allocations"])
            process.ask("s")
            numbers = look(process.pid)
            live, known = numbers["heap"]["live_bytes"], numbers["calls"]["live_bytes"]
            self.assertLess(abs(live - known), live / 4)  # threads allocated when it began
            process.ask("b")
            for row in numbers["thread"].values():
                self.assertIsNotNone(row["allocated_bytes"])
            self.assert_done(ctl(process.pid, "stats", "off"), "no longer")
            process.ask("s")
            seen = look(process.pid)
            self.assertEqual(set(seen["calls"].values()), {None})
            self.assertEqual({row["allocated_bytes"] for row in seen["thread"].values()}, {None})
            process.ask("b")
            self.assert_done(ctl(process.pid, "stats", "on"), "counts its calls")
            wait_for(lambda: look(process.pid)["calls"]["frees"])
            process.ask("s")

    def test_causes_of_purges(self):
        with Process("shared") as process:
            process.ask("w")
            process.ask("b")
            self.assert_done(ctl(process.pid, "release"), "MiB went back")
            process.ask("s")
            numbers = look(process.pid)
            self.assertGreater(numbers["purge"]["command_bytes"], 0)
            for part, whole in (("bytes", "purged_bytes"), ("calls", "purges")):
                parts = sum(value for name, value in numbers["purge"].items()
                            if name.endswith(part))
                self.assertEqual(parts, numbers["space"][whole])
            before = numbers["purge"]["call_bytes"]
            process.ask("w")
            process.ask("t")
            self.assertGreater(look(process.pid)["purge"]["call_bytes"], before)

    def test_peaks(self):
        with Process("shared") as process:
            process.ask("b")
            self.assert_done(ctl(process.pid, "reset-peak"), "peaks")
            process.ask("s")
            space = look(process.pid)["space"]
            self.assertLessEqual(space["given_bytes"], space["given_peak_bytes"])
            self.assertLess(space["given_peak_bytes"], 2 * space["given_bytes"])

    def test_a_child_does_not_execute_the_command_of_its_parent(self):
        with Process("shared") as process:
            child = int(process.ask("f"))
            request = address_of(child, os.path.basename(os.path.realpath(REAL)), "helper.request")
            self.assertEqual(read(child, request, 4), bytes(4))

    def test_a_killed_command_leaves_the_process_running(self):
        chance = random.Random(5)
        with Process("shared", **WITH_HELPER) as process:
            process.ask("b")
            wait_for(lambda: helper_of(process.pid))
            process.ask("s")
            for _ in range(60):
                with subprocess.Popen([COMMAND, "ctl", str(process.pid), "trim"],
                                      stdout=subprocess.DEVNULL) as child:
                    time.sleep(chance.random() * 0.012)
                    child.kill()
            wait_for(lambda: "t" not in states_of(process.pid).values())
            self.assert_done(ctl(process.pid, "trim"), "went back")

    def test_commands_side_by_side(self):
        with Process("shared", **WITH_HELPER) as process:
            process.ask("b")
            wait_for(lambda: helper_of(process.pid))
            running = [subprocess.Popen([COMMAND, "ctl", "--wait=20", str(process.pid), *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                       for words in (["trim"], ["set", "decay_ms=7s"], ["release", "1M"],
                                     ["reset-peak"], ["trim", "64M"])]
            for child in running:
                out, error = child.communicate(timeout=60)
                self.assertEqual((child.returncode, error), (0, ""), out)


class Refusals(RefusedCase):
    def test_wrong_use(self):
        for words in (["x", "trim"], ["1", "jump"], ["1", "set"], ["1", "set", "x"], ["1"], [],
                      ["1", "release", "many"], ["1", "release", "0"], ["1", "stats", "maybe"],
                      ["1", "reset-peak", "1"], ["1", "set", "=" + "1"]):
            self.assertEqual(ctl(*words).returncode, 2, words)
        self.assertEqual(ctl(4194305, "trim").returncode, 2)

    def test_settings(self):
        with Process("shared") as process:
            process.ask("b")
            for setting, words in (("heaps=3", "when a process starts"),
                                   ("decayms=3", "did you mean"),
                                   ("decay_ms=soon", "is not understood"),
                                   ("decay_ms=9999s", "out of range")):
                self.assert_refused(ctl(process.pid, "set", setting), 2, words)

    def test_an_idle_process_without_a_helper(self):
        with Process("shared") as process:
            done = ctl("--wait=0.2", process.pid, "set", "decay_ms=5s")
            self.assert_refused(done, 3, "no thread took the command within 0.2 s")
            process.ask("b")
            self.assertIn("was 1s", ctl(process.pid, "set", "decay_ms=5s").stdout)  # withdrawn

    def test_no_observers(self):
        with Process("shared", TALUS_OBSERVERS="none") as process:
            process.ask("b")
            self.assert_refused(ctl(process.pid, "trim"), 3, "TALUS_OBSERVERS=none")
            self.assertEqual(talus("stats", process.pid).returncode, 0)

    def test_stopped(self):
        with Process("shared") as process:
            process.ask("b")
            os.kill(process.pid, signal.SIGSTOP)
            wait_for(lambda: states_of(process.pid)[process.pid] == "T")
            done = ctl(process.pid, "trim")
            os.kill(process.pid, signal.SIGCONT)
            self.assert_refused(done, 3, f"kill -CONT {process.pid}")

    @unittest.skipUnless(shutil.which("strace"), "needs strace, as one that traces")
    def test_traced(self):
        with Process("shared", **WITH_HELPER) as process:
            process.ask("b")
            wait_for(lambda: helper_of(process.pid))
            process.ask("s")
            with subprocess.Popen(["strace", "-qq", "-f", "-o", "/dev/null", "-p",
                                   str(process.pid)]) as tracer:
                try:
                    wait_for(lambda: is_traced(process.pid, tracer.pid))
                    # A helper that was still awake takes the command by itself, and then sleeps.
                    for _ in range(20):
                        done = ctl("--wait=0.3", process.pid, "trim")
                        if done.returncode != 0:
                            break
                finally:
                    tracer.terminate()
            self.assert_refused(done, 3, "(strace)")

    def test_not_talus(self):
        with subprocess.Popen([shutil.which("sleep"), "60"]) as child:
            done = ctl(child.pid, "trim")
            child.kill()
        self.assert_refused(done, 1, "no Talus in it")

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_of_another_user(self):
        done = asked_of_another_user("ctl", "trim")
        self.assert_refused(done, 3, f"user {pwd.getpwuid(0).pw_name}")

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_of_a_set_user_id_program(self):
        done = asked_of_a_set_user_id_program("ctl", "trim")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)

    def test_strict_seccomp(self):
        script = ("import ctypes; call = ctypes.CDLL(None).prctl; print('ready', flush=True);"
                  "call(22, 1, 0, 0, 0)\nwhile True: pass")
        if not os.access("/usr/bin/python3", os.X_OK):
            self.skipTest("needs an interpreter that is no script")
        with subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE,
                              env={**os.environ, "LD_PRELOAD": REAL}) as child:
            child.stdout.readline()
            wait_for(lambda: "Seccomp:\t1" in status_of(child.pid))
            done = ctl(child.pid, "trim")
            child.kill()
        self.assert_refused(done, 3, "strict seccomp mode")

    def filtered(self, work):
        """A python3 behind a filter that refuses what commands could need of it."""
        if not os.access("/usr/bin/python3", os.X_OK):
            self.skipTest("needs an interpreter that is no script")
        child = subprocess.Popen(  # pylint: disable=consider-using-with
            ["/usr/bin/python3", "-c", FILTERED + work], stdout=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": REAL, "PYTHONMALLOC": "malloc"})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        wait_for(lambda: "Seccomp:\t2" in status_of(child.pid))
        return child

    def test_filter_of_system_calls(self):
        busy = self.filtered("while True: x = [bytearray(i * 9) for i in range(9000)]")
        done = ctl(busy.pid, "trim")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(talus("stats", busy.pid).returncode, 0)
        self.assertIsNone(busy.poll(), "the process goes on")

    def test_filter_of_system_calls_in_an_idle_process(self):
        idle = self.filtered("time.sleep(60)")
        start = time.monotonic()
        done = ctl("--wait=0.3", idle.pid, "trim")
        self.assertLess(time.monotonic() - start, 10)
        self.assert_refused(done, 3, "no thread took the command within 0.3 s")
        self.assertEqual(talus("stats", idle.pid).returncode, 0)
        self.assertIsNone(idle.poll(), "the process goes on")

    @unittest.skipUnless(AS_ROOT and yama() == "1", "needs root, and a kernel with Yama at 1")
    def test_yama(self):
        for observers, code in (("kernel", 3), ("any", 0)):
            with reachable_command() as command, Process(
                    "static", before=as_nobody, TALUS_OBSERVERS=observers) as process:
                process.ask("b")
                done = run_as_nobody(command, "ctl", process.pid, "trim")
                self.assertEqual(done.returncode, code, done.stderr)
                if code != 0:
                    self.assertIn("TALUS_OBSERVERS=any", done.stderr)

    def test_child_of_vfork(self):
        with Process("shared") as process:
            process.ask("v")
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                child = int(file.read().split()[0])
            done = ctl("--wait=0.1", child, "trim")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(f"shares its memory with process {process.pid}", done.stderr)
            process.ask("x")  # for the child

    @unittest.skipUnless(AS_ROOT and shutil.which("unshare"), "needs root and unshare")
    def test_in_another_pid_namespace(self):
        with subprocess.Popen(["unshare", "--pid", "--fork", program("shared")], bufsize=0,
                              env={**os.environ, **WITH_HELPER}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as outer:
            self.assertEqual(outer.stdout.readline(), b"ready\n")
            with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="ascii") as file:
                inner = int(file.read().split()[0])
            outer.stdin.write(b"b")
            outer.stdout.readline()
            wait_for(lambda: helper_of(inner))
            outer.stdin.write(b"s")
            outer.stdout.readline()
            done = ctl(inner, "trim")
            outer.stdin.write(b"q")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    unittest.main()
