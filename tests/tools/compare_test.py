# SPDX-License-Identifier: MIT
"""Owns: the tests of `talus compare`. Figures tell a slow and a large allocator, a failure is told
and blamed on the right one, the library's presence is proved, and nothing is left running.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from command import COMMAND, REAL, environment, program, talus

PROGRAM = program("compare_program")
STATIC = program("compare_static")


def library(kind):
    return program(f"libcompare_{kind}.so")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-compare-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def script(self, text):
        path = self.path("script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def words(self, kinds, *options):
        named = [word for kind in kinds for word in ("--alloc", f"{kind}={library(kind)}")]
        only = ",".join(["libc", *kinds])
        return ["compare", "--rounds", "3", *named, "--only", only, *options]

    def compare(self, kinds, *words, options=(), status=0, env=None):
        """The result, and what the JSON file says."""
        file = self.path("result.json")
        result = talus(*self.words(kinds, "--json", file, *options), "--", *words,
                       env=env or environment(COMPARE_TEST="same"))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        with open(file, encoding="utf-8") as text:
            told = json.load(text)
        return result, told, {one["name"]: one for one in told["allocators"]}


class Figures(Folder):
    def test_slow_and_large_are_found(self):
        result, told, found = self.compare(("same", "slow", "large"), PROGRAM, "work",
                                        options=("--rounds", "7"))
        self.assertEqual(result.stderr, "")
        slow, large = found["slow"]["figures"], found["large"]["figures"]
        self.assertGreater(slow["wall_s"]["ratio"], 2)
        self.assertTrue(slow["wall_s"]["shown"])
        self.assertFalse(slow["wall_s"]["best"])
        self.assertEqual(result.stdout.split("\n")[0], told["verdict"])
        self.assertIn("Of 4 allocators, quickest: ", result.stdout)
        self.assertGreater(slow["user_s"]["median"], found["libc"]["figures"]["user_s"]["median"])
        self.assertTrue(large["peak_rss_kib"]["shown"])
        grown = large["peak_rss_kib"]["median"] - found["libc"]["figures"]["peak_rss_kib"]["median"]
        self.assertAlmostEqual(grown, 48 * 1024, delta=2048)
        self.assertGreater(large["minor_faults"]["median"],
                           found["libc"]["figures"]["minor_faults"]["median"])
        self.assertFalse(large["peak_rss_kib"]["best"])

    def test_an_ordinary_program_and_the_table(self):
        result, told, found = self.compare(("same",), "ls", "/")
        self.assertEqual(told["failures"], [])
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], told["verdict"])
        self.assertEqual(lines[2:4], ["ls /", "3 of 3 rounds, 1 warm-up, medians"])
        for name in ("libc", "same"):
            rows = [line for line in lines[1:] if line.split(" ")[0] == name]
            self.assertEqual(len(rows), 3, result.stdout)
        self.assertIn("note: 3 rounds only: 5 are needed to tell allocators apart", lines)
        self.assertGreater(found["libc"]["samples"][0]["output_bytes"], 0)
        self.assertLess(found["libc"]["samples"][0]["rss_floor_kib"], 8192)

    def test_rounds_rotate_and_every_sample_is_kept(self):
        log = self.path("log")
        script = self.script(f'#!/bin/sh\necho "$LD_PRELOAD" >> {log}\n')
        _, told, found = self.compare(("same", "slow"), script, options=("--warm-up", "2"))
        with open(log, encoding="utf-8") as file:
            runs = [os.path.basename(line.strip()) for line in file]
        rounds = [runs[i:i + 3] for i in range(0, len(runs), 3)]
        self.assertEqual(len(rounds), 5)
        for one in rounds:
            self.assertEqual(sorted(one), ["", "libcompare_same.so", "libcompare_slow.so"])
        self.assertNotEqual(rounds[0], rounds[1])
        self.assertEqual(rounds[0], rounds[3])
        self.assertEqual(told["rounds_done"], 3)
        for one in found.values():
            self.assertEqual([sample["round"] for sample in one["samples"]], [1, 2, 3])
            self.assertEqual(len(one["warm_ups"]), 2)

    def test_input_is_given_anew(self):
        file = self.path("input")
        with open(file, "w", encoding="utf-8") as text:
            text.write("x" * 12345)
        result, told, _ = self.compare(("same",), PROGRAM, "count",
                                       options=("--stdin", file, "--show-output"))
        self.assertEqual(result.stdout.splitlines().count("12345"), 2 * 4)
        self.assertEqual(told["failures"], [])
        result, _, _ = self.compare(("same",), PROGRAM, "count", options=("--show-output",))
        self.assertEqual(result.stdout.splitlines().count("0"), 2 * 4)


class Behaviour(Folder):
    def test_a_program_that_always_fails_blames_no_allocator(self):
        result, told, found = self.compare(("same",), PROGRAM, "exit", "3", status=1)
        self.assertEqual(told["failures"], ["every run, under every allocator: exit status 3"])
        self.assertIn("talus: every run", result.stderr)
        self.assertEqual(found["same"]["counted"], 3)

    def test_a_program_that_dies(self):
        _, told, _ = self.compare(("same",), PROGRAM, "signal", str(int(signal.SIGKILL)), status=1)
        self.assertEqual(told["failures"],
                         ["every run, under every allocator: signal 9 (Killed)"])

    def test_a_crashing_allocator_is_blamed(self):
        result, told, found = self.compare(("same", "crashes"), PROGRAM, "work", status=1)
        self.assertEqual(told["failures"], [
            "crashes: 4 of 4 runs: signal 6 (Aborted); usual under libc: exit status 0; "
            "it wrote: the heap is broken"])
        self.assertEqual(found["crashes"]["counted"], 0)
        self.assertEqual(found["same"]["counted"], 3)
        self.assertRegex(result.stdout, r"crashes +no figure")

    def test_a_hanging_allocator_is_left_out(self):
        start = time.monotonic()
        _, told, found = self.compare(("same", "hangs"), PROGRAM, "work", status=1,
                                      options=("--timeout", "0.5"))
        self.assertLess(time.monotonic() - start, 30)
        self.assertIn("hangs: left out: 2 runs took longer than 0.5 s", told["failures"])
        self.assertEqual(len(found["hangs"]["samples"]) + len(found["hangs"]["warm_ups"]), 2)
        self.assertEqual(found["same"]["counted"], 3)

    def test_other_output_is_a_finding(self):
        _, told, found = self.compare(("same", "changes"), PROGRAM, "print", status=1)
        self.assertEqual(told["failures"], [
            "changes: 4 of 4 runs: the output differs from the one under libc"])
        self.assertEqual((found["changes"]["counted"], found["same"]["counted"]), (0, 3))

    def test_output_that_always_changes_is_no_finding(self):
        _, told, _ = self.compare(("same",), PROGRAM, "random")
        self.assertEqual(told["failures"], [])
        self.assertIn("outputs are not compared", " ".join(told["notes"]))

    def test_processes_left_behind_are_ended(self):
        file = self.path("left")
        env = environment(COMPARE_LEFT=file)
        _, told, _ = self.compare(("same",), PROGRAM, "leave", env=env)
        with open(file, encoding="utf-8") as text:
            left = [int(line) for line in text]
        self.assertEqual(len(left), 2 * 4)
        self.assertEqual([pid for pid in left if is_alive(pid)], [])
        self.assertIn("left processes behind", " ".join(told["notes"]))

    def test_interrupt_ends_the_program_and_prints_what_there_is(self):
        for number, group in ((signal.SIGINT, True), (signal.SIGTERM, False)):
            log = self.path(f"log{int(number)}")
            script = self.script(f"#!/bin/sh\necho $$ >> {log}\n"
                                 f"[ $(wc -l < {log}) -lt 6 ] || sleep 1000\n")
            child = subprocess.Popen([COMMAND, *self.words(("same",)), script], text=True,
                                     env=environment(), stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, start_new_session=group)
            runs = []
            for _ in range(600):
                time.sleep(0.05)
                if os.path.exists(log):
                    with open(log, encoding="utf-8") as file:
                        runs = file.read().split()
                if len(runs) == 6:
                    break
            time.sleep(0.1)
            (os.killpg if group else os.kill)(child.pid, number)
            output, errors = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 128 + number, output + errors)
            self.assertIn("1 of 3 rounds", output)
            self.assertRegex(output, r"libc +\*?\d")
            self.assertEqual([pid for pid in runs if is_alive(pid)], [])


class Presence(Folder):
    def test_library_is_seen_in_short_programs_and_through_scripts(self):
        script = self.script(f"#!/bin/sh\n{PROGRAM} brief\nexec {PROGRAM} brief\n")
        _, told, found = self.compare(("same",), script)
        seen = found["same"]["library"]
        self.assertEqual((seen["presence"], seen["programs"], seen["programs_with"]),
                         ("present", 3, 3))
        self.assertEqual(found["libc"]["library"]["presence"], "not needed")
        self.assertNotIn("do not act there", " ".join(told["notes"]))

    def test_static_program_is_refused(self):
        result = talus(*self.words(("same",)), "--", STATIC)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("is statically linked, nothing can be preloaded into it", result.stderr)

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file to another user")
    def test_privileged_program_is_refused(self):
        path = self.path("tool")
        shutil.copy(PROGRAM, path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        self.assertTrue(os.stat(path).st_mode & stat.S_ISUID)
        result = talus(*self.words(("same",)), "--", path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("gains privileges", result.stderr)

    def test_static_program_below_a_script_is_told(self):
        script = self.script(f"#!/bin/sh\n{STATIC} sleep 300\n")
        _, told, found = self.compare(("same",), script)
        self.assertEqual(found["same"]["library"]["without"], [f"{STATIC} is statically linked"])
        self.assertIn(f"{STATIC} is statically linked: the allocators have no effect there",
                      told["notes"])

    def test_a_cleared_environment_is_told(self):
        script = self.script(f"#!/bin/sh\nenv -i {PROGRAM} sleep 500\n")
        _, _, found = self.compare(("same",), script)
        self.assertEqual(found["same"]["library"]["without"],
                         [f"{PROGRAM} ran without the preloaded library"])
        script = self.script(f"#!/bin/sh\nenv -u LD_PRELOAD {PROGRAM} brief\n")
        _, _, found = self.compare(("same",), script)
        self.assertEqual(found["same"]["library"]["without"],
                         [f"{PROGRAM} was started without LD_PRELOAD"])

    def damaged(self, change):
        """A copy of a good library with a fault that only the loader will notice."""
        path = self.path("damaged.so")
        with open(library("same"), "rb") as file:
            good = file.read()
        bad = change(good)
        self.assertNotEqual(good, bad)
        with open(path, "wb") as file:
            file.write(bad)
        return path

    def test_a_library_that_the_loader_ignores_is_left_out(self):
        path = self.damaged(lambda good: good[:7] + b"\x09" + good[8:])  # another system's ABI
        _, told, found = self.compare(("same",), PROGRAM, "exit", "0", status=1, options=(
            "--alloc", f"damaged={path}", "--only", "libc,same,damaged"))
        self.assertIn(f"damaged: left out: the loader did not load {path}", told["failures"])
        self.assertEqual(found["damaged"]["library"]["presence"], "absent")
        self.assertEqual((found["damaged"]["samples"], found["damaged"]["counted"]), ([], 0))
        self.assertEqual(found["same"]["counted"], 3)

    def test_a_library_that_lacks_another_is_blamed(self):
        path = self.damaged(lambda good: good.replace(b"\0libc.so.6\0", b"\0libx.so.6\0"))
        _, told, found = self.compare(("same",), PROGRAM, "exit", "0", status=1, options=(
            "--alloc", f"damaged={path}", "--only", "libc,same,damaged"))
        self.assertIn("damaged: 4 of 4 runs: exit status 127; usual under libc: exit status 0",
                      told["failures"][0])
        self.assertEqual(found["damaged"]["counted"], 0)

    def test_no_trace_of_the_proof_is_left(self):
        env = environment(TMPDIR=self.folder)
        self.compare(("same",), PROGRAM, "brief", env=env)
        self.assertEqual(os.listdir(self.folder), ["result.json"])


class Choice(Folder):
    def test_known_allocators_are_found_where_the_loader_looks(self):
        os.mkdir(self.path("libraries"))
        for name in ("libhoard.so", "librpmalloc.so.1", "libtcmalloc_debug.so.4"):
            shutil.copy(library("same"), self.path("libraries/" + name))
        # By its name an allocator, but without a malloc.
        shutil.copy(program("libcompare_nothing.so"), self.path("libraries/libsnmalloc.so"))
        file = self.path("all.json")
        env = environment(LD_LIBRARY_PATH=self.path("libraries"))
        result = talus("compare", "--lib", library("same"), "--rounds", "1", "--json", file,
                       PROGRAM, env=env)
        with open(file, encoding="utf-8") as text:
            found = {one["name"]: one["path"] for one in json.load(text)["allocators"]}
        self.assertEqual(list(found)[:2], ["talus", "libc"], result.stderr)
        self.assertEqual(found["hoard"], self.path("libraries/libhoard.so"))
        self.assertEqual(found["rpmalloc"], self.path("libraries/librpmalloc.so.1"))
        self.assertNotIn(self.path("libraries/libtcmalloc_debug.so.4"), found.values())
        self.assertNotIn(self.path("libraries/libsnmalloc.so"), found.values())

    def test_wrong_use(self):
        same = library("same")
        plain = self.path("plain")
        with open(plain, "w", encoding="utf-8") as file:
            file.write("text")
        for words, reason in (
                (["compare"], "no program given"),
                (["compare", "--rounds", "0", "ls"], "--rounds"),
                (["compare", "--nonsense", "ls"], "--nonsense"),
                (["compare", "--timeout", "-1", "ls"], "--timeout"),
                (["compare", "--only", "libc", "ls"], "a comparison needs two allocators"),
                (["compare", "--only", "libc,nonesuch", "ls"], "'nonesuch' is not here"),
                (["compare", "--alloc", same, "ls"], "write NAME=PATH"),
                (["compare", "--alloc", "a b=" + same, "ls"], "write NAME=PATH"),
                (["compare", "--alloc", "libc=" + same, "ls"], "the C library's"),
                (["compare", "--alloc", "x=/no/such.so", "ls"], "no such library"),
                (["compare", "--alloc", "x=" + plain, "ls"], "defines malloc"),
                (["compare", "--alloc", "x=" + program("libcompare_nothing.so"), "ls"],
                 "defines malloc"),
                (["compare", "--stdin", "/no/such", "ls"], "cannot be read"),
                (["compare", "--json", "/no/such/folder/x", "ls"], "cannot be written"),
                (["compare", "no-such-program-here"], "no-such-program-here: not found"),
                (["compare", plain], "not executable")):
            result = talus(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(reason, result.stderr)

    def test_an_allocator_in_the_environment_is_refused(self):
        result = talus(*self.words(("slow",)), "ls",
                       env=environment(LD_PRELOAD=library("same")))
        self.assertEqual(result.returncode, 2)
        self.assertIn("which every run would load", result.stderr)

    def test_words_behind_the_program_are_the_programs(self):
        result, told, _ = self.compare(("same",), "printf", "%s|", "--rounds", "--help",
                                       options=("--show-output",))
        self.assertIn("--rounds|--help|", result.stdout)
        self.assertEqual(told["program"], ["printf", "%s|", "--rounds", "--help"])

    def test_a_script_without_a_first_line_is_read_by_sh(self):
        script = self.script('echo "$1"\n')
        result, _, _ = self.compare(("same",), script, "hello", options=("--show-output",))
        self.assertEqual(result.stdout.splitlines().count("hello"), 2 * 4)

    def test_help_names_it(self):
        self.assertIn("compare", talus("--help").stdout)
        self.assertIn("--only NAME,NAME", talus("compare", "--help").stdout)


@unittest.skipUnless(REAL, "the library is not part of this build")
class Installed(Folder):
    def test_from_an_installed_tree_without_anything_else(self):
        prefix = self.path("prefix")
        subprocess.run([os.environ["TALUS_TEST_CMAKE"], "--install", os.environ["TALUS_TEST_BUILD"],
                        "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
        os.mkdir(self.path("empty"))
        file = self.path("result.json")
        command = os.path.join(prefix, os.environ["TALUS_TEST_BINDIR"], "talus")
        result = talus("compare", "--only", "talus,libc", "--json", file, PROGRAM, "work",
                       command=command, cwd="/", env={"PATH": self.path("empty")})
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        with open(file, encoding="utf-8") as text:
            own = json.load(text)["allocators"][0]
        self.assertEqual(own["path"], os.path.join(prefix, os.environ["TALUS_TEST_LIBDIR"],
                                                   "libtalus.so"))
        self.assertEqual((own["library"]["presence"], own["counted"]), ("present", 5))


if __name__ == "__main__":
    unittest.main()
