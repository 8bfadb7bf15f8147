# Tests of the peers' tools that need no network: refusals of the probe, installation of a library,
# and that a missing peer stops nothing. The tests make their libraries from a few lines of C and
# build no real allocator.
# Run: python3 -B -m unittest discover -s bench/peers
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import tempfile
import time
import unittest
from pathlib import Path

import build_peers
import hardened
import library_table
from building import Build, PeerMissing
from probing import Probe

# An allocator in one array. It never reuses memory, and each block stores its size.
BUMP = r"""
#include <stddef.h>
#include <string.h>
static char heap[1500u << 20] __attribute__((aligned(64)));
static size_t used;
void* malloc(size_t size) {
  size_t whole = (size + 127) / 64 * 64;
  char* block = heap + __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED) + 64;
  ((size_t*)block)[-1] = size;
  return block;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t size) {
  return memset(malloc(count * size), 0, count * size);
}
void* realloc(void* old, size_t size) {
  char* block = malloc(size);
  if (old) memcpy(block, old, ((size_t*)old)[-1] < size ? ((size_t*)old)[-1] : size);
  return block;
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  (void)alignment;
  return (*result = malloc(size)) == NULL;
}
"""


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="talus-peers-test-")
        self.addCleanup(folder.cleanup)
        self.output = Path(folder.name) / "out"
        self.work = Path(folder.name) / "work"
        self.output.mkdir()
        self.work.mkdir()
        self.build = Build(self.output, self.work, "cc", "c++", 1)

    def library(self, source: str) -> Path:
        (self.work / "made.c").write_text(source)
        library = self.work / "libmade.so"
        self.build.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC",
                        self.work / "made.c", "-o", library])
        return library

    def check(self, source: str) -> list[str]:
        return Probe(self.build).check({"path": str(self.library(source))})

    def test_probe_accepts_an_allocator(self):
        self.assertEqual(["malloc", "free", "calloc", "realloc", "posix_memalign"],
                         self.check(BUMP))

    def test_probe_refuses_a_library_without_the_names(self):
        with self.assertRaisesRegex(PeerMissing, "does not define free, calloc"):
            self.check("#include <stddef.h>\nvoid* malloc(size_t size) { return NULL; }")

    def test_probe_refuses_overlapping_blocks(self):
        shared = "if (size > 9000 && size < 15000) block = heap + (1400u << 20);"
        with self.assertRaisesRegex(PeerMissing, "data lost|not zero"):
            self.check(BUMP.replace("  ((size_t*)block)[-1] = size;",
                                    f"  {shared}\n  ((size_t*)block)[-1] = size;"))

    def test_probe_refuses_a_library_that_is_not_in_use(self):
        library = self.library(BUMP)
        entry = {"path": str(library), "environment": {"LD_PRELOAD": ""}}
        with self.assertRaisesRegex(PeerMissing, "malloc comes from .*libc"):
            Probe(self.build).check(entry)

    def test_probe_refuses_a_realloc_that_copies_nothing(self):
        with self.assertRaisesRegex(PeerMissing, "data lost"):
            self.check(BUMP.replace("if (old) memcpy", "if (!old) memcpy"))

    def test_same_bytes_are_not_replaced(self):
        built = self.work / "libmade.so"
        built.write_bytes(b"first")
        final = Path(self.build.put_in_place(built))
        first = final.stat().st_ino
        self.build.put_in_place(built)
        self.assertEqual(first, final.stat().st_ino)
        built.write_bytes(b"second")
        self.build.put_in_place(built)
        self.assertEqual(b"second", final.read_bytes())
        self.assertNotEqual(first, final.stat().st_ino)

    def test_a_peer_has_a_time_limit(self):
        self.build.deadline = time.monotonic() + 0.1
        with self.assertRaisesRegex(PeerMissing, "ran past"):
            self.build.run(["sleep", "20"])

    def test_a_missing_peer_stops_nothing(self):
        def refuse(build):
            raise PeerMissing("not to be had")

        def find(build):
            return {"version": "1", "path": str(library)}

        library = self.library(BUMP).rename(self.output / "libmade.so")
        makers = build_peers.MAKERS
        self.addCleanup(setattr, build_peers, "MAKERS", makers)
        build_peers.MAKERS = {"absent": refuse, "present": find}
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            self.assertEqual(0, build_peers.main([str(self.output), "--cc", "cc"]))
            first = json.loads((self.output / "peers.json").read_text())
            build_peers.main([str(self.output), "--cc", "cc", "--only", "absent"])
        self.assertEqual(["present"], [peer["name"] for peer in first["peers"]])
        self.assertEqual([{"name": "absent", "reason": "not to be had"}], first["missing"])
        self.assertEqual(first, json.loads((self.output / "peers.json").read_text()))

    def test_each_peer_of_the_table_has_a_maker(self):
        self.assertLessEqual(set(library_table.peers()), set(build_peers.MAKERS))
        self.assertEqual(len(library_table.peers()), len(set(library_table.peers())))
        self.assertEqual({"GLIBC_TUNABLES": "glibc.pthread.rseq=0"},
                         library_table.of_peer("tcmalloc").environment)

    def test_settings_leave_comments_out(self):
        configuration = self.work / "some.conf"
        configuration.write_text("# a comment\nN_ARENA=4\n\n")
        self.assertEqual(["-DN_ARENA=4"], hardened.settings(configuration))


if __name__ == "__main__":
    unittest.main()
