# SPDX-License-Identifier: MIT
"""Owns: the tests of `talus run`. argv, exit status and signals are the program's own; settings are
judged before anything starts. LD_PRELOAD is kept; the library is found from every layout.
"""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import command
from command import (COMMAND, FOREIGN, LOADED, REAL, STAND_IN, environment, foreign_program,
                     program, run, talus)


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-run-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, text="", mode=0o755):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path


class Arguments(Folder):
    def test_no_shell_reads_the_arguments(self):
        result = run("printf", "%s|", "x;echo INJECTED")
        self.assertEqual(result.stdout, "x;echo INJECTED|")
        self.assertEqual(result.returncode, 0)

    def test_every_byte_arrives(self):
        words = ["", " ", "a b", "'", '"', "$HOME", "`id`", "\\", "*", "\n", "\x01", "ä", "--",
                 "-x"]
        result = run("--", "printf", "%s|", *words)
        self.assertEqual(result.stdout, "".join(word + "|" for word in words))

    def test_words_behind_the_program_are_the_programs(self):
        words = ["DECAY_MS=5", "--help", "--lib", "nowhere", "UNKNOWN=1", "--version", "-h", "--"]
        for dashes in ([], ["--"]):
            result = run(*dashes, "printf", "%s|", *words)
            self.assertEqual(result.stdout, "".join(word + "|" for word in words))
            self.assertEqual(result.stderr, "")

    def test_behind_the_dashes_a_setting_is_a_program(self):
        self.file("A=B", "#!/bin/sh\necho I am A=B\n")
        path = self.folder + ":" + os.environ["PATH"]
        result = run("--", "A=B", env=environment(PATH=path))
        self.assertEqual(result.stdout, "I am A=B\n")

    def test_a_path_with_an_equals_sign_is_a_program(self):
        script = self.file("a=b", "#!/bin/sh\necho I am a=b\n")
        self.assertEqual(run(script).stdout, "I am a=b\n")

    def test_argv_zero_is_as_typed(self):
        self.file("tool", "")
        os.remove(os.path.join(self.folder, "tool"))
        os.symlink("/bin/sh", os.path.join(self.folder, "tool"))
        path = self.folder + ":" + os.environ["PATH"]
        result = run("tool", "-c", "tr '\\0' '\\n' < /proc/$$/cmdline | head -1",
                     env=environment(PATH=path))
        self.assertEqual(result.stdout, "tool\n")

    def test_input_goes_through(self):
        self.assertEqual(run("cat", input="some input").stdout, "some input")

    def test_it_is_the_same_process(self):
        child = subprocess.Popen([COMMAND, "run", "--lib", STAND_IN, "sh", "-c", "echo $$"],
                                 env=environment(), stdout=subprocess.PIPE, text=True)
        output, _ = child.communicate(timeout=60)
        self.assertEqual(int(output), child.pid)


