# SPDX-License-Identifier: MIT
"""Owns: the probes for tracers (src/arch/probes.hpp): which there are in each way to have Talus,
and what a tracer sees when it attaches. gdb attaches everywhere; bpftrace where the kernel allows
it.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from process import REAL, program

# name of the probe: how many arguments, whether it has a semaphore
PROBES = {"otel_memory:alloc": (3, True), "otel_memory:free": (1, True),
          "talus:refill": (2, False), "talus:purge": (2, False), "talus:grow": (2, False),
          "talus:adopt": (1, False), "talus:no_memory": (2, False)}
# Sizes that profiled.cpp asks for.
SIZES = {100, 2000, 500, 1024, 1000000, 5000, 16, 300, 8000000}


def probes_of(path):
    """{name: [(number of arguments, has a semaphore)]} by readelf."""
    listing = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True,
                             check=True).stdout
    found = {}
    for provider, name, semaphore, arguments in re.findall(
            r"Provider: (\S+)\s+Name: (\S+)\s+Location: \S+, Base: \S+, Semaphore: (\S+)\s+"
            r"Arguments: (.*)", listing):
        found.setdefault(f"{provider}:{name}", []).append(
            (len(arguments.split()), int(semaphore, 16) != 0))
    return found


def gdb(environment, commands, words):
    settings = [f"set environment {name} {value}" for name, value in environment.items()]
    lines = ["set startup-with-shell off", "set pagination off", *settings, *commands]
    done = subprocess.run(
        ["gdb", "-batch", "-nx", *[word for line in lines for word in ("-ex", line)],
         "--args", *words], capture_output=True, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


class Probes(unittest.TestCase):
    def test_each_way_to_have_talus_has_them(self):
        for path in (REAL, program("static"), program("object"), program("header")):
            with self.subTest(path):
                found = probes_of(path)
                self.assertEqual(set(found), set(PROBES))
                for name, places in found.items():
                    self.assertEqual(set(places), {PROBES[name]}, name)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_gdb_knows_them(self):
        said = gdb({"LD_PRELOAD": REAL}, ["break main", "run", "info probes stap"],
                   [program("plain")])
        for name in PROBES:
            provider, probe = name.split(":")
            self.assertRegex(said, rf"stap\s+{provider}\s+{probe}\s+0x", said)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_arguments_of_samples(self):
        stop = ['printf "ALLOC %lx %lu %lu\\n", $_probe_arg0, $_probe_arg1, $_probe_arg2',
                "continue"]
        said = gdb({"LD_PRELOAD": REAL, "TALUS_PROFILE": "1MiB"},
                   ["break main", "run", "break -probe-stap otel_memory:alloc", "continue",
                    *(stop * 30), "kill"], [program("profiled")])
        samples = [(int(block, 16), int(size), int(weighted)) for block, size, weighted in
                   re.findall(r"ALLOC ([0-9a-f]+) ([0-9]+) ([0-9]+)", said)]
        self.assertEqual(len(samples), 30, said)
        self.assertTrue(all(block != 0 for block, _, _ in samples))
        self.assertTrue({size for _, size, _ in samples} <= SIZES, samples)
        for _, size, weighted in samples:
            if size <= 2000:  # one in a mean distance, less a little
                self.assertLess(abs(weighted - (1 << 20) * size / block_bytes(size)),
                                (1 << 20) / 50, (size, weighted))
            else:
                self.assertGreaterEqual(weighted, size)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_frees_are_of_sampled_blocks(self):
        # churn() frees each block at once, so the block that was sampled last is the one that ends.
        said = gdb({"LD_PRELOAD": REAL, "TALUS_PROFILE": "64KiB"},
                   ["break churn", "run", "break -probe-stap otel_memory:alloc",
                    "break -probe-stap otel_memory:free",
                    *(["continue", 'printf "AT %lx\\n", $_probe_arg0'] * 20), "kill"],
                   [program("profiled")])
        blocks = re.findall(r"AT ([0-9a-f]+)", said)
        self.assertEqual(len(blocks), 20, said)
        self.assertEqual(blocks[0::2], blocks[1::2])

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_slow_paths(self):
        said = gdb({"LD_PRELOAD": REAL},
                   ["break leak_small", "run", "break -probe-stap talus:refill", "continue",
                    'printf "REFILL %lu %lu\\n", $_probe_arg0, $_probe_arg1',
                    "delete", "break -probe-stap talus:grow", "continue",
                    'printf "GROW %lx %lu\\n", $_probe_arg0, $_probe_arg1', "kill"],
                   [program("profiled")])
        refill = re.search(r"REFILL ([0-9]+) ([0-9]+)", said)
        self.assertTrue(refill, said)
        self.assertEqual(int(refill[1]), 112)  # blocks for 100 bytes
        self.assertGreater(int(refill[2]), 0)
        grow = re.search(r"GROW ([0-9a-f]+) ([0-9]+)", said)
        self.assertTrue(grow, said)
        self.assertEqual((int(grow[1], 16) % 65536, int(grow[2]) % 65536), (0, 0))

    @unittest.skipUnless(shutil.which("bpftrace") and os.geteuid() == 0, "needs bpftrace and root")
    def test_bpftrace_lists_them(self):
        done = subprocess.run(["bpftrace", "-l", f"usdt:{REAL}:*"], capture_output=True, text=True,
                              check=False, timeout=120)
        listed = {":".join(line.split(":")[-2:]) for line in done.stdout.split()}
        self.assertEqual(listed, set(PROBES), done.stderr)

    @unittest.skipUnless(shutil.which("bpftrace") and os.geteuid() == 0, "needs bpftrace and root")
    def test_bpftrace_attaches(self):
        if not os.path.exists("/sys/kernel/tracing/uprobe_events"):
            self.skipTest("the kernel has no uprobes")
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "probes.bt")
            with open(script, "w", encoding="ascii") as file:
                file.write(f"usdt:{REAL}:otel_memory:alloc {{ @bytes = sum(arg2); }}\n")
            command = f"env LD_PRELOAD={REAL} TALUS_PROFILE=1MiB {program('profiled')}"
            done = subprocess.run(["bpftrace", "-c", command, script], capture_output=True,
                                  text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
        found = re.search(r"@bytes: ([0-9]+)", done.stdout)
        self.assertTrue(found, done.stdout + done.stderr)
        self.assertLess(abs(int(found[1]) - 545e6), 545e6 / 5)


def block_bytes(size):
    """The size of the class, for the sizes of profiled.cpp."""
    return {16: 16, 100: 112, 300: 320, 500: 512, 1024: 1024, 2000: 2048}[size]


if __name__ == "__main__":
    unittest.main()
