# SPDX-License-Identifier: MIT
"""Owns: `talus explain` on programs that made one mistake with a guarded block (mistaken.c): on
their core files, as gdb and the kernel write them, and on processes that wait.
"""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from process import REAL, program, talus

SEGV, ABRT = "SIGSEGV", "SIGABRT"
# mistake, bytes, signal, what the command says, functions that it names in this order
MISTAKES = [
    ("overrun", 64, SEGV, "1 byte behind the last byte of the live block of 64 bytes", "overrun",
     ["write_here", "allocate_here", "main"]),
    ("underrun", 64, SEGV, "3 bytes before the live block of 64 bytes", "underrun",
     ["write_here", "allocate_here", "main"]),
    ("after", 100, SEGV, "5 bytes into the freed block of 100 bytes", "use after free",
     ["read_here", "allocate_here", "main", "free_here", "main"]),
    ("twice", 48, ABRT, "was freed twice", "Noticed by thread",
     ["free_again", "main", "allocate_here", "free_here"]),
    ("damage", 61, ABRT, "1 byte behind the last byte of the live block of 61 bytes", "overrun",
     ["free_here", "main", "allocate_here"]),
    ("inside", 64, ABRT, "which is the start of no live block", "8 bytes into the live block",
     ["free_here", "main", "allocate_here"]),
]


def kernel_writes_here():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    return "/" not in pattern and not pattern.startswith("|")


class Explain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {"LD_PRELOAD": REAL, "TALUS_GUARD": "4KiB"}

    def gdb_core_of(self, mistake, size):
        path = os.path.join(self.folder.name, f"core.{mistake}")
        settings = [f"set environment {name} {value}" for name, value in self.environment.items()]
        commands = [*settings, "set startup-with-shell off", "run",
                    f"generate-core-file {path}", "kill"]
        words = [word for command in commands for word in ("-ex", command)]
        subprocess.run(["gdb", "-batch", "-nx", *words, "--args", program("mistaken"), mistake,
                        str(size)], check=True, capture_output=True, timeout=120)
        return path

    def kernel_core_of(self, mistake, size):
        def may_dump():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
            os.chdir(self.folder.name)

        for name in os.listdir(self.folder.name):
            os.unlink(os.path.join(self.folder.name, name))
        done = subprocess.run([program("mistaken"), mistake, str(size)], capture_output=True,
                              preexec_fn=may_dump, check=False, timeout=60,
                              env={**os.environ, **self.environment})
        self.assertLess(done.returncode, 0)
        names = [name for name in os.listdir(self.folder.name) if name.startswith("core")]
        self.assertEqual(len(names), 1)
        return os.path.join(self.folder.name, names[0])

    def prove(self, said, text, word, functions):
        self.assertIn(text, said)
        self.assertIn(word, said)
        at = 0
        for name in functions:
            found = said.find(f"{name} (", at)
            self.assertGreaterEqual(found, 0, f"{name} is not there, or not in order:\n{said}")
            at = found + 1
        self.assertNotIn("talus::core", said)
        self.assertIn("s after the start", said)

    def prove_mistakes(self, core_of):
        for mistake, size, name, text, word, functions in MISTAKES:
            with self.subTest(mistake):
                done = talus("explain", core_of(mistake, size))
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn(name, done.stdout)
                if name == ABRT:  # the signal's own code is libc's
                    done.stdout = done.stdout.split("\n", 1)[1]
                self.prove(done.stdout, text, word, functions)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_cores_of_gdb(self):
        self.prove_mistakes(self.gdb_core_of)

    @unittest.skipUnless(kernel_writes_here(), "core_pattern leads elsewhere")
    def test_cores_of_the_kernel(self):
        self.prove_mistakes(self.kernel_core_of)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_a_fault_elsewhere_is_not_explained(self):
        done = talus("explain", self.gdb_core_of("null", 64))
        self.assertEqual(done.returncode, 1)
        self.assertIn("null pointer", done.stdout)
        self.assertIn("write_here", done.stdout)

    def waiting(self, stopped):
        child = subprocess.Popen([program("mistaken"), "wait", "64"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, **self.environment})
        self.addCleanup(child.wait)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stdin.close)
        block = int(child.stdout.readline(), 16)
        if stopped:
            os.kill(child.pid, signal.SIGSTOP)
            self.addCleanup(os.kill, child.pid, signal.SIGCONT)
        return child.pid, block

    def test_an_address_of_a_process(self):
        for stopped in (False, True):
            pid, block = self.waiting(stopped)
            done = talus("explain", pid, f"{block + 70:#x}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.prove(done.stdout, "7 bytes behind the last byte of the live block", "overrun",
                       ["allocate_here", "main"])
            self.assertIn("s ago", done.stdout)
            done = talus("explain", pid, f"{block + 5:x}")
            self.assertIn("which the program may use", done.stdout)

    def test_what_is_not_known(self):
        pid, _ = self.waiting(False)
        done = talus("explain", pid)
        self.assertEqual(done.returncode, 1)
        self.assertIn("noted no mistake", done.stdout)
        self.assertRegex(done.stdout, r"Guarded blocks: [1-9][0-9]* live")
        done = talus("explain", pid, "0x10")
        self.assertEqual((done.returncode, "null pointer" in done.stdout), (1, True))
        done = talus("explain", pid, "hello")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "talus: explain: hello is not an address\n"))
        self.assertEqual(talus("explain", "word").returncode, 2)
        self.assertEqual(talus("explain", "999999999").returncode, 2)

    def test_a_process_without_guarded_blocks(self):
        child = subprocess.Popen(["sleep", "60"], env={**os.environ, "LD_PRELOAD": REAL})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        while REAL not in self.maps_of(child.pid):
            pass
        done = talus("explain", child.pid)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("without TALUS_GUARD", done.stdout)

    @staticmethod
    def maps_of(pid):
        with open(f"/proc/{pid}/maps", encoding="ascii") as file:
            return file.read()

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_the_handler_notes_the_fault(self):
        self.environment["TALUS_GUARD_REPORT"] = "1"
        done = subprocess.run([program("mistaken"), "after", "64"], capture_output=True, text=True,
                              check=False, timeout=60, env={**os.environ, **self.environment})
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertRegex(done.stderr,
                         "^talus: fault at 0x[0-9a-f]+, 5 bytes into the freed guarded block of 64 "
                         "bytes at 0x[0-9a-f]+; allocated by thread [0-9]+ at( 0x[0-9a-f]+)+; "
                         "freed by thread [0-9]+ at( 0x[0-9a-f]+)+\n$")


if __name__ == "__main__":
    unittest.main()