class Ends(Folder):
    def test_exit_status_is_the_programs(self):
        for status in (0, 1, 2, 7, 126, 127, 255):
            self.assertEqual(run("sh", "-c", f"exit {status}").returncode, status)

    def test_death_by_signal_is_the_programs(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            result = run("sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number)

    def test_a_signal_from_outside_reaches_the_program(self):
        child = subprocess.Popen([COMMAND, "run", "--lib", STAND_IN, "sh", "-c",
                                  "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done"],
                                 env=environment(), stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, 42)

    def test_not_found(self):
        for name in ("no-such-program-here", "/no/such/program", "./no-such"):
            result = run(name)
            self.assertEqual(result.returncode, 127)
            self.assertEqual(result.stderr, f"talus: {name}: not found\n")

    def test_not_executable(self):
        plain = self.file("plain", "text", 0o644)
        for path in (plain, self.folder):
            result = run(path)
            self.assertEqual(result.returncode, 126)
            self.assertIn("not executable", result.stderr)

    def test_not_executable_on_the_path_does_not_hide_a_later_one(self):
        self.file("one/tool", "", 0o644)
        self.file("two/tool", "#!/bin/sh\necho two\n")
        path = f"{self.folder}/one:{self.folder}/two:{os.environ['PATH']}"
        self.assertEqual(run("tool", env=environment(PATH=path)).stdout, "two\n")
        path = f"{self.folder}/one"
        self.assertEqual(run("tool", env=environment(PATH=path)).returncode, 126)

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_a_folder_of_the_path_that_may_not_be_entered_is_passed_over(self):
        self.file("closed/tool", "", 0o755)
        self.file("open/tool", "#!/bin/sh\necho open\n")
        for name in (".", "open", "closed"):
            os.chmod(os.path.join(self.folder, name), 0o700 if name == "closed" else 0o755)
        # The build tree may be closed to others, so command and library go with the test.
        copies = [os.path.join(self.folder, "open", name) for name in ("talus", "libtalus.so")]
        shutil.copy(COMMAND, copies[0])
        shutil.copy(STAND_IN, copies[1])

        def other_user():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        for folders, expected in (("closed open", (0, "open\n")), ("closed", (127, ""))):
            path = ":".join(os.path.join(self.folder, name) for name in folders.split())
            result = talus("run", "tool", command=copies[0], cwd="/",
                           env=environment(PATH=path), preexec_fn=other_user)
            self.assertEqual((result.returncode, result.stdout), expected, result.stderr)

    def test_a_removed_working_folder_is_no_crash(self):
        gone = os.path.join(self.folder, "gone")
        script = f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {COMMAND} run --lib x echo hi"
        result = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, env=environment(),
                                stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertTrue(result.stderr.startswith("talus: "), result.stderr)

    def test_interpreter_that_does_not_exist(self):
        script = self.file("script", "#!/no/such/interpreter\n")
        self.assertEqual(run(script).returncode, 127)

    def test_a_script_without_a_first_line_is_read_by_sh(self):
        script = self.file("script", 'echo "$0|$1"; exit 9\n')
        result = run(script, "a b")
        self.assertEqual(result.stdout, f"{script}|a b\n")
        self.assertEqual(result.returncode, 9)


class Settings(Folder):
    def value(self, name, *words):
        return run(*words, "sh", "-c", f'echo "${{{name}-unset}}"')

    def test_key_in_any_case_with_or_without_prefix(self):
        for key in ("decay_ms", "DECAY_MS", "Talus_Decay_Ms", "TALUS_DECAY_MS"):
            self.assertEqual(self.value("TALUS_DECAY_MS", f"{key}=7s").stdout, "7s\n")

    def test_the_last_of_a_key_counts_and_it_beats_the_environment(self):
        words = ["run", "--lib", STAND_IN, "decay_ms=1", "decay_ms=2", "printenv", "TALUS_DECAY_MS"]
        result = talus(*words, env=environment(TALUS_DECAY_MS="9"))
        self.assertEqual(result.stdout, "2\n")

    def test_the_environment_goes_through(self):
        result = run("printenv", "TALUS_DECAY_MS", env=environment(TALUS_DECAY_MS="9"))
        self.assertEqual(result.stdout, "9\n")

    def test_unknown_key_starts_nothing(self):
        result = run("decay_mss=1", "echo", "started")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, "talus: unknown option TALUS_DECAY_MSS; "
                                        "did you mean TALUS_DECAY_MS?\n")

    def test_bad_value_starts_nothing(self):
        for word, reason in (("decay_ms=soon", "is not understood; allowed: 0 to 3600s"),
                             ("decay_ms=2h", "is not understood"),
                             ("decay_ms=3601s", "is out of range; allowed: 0 to 3600s"),
                             ("verbose=maybe", "allowed: 0|1"),
                             ("on_foreign_free=die", "allowed: abort|ignore"),
                             ("print_stats=" + "x" * 256, "at most 255 bytes")):
            result = run(word, "echo", "started")
            self.assertEqual((result.returncode, result.stdout), (2, ""), word)
            self.assertIn(reason, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_every_mistake_is_told(self):
        result = run("x=1", "verbose=7", "decay_ms=1", "echo", "started")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("\n"), 2)

    def test_no_program(self):
        for words in ([], ["decay_ms=1"], ["--"], ["decay_ms=1", "--"]):
            result = run(*words)
            self.assertEqual(result.returncode, 2)
            self.assertIn("no program given", result.stderr)

    def test_unknown_option_of_the_command(self):
        self.assertEqual(run("--bogus", "true").returncode, 2)
        self.assertEqual(talus("bogus").returncode, 2)
        self.assertEqual(talus().returncode, 2)
        self.assertEqual(talus("--help").returncode, 0)
        self.assertEqual(talus("run", "--help").returncode, 0)


class Preload(Folder):
    def test_the_library_is_loaded(self):
        result = run("true", env=environment(TALUS_TEST_SAY="1"))
        self.assertEqual(result.stderr, LOADED)

    def test_an_existing_value_is_kept_behind_ours(self):
        result = run("printenv", "LD_PRELOAD", env=environment(LD_PRELOAD="libm.so.6"))
        self.assertEqual(result.stdout, f"{STAND_IN}:libm.so.6\n")

    def test_an_empty_value_gets_no_colon(self):
        result = run("printenv", "LD_PRELOAD", env=environment(LD_PRELOAD=""))
        self.assertEqual(result.stdout, f"{STAND_IN}\n")

    def test_run_inside_run_names_it_once(self):
        result = run(COMMAND, "run", "--lib", STAND_IN, "printenv", "LD_PRELOAD")
        self.assertEqual(result.stdout, f"{STAND_IN}\n")

    def test_a_relative_library_becomes_absolute(self):
        folder, name = os.path.split(STAND_IN)
        result = talus("run", "--lib", name, "sh", "-c", "cd /; exec printenv LD_PRELOAD",
                       cwd=folder)
        self.assertEqual(result.stdout, f"{STAND_IN}\n")
        self.assertEqual(result.stderr, "")

    def test_dots_behind_a_link_are_the_kernels(self):
        os.makedirs(os.path.join(self.folder, "a/b"))
        os.symlink("a/b", os.path.join(self.folder, "link"))
        shutil.copy(STAND_IN, os.path.join(self.folder, "a/libtalus.so"))
        result = talus("run", "--lib", f"{self.folder}/link/../libtalus.so", "printenv",
                       "LD_PRELOAD", env=environment(TALUS_TEST_SAY="1"))
        self.assertEqual(result.stdout, f"{self.folder}/a/libtalus.so\n")
        self.assertEqual(result.stderr, LOADED)

    def test_library_that_cannot_be_used(self):
        folders = [os.path.join(self.folder, name) for name in ("a b", "a:b", "a$b", "$LIB")]
        for folder in folders:
            os.mkdir(folder)
            shutil.copy(STAND_IN, folder)
        text = self.file("text/libtalus.so", "neither ELF nor ours")
        others = [text, "/etc/passwd", "/bin/sh", program("program_embedded")]
        for path in ("/no/such/libtalus.so", self.folder, *others,
                     *[f"{folder}/libtalus.so" for folder in folders]):
            result = talus("run", "--lib", path, "echo", "started")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr.count("\n"), 1)


