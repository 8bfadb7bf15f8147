# SPDX-License-Identifier: MIT
"""Owns: the tests of `talus check`. They cover every entry point in a live process, every kind of
program that is not started, the options in effect, and the exit codes 0, 1 and 2.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest

from command import (COMMAND, FOREIGN, REAL, STAND_IN, STAND_IN_VERSION, environment,
                     foreign_program, program, talus)


class Live:
    """A program that has said "ready" and waits."""

    def __init__(self, words, **more):
        self.child = subprocess.Popen(words, env=environment(**more), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "ready\n"

    def __enter__(self):
        return str(self.child.pid)

    def __exit__(self, *_):
        self.child.communicate("", timeout=60)


class Process(unittest.TestCase):
    def assert_active(self, pid, entry, carrier, version=STAND_IN_VERSION):
        result = talus("check", pid)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:4], ["active: yes", f"version: {version}", f"entry: {entry}",
                                     f"object: {carrier}"])
        return result.stdout

    def assert_not_active(self, pid, reason):
        result = talus("check", pid)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(result.stdout.splitlines()[0], "active: no")
        self.assertIn(reason, result.stdout)

    def test_preload(self):
        words = [COMMAND, "run", "--lib", STAND_IN, "decay_ms=5s", program("program_plain")]
        with Live(words, TALUS_VERBOS="1") as pid:
            output = self.assert_active(pid, "preload", STAND_IN)
        self.assertIn("option decay_ms=5s (environment)\n", output)
        self.assertIn("option verbose=0 (default)\n", output)
        self.assertIn("warning: talus: unknown option TALUS_VERBOS; did you mean TALUS_VERBOSE?",
                      output)

    def test_files_and_the_programs_own_options(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, folder)
        os.mkdir(f"{folder}/.config")
        with open(f"{folder}/.config/talus.conf", "w", encoding="utf-8") as file:
            file.write("preset=small\n[program_text*]\nheaps=3\n")
        with Live([program("program_text_exported")], LD_PRELOAD=STAND_IN, HOME=folder,
                  XDG_CONFIG_HOME="") as pid:
            output = self.assert_active(pid, "preload", STAND_IN)
        self.assertIn("option heaps=3 (~/.config/talus.conf:3)\n", output)
        self.assertIn("option decay_ms=250ms (preset small, ~/.config/talus.conf:1)\n", output)

    def test_a_link_to_a_program_has_a_section_of_its_own(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, folder)
        os.symlink(program("program_plain"), f"{folder}/other-name")
        with open(f"{folder}/named.conf", "w", encoding="utf-8") as file:
            file.write("[other-name]\nheaps=3\n")
        with Live([f"{folder}/other-name"], LD_PRELOAD=STAND_IN,
                  TALUS_CONFIG=f"{folder}/named.conf") as pid:
            output = self.assert_active(pid, "preload", STAND_IN)
        self.assertIn(f"option heaps=3 ({folder}/named.conf:2)\n", output)

    def test_a_refused_value_shows_the_default(self):
        with Live([program("program_plain")], LD_PRELOAD=STAND_IN, TALUS_DECAY_MS="never") as pid:
            output = self.assert_active(pid, "preload", STAND_IN)
        self.assertIn("option decay_ms=1s (default)\n", output)
        self.assertEqual(output.count("warning: "), 1)

    def test_linked(self):
        with Live([program("program_linked")]) as pid:
            self.assert_active(pid, "linked", STAND_IN)

    def test_embedded(self):
        with Live([program("program_embedded")]) as pid:
            self.assert_active(pid, "embedded", program("program_embedded"))

    def test_none(self):
        for name in ("program_plain", "program_static"):
            with Live([program(name)]) as pid:
                self.assert_not_active(pid, "no object mapped")

    def test_loaded_too_late(self):
        with Live([program("program_dlopen"), STAND_IN]) as pid:
            self.assert_not_active(pid, "loaded by dlopen")

    def test_another_malloc_is_found_first(self):
        other = program("libcompare_same.so")
        with Live([program("program_malloc")], LD_PRELOAD=STAND_IN) as pid:
            self.assert_not_active(pid, f"{program('program_malloc')} defines malloc")
        with Live([program("program_plain")], LD_PRELOAD=f"{other}:{STAND_IN}") as pid:
            self.assert_not_active(pid, f"{other} defines malloc")
        with Live([program("program_overwrites")], LD_PRELOAD=f"{other}:{STAND_IN}") as pid:
            self.assert_not_active(pid, f"{other} defines malloc")
        with Live([program("program_linked_late")]) as pid:
            self.assert_not_active(pid, "defines malloc")

    def test_another_malloc_behind_it_serves_nothing(self):
        other = program("libcompare_same.so")
        with Live([program("program_plain")], LD_PRELOAD=f"{STAND_IN}:{other}") as pid:
            self.assert_active(pid, "preload", STAND_IN)
        with Live([program("program_overwrites")], LD_PRELOAD=f"{STAND_IN} {other}") as pid:
            self.assertIn("active: yes\n", talus("check", pid).stdout)

    def test_a_preload_whose_name_is_not_the_files(self):
        # As the installed libtalus.so is, a link; found by the loader, or gone meanwhile.
        folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, folder)
        library = os.path.join(folder, "libtalus.so.7")
        shutil.copy(STAND_IN, library)
        os.symlink(library, os.path.join(folder, "libtalus.so"))
        with Live([program("program_plain")], LD_PRELOAD="libtalus.so",
                  LD_LIBRARY_PATH=folder) as pid:
            self.assert_active(pid, "preload", library)
        with Live([program("program_plain")], LD_PRELOAD=f"{folder}/libtalus.so") as pid:
            os.remove(os.path.join(folder, "libtalus.so"))
            self.assert_active(pid, "preload", library)

    def test_after_an_upgrade_the_old_library_is_still_seen(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, folder)
        library = os.path.join(folder, "libtalus.so")
        shutil.copy(STAND_IN, library)
        with Live([program("program_plain")], LD_PRELOAD=library) as pid:
            os.remove(library)
            result = talus("check", pid)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(f"object: {library}\n", result.stdout)

    def test_a_program_that_was_replaced_is_still_known(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        with open(f"{folder}/named.conf", "w", encoding="utf-8") as file:
            file.write("[old]\nheaps=3\n")
        os.symlink("old", f"{folder}/link")
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        command = shutil.copy(COMMAND, f"{folder}/talus")
        is_root = os.getuid() == 0 and shutil.which("setpriv")
        for name, entry in (("program_embedded", "embedded"), ("program_plain", "preload")):
            for before in [[]] + ([user] if is_root and entry == "embedded" else []):
                shutil.copy(program(name), f"{folder}/old")
                preload = STAND_IN if entry == "preload" else ""
                with Live([*before, f"{folder}/link"], LD_PRELOAD=preload,
                          TALUS_CONFIG=f"{folder}/named.conf") as pid:
                    os.remove(f"{folder}/old")
                    result = subprocess.run([*before, command, "check", pid], timeout=60,
                                            stdout=subprocess.PIPE, text=True, check=False)
                self.assertIn(f"active: yes\nversion: {STAND_IN_VERSION}\nentry: {entry}\n",
                              result.stdout)
                self.assertIn(f"option heaps=3 ({folder}/named.conf:2)\n", result.stdout)

    def test_a_process_that_wrote_over_its_environment(self):
        # As servers do that show their state in the list of processes.
        with Live([program("program_overwrites")], LD_PRELOAD=STAND_IN) as pid:
            with open(f"/proc/{pid}/environ", "rb") as file:
                self.assertNotIn(b"LD_PRELOAD", file.read())
            result = talus("check", pid)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("entry: preload\n", result.stdout)
        self.assertIn("the process overwrote it", result.stdout)
        self.assertNotIn("option ", result.stdout)

    def test_terminal_codes_of_the_process_are_not_repeated(self):
        with Live([program("program_plain")], LD_PRELOAD=STAND_IN,
                  TALUS_PRINT_STATS="a\x1b[2J\n\x7fb") as pid:
            output = self.assert_active(pid, "preload", STAND_IN)
        self.assertIn("option print_stats=a?[2J??b (environment)\n", output)

    def test_cannot_be_read(self):
        for pid, reason in (("4194305", "no such process"), ("2x", "is not a process id"),
                            ("../1", "is not a process id")):
            result = talus("check", pid)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(reason, result.stderr)

    def test_usage(self):
        with Live([program("program_plain")]) as pid:
            for words in ([], ["--"], [pid, "--", "true"], [pid, pid]):
                self.assertEqual(talus("check", *words).returncode, 2, words)

    @unittest.skipUnless(REAL, "the library is not part of this build")
    def test_real_library(self):
        with Live([COMMAND, "run", program("program_plain")]) as pid:
            result = talus("check", pid)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("entry: preload\n", result.stdout)

    @unittest.skipUnless(REAL, "the library is not part of this build")
    def test_libraries_with_another_malloc_are_named(self):
        plugin, other = program("libprogram_plugin.so"), program("libcompare_same.so")

        def notes(*words, preload=REAL):
            with Live([program("program_opens_deep"), *words], LD_PRELOAD=preload) as pid:
                result = talus("check", pid)
            self.assertEqual(result.returncode, 0, result.stdout)
            return [line for line in result.stdout.splitlines() if line.startswith("note: ")]

        self.assertEqual(notes(), [])
        self.assertEqual(notes(preload=f"{REAL}:{plugin}"), [])
        said, = notes(plugin)
        self.assertRegex(said, rf"^note: {plugin} uses the malloc of \S*/libc\.so\.6: ")
        said, = notes(preload=f"{REAL}:{other}")
        self.assertTrue(said.startswith(f"note: {other} defines a malloc of its own, "), said)
        self.assertEqual(len(notes(plugin, preload=f"{REAL}:{other}")), 2)

    @unittest.skipUnless(REAL and os.path.exists(program("program_musl")), "no library or no musl")
    def test_real_library_in_a_program_on_musl(self):
        with Live([COMMAND, "run", program("program_musl")]) as pid:
            result = talus("check", pid)
            statistics = talus("run", "print_stats=stderr", program("program_musl"), input="")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("entry: preload\n", result.stdout)
        self.assertRegex(statistics.stderr, r"allocations +1\n")


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-check-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = os.path.join(self.folder, "started")

    def check(self, *words, **more):
        result = talus("check", "--lib", STAND_IN, "--", *words, **more)
        self.assertFalse(os.path.exists(self.mark), "the program was started")
        # A sanitizer ends with 1 as well, which must not pass for "not active".
        self.assertNotIn("Sanitizer", result.stderr)
        self.assertNotIn("runtime error", result.stderr)
        return result

    def script(self, name, first_line):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{first_line}\ntouch {self.mark}\n")
        os.chmod(path, 0o755)
        return path

    def test_dynamic_program_is_not_started(self):
        result = self.check("touch", self.mark)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[:4],
                         ["active: yes", f"version: {STAND_IN_VERSION}", "entry: preload",
                          f"object: {STAND_IN}"])

    def test_options_come_from_the_environment(self):
        result = self.check("true", env=environment(TALUS_RETAIN_BYTES="1M"))
        self.assertIn("option retain_bytes=1MiB (environment)\n", result.stdout)

    def test_linked_and_embedded(self):
        result = self.check(program("program_linked"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("entry: linked\n", result.stdout)
        result = self.check(program("program_embedded"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("entry: embedded\n", result.stdout)

    def test_a_program_that_brings_malloc(self):
        result = self.check(program("program_malloc"))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stdout.splitlines()[0], "active: no")
        self.assertIn("defines a malloc of its own", result.stdout)

    def test_php_is_known_by_its_functions(self):
        result = self.check(program("program_php"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"note: {program('program_php')} is php, which opens its extensions with "
                      "RTLD_DEEPBIND", result.stdout)
        self.assertNotIn("note:", self.check("true").stdout)

    def test_another_preloaded_library_comes_behind_ours(self):
        other = program("libcompare_same.so")
        result = self.check("true", env=environment(LD_PRELOAD=f"{other}:{STAND_IN}"))
        self.assertIn("active: yes\n", result.stdout)

    def test_static(self):
        result = self.check(program("program_static"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("active: no\nreason: ", result.stdout)
        self.assertIn("is statically linked", result.stdout)

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file to another user")
    def test_privileged(self):
        path = os.path.join(self.folder, "tool")
        shutil.copy(program("program_plain"), path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        result = self.check(path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("gains privileges", result.stdout)

    def test_script(self):
        result = self.check(self.script("script", "#! /bin/sh -e"))
        self.assertEqual(result.returncode, 0, result.stderr)
        static = self.script("static", f"#!{program('program_static')}")
        self.assertEqual(self.check(static).returncode, 1)

    def test_script_of_a_script(self):
        script = self.script("0", f"#!{program('program_static')}")
        for i in range(1, 7):
            result = self.check(script)
            self.assertEqual(result.returncode, 1 if i <= 5 else 2, result.stderr)
            said = result.stdout if i <= 5 else result.stderr
            self.assertIn("is statically linked" if i <= 5 else "chain of script", said)
            # The kernel's own bound is where the command's is.
            with self.assertRaises(OSError) if i > 5 else contextlib.nullcontext():
                subprocess.run([script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               check=False, timeout=60)
            script = self.script(str(i), f"#!{script}")

    def test_what_sh_reads(self):
        for first_line in ("just words", "#!", ""):
            result = self.check(self.script("words", first_line))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("entry: preload\n", result.stdout)

    @unittest.skipUnless(os.path.exists(program("program_musl")), "musl-gcc is not installed")
    def test_a_program_on_musl(self):
        path = program("program_musl")
        for name in (path, self.script("script", f"#!{path}")):
            result = self.check(name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"entry: preload\nobject: {STAND_IN}\n", result.stdout)

    def test_a_program_whose_musl_is_not_there(self):
        result = self.check(program("program_musl_lost"))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("its loader /nowhere/ld-musl-any.so.1 could not load it", result.stderr)

    def test_a_program_of_another_machine(self):
        for kind, (machine, word_size, name) in FOREIGN.items():
            result = self.check(foreign_program(self.folder, machine, word_size))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(f" is built for {name}, libtalus.so for ", result.stdout, kind)

    def test_a_library_that_is_not_talus(self):
        other = os.path.join(self.folder, "libtalus.so")
        libc = subprocess.run(["cc", "-print-file-name=libm.so.6"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout.strip()
        shutil.copy(libc, other)
        result = talus("check", "--lib", other, "--", "true")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("does not contain Talus", result.stdout)

    def test_damaged_programs_are_no_crash(self):
        with open(program("program_plain"), "rb") as file:
            whole = file.read()
        path = os.path.join(self.folder, "damaged")
        for step in range(16, 1024, 4):
            damaged = bytearray(whole)
            damaged[step:step + 4] = b"\xff\xff\xff\xff"
            with open(path, "wb") as file:
                file.write(damaged)
            os.chmod(path, 0o755)
            result = self.check(path)
            self.assertIn(result.returncode, (0, 1, 2), step)
        for length in (0, 4, 40, 64, 200, 1000):
            with open(path, "wb") as file:
                file.write(whole[:length])
            self.assertIn(self.check(path).returncode, (0, 1, 2), length)

    def test_missing(self):
        result = self.check("no-such-program-here")
        self.assertEqual((result.returncode, result.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