class Layouts(Folder):
    """A copy of the command finds the library in each place it may be installed to."""

    def install(self, command_at, library_at):
        command_path = os.path.join(self.folder, command_at)
        library = os.path.join(self.folder, library_at)
        for path in (command_path, library):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(COMMAND, command_path)
        shutil.copy(STAND_IN, library)
        return command_path, library

    def assert_found(self, command_path, library):
        result = talus("run", "printenv", "LD_PRELOAD", command=command_path)
        self.assertEqual(result.stdout, library + "\n", result.stderr)
        self.assertIn(f"library {command.STAND_IN_VERSION} {library}",
                      talus("version", command=command_path).stdout)

    def test_build_tree(self):
        self.assert_found(*self.install("build/talus", "build/libtalus.so"))

    def test_prefixes(self):
        places = ["lib", "lib64", "lib/talus"]
        multiarch = subprocess.run(["cc", "-print-multiarch"], stdout=subprocess.PIPE, text=True,
                                   check=True).stdout.strip()
        if multiarch:
            places.append("lib/" + multiarch)
        for place in places:
            self.assert_found(*self.install(f"{place.replace('/', '-')}/bin/talus",
                                            f"{place.replace('/', '-')}/{place}/libtalus.so"))

    def test_through_a_symbolic_link(self):
        command_path, library = self.install("prefix/bin/talus", "prefix/lib/libtalus.so")
        link = os.path.join(self.folder, "link")
        os.symlink(command_path, link)
        self.assert_found(link, library)

    def test_nowhere(self):
        path = os.path.join(self.folder, "alone/bin/talus")
        os.makedirs(os.path.dirname(path))
        shutil.copy(COMMAND, path)
        result = talus("run", "echo", "started", command=path)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("libtalus.so not found in ", result.stderr)
        self.assertIn("--lib PATH", result.stderr)


class Warnings(Folder):
    def test_static_program_is_warned_of_and_runs(self):
        result = run(program("program_static"), input="")
        self.assertEqual((result.returncode, result.stdout), (0, "ready\n"))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("is statically linked", result.stderr)

    def test_static_program_with_talus_inside_is_not(self):
        result = run(program("program_embedded"), input="")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_program_that_brings_malloc_is_warned_of_and_runs(self):
        result = run(program("program_malloc"), input="")
        self.assertEqual((result.returncode, result.stdout), (0, "ready\n"))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("defines a malloc of its own", result.stderr)

    def test_dynamic_programs_and_scripts_are_not(self):
        script = self.file("script", "#! /bin/sh -e\necho hello\n")
        for name in (program("program_plain"), script):
            self.assertEqual(run(name, input="").stderr, "")

    def test_script_of_a_static_interpreter_is(self):
        script = self.file("script", f"#!{program('program_static')}\n")
        self.assertIn("is statically linked", run(script, input="").stderr)

    def test_a_program_of_another_machine_is_told_of_and_not_given_to_sh(self):
        for kind, (machine, word_size, name) in FOREIGN.items():
            path = foreign_program(self.folder, machine, word_size)
            result = run(path, input="")
            self.assertEqual((result.returncode, result.stdout), (126, ""), kind)
            warning, error = result.stderr.splitlines()
            self.assertIn(f"{path} is built for {name}, libtalus.so for ", warning)
            self.assertEqual(error, f"talus: {path}: Exec format error")

    def test_php_is_warned_of_unless_it_opens_no_extension(self):
        for words, warnings in (((), 1), (("-n",), 0)):
            result = run(program("program_php"), *words, input="")
            self.assertEqual((result.returncode, result.stdout), (0, "ready\n"))
            self.assertEqual(result.stderr.count("RTLD_DEEPBIND"), warnings)
            self.assertEqual(result.stderr.count("\n"), warnings)

    def test_a_program_that_musl_cannot_load_with_talus_is_refused(self):
        result = run(program("program_musl_lost"), input="")
        self.assertEqual((result.returncode, result.stdout), (126, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("its loader /nowhere/ld-musl-any.so.1 could not load it", result.stderr)

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file to another user")
    def test_privileged_program_is_warned_of(self):
        path = self.file("tool")
        shutil.copy(program("program_plain"), path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        self.assertTrue(os.stat(path).st_mode & stat.S_ISUID)
        result = run(path, input="")
        self.assertEqual(result.returncode, 0)
        self.assertIn("gains privileges", result.stderr)


@unittest.skipUnless(REAL, "the library is not part of this build")
class RealLibrary(unittest.TestCase):
    def test_found_beside_the_command(self):
        result = talus("run", "printenv", "LD_PRELOAD")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.path.basename(result.stdout.strip()), "libtalus.so")

    def test_a_program_runs_on_it(self):
        result = talus("run", "verbose=0", "printf", "%s|", "x;echo INJECTED")
        self.assertEqual((result.returncode, result.stdout), (0, "x;echo INJECTED|"))

    def test_mistakes_in_the_environment_are_one_warning(self):
        result = talus("run", "true", env=environment(TALUS_DECAY_MSS="1"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "talus: unknown option TALUS_DECAY_MSS; "
                                        "did you mean TALUS_DECAY_MS?\n")


if __name__ == "__main__":
    unittest.main()
