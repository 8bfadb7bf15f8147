#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the snippets of docs/deploy.md and docs/linking.md: the unit, the image, the deployment.

Owns: that what a reader copies is accepted by the tool that it is for. systemd-analyze and PyYAML
are asked where they are installed; what only a cluster or a daemon can tell is not asked.

    deploy_test.py ROOT COMMAND
"""
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import pages  # noqa: E402

ROOT, COMMAND = Path(sys.argv[1]), sys.argv[2]
INSTRUCTIONS = {"FROM", "RUN", "COPY", "ENV", "CMD"}
SETTING = re.compile(r"TALUS_\w+")


def blocks(page: str, language: str) -> list:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [block for name, block in pages.fenced(text) if name == language]


def assert_is_accepted(case: unittest.TestCase, name: str, value: str) -> None:
    """Options of the page exist and have such values."""
    if SETTING.fullmatch(name):
        done = subprocess.run([COMMAND, "run", f"{name}={value}", "--", "/bin/true"],
                              capture_output=True, text=True, timeout=30)
        case.assertEqual(done.returncode, 0, done.stderr)


class Shell(unittest.TestCase):
    def test_each_snippet_is_a_shell_script(self):
        scripts = blocks("deploy.md", "sh") + blocks("linking.md", "sh")
        self.assertGreaterEqual(len(scripts), 6)
        for script in scripts:
            done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), script)


class Unit(unittest.TestCase):
    def setUp(self):
        (self.text,) = blocks("deploy.md", "ini")

    def test_its_settings_are_options(self):
        settings = re.findall(r"^Environment=(\w+)=(\S+)$", self.text, re.MULTILINE)
        self.assertTrue(settings)
        for name, value in settings:
            assert_is_accepted(self, name, value)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_accepts_it(self):
        text = self.text.replace("/usr/local/bin/talus", COMMAND)
        text = text.replace("/usr/bin/myservice", "/bin/true")
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / "myservice.service"
            unit.write_text(text, encoding="utf-8")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                                  capture_output=True, text=True, timeout=60)
        said = [line for line in done.stderr.splitlines() if "myservice" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_its_filter_allows_the_calls_of_the_allocator(self):
        """The calls that start_seccomp allows, and the ones that printed statistics need."""
        probe = (ROOT / "tests/conformance/start/seccomp.cpp").read_text(encoding="utf-8")
        listed = re.search(r"allowed\[\] = \{(.*?)\};", probe, re.DOTALL)[1]
        needed = set(re.findall(r"SYS_(\w+)", listed))
        statistics = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
        admitted = re.search(r"filters of system calls must admit (.*?), also for the sample at "
                             r"exit", statistics, re.DOTALL)[1]
        needed |= set(re.findall(r"`(\w+)`", admitted))
        allowed = set()
        for word in re.search(r"^SystemCallFilter=(.*)$", self.text, re.MULTILINE)[1].split():
            allowed |= members(word) if word.startswith("@") else {word}
        self.assertEqual(needed - allowed, set())


def members(group: str, seen: frozenset = frozenset()) -> set:
    """All system calls of one of systemd's groups."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True,
                          capture_output=True, text=True).stdout
    words = {line.strip() for line in said.splitlines()[1:]} - {""}
    calls = {word for word in words if not word.startswith(("@", "#"))}
    for inner in words - calls:
        if inner.startswith("@") and inner not in seen:
            calls |= members(inner, seen | {group})
    return calls


class Image(unittest.TestCase):
    def test_each_line_is_an_instruction_and_the_copied_file_is_preloaded(self):
        text, _ = blocks("deploy.md", "dockerfile")
        lines = [line for line in text.splitlines() if line]
        self.assertEqual({line.split()[0] for line in lines} - INSTRUCTIONS, set())
        prefix = re.search(r"make -C \S+ install PREFIX=(\S+)", text)[1]
        stage = re.search(r"^FROM \S+ AS (\w+)$", text, re.MULTILINE)[1]
        copied = re.search(rf"^COPY --from={stage} (\S+) (\S+)$", text, re.MULTILINE)
        self.assertEqual(copied[1], f"{prefix}/lib/libtalus.so")
        self.assertEqual(re.search(r"^ENV LD_PRELOAD=(\S+)$", text, re.MULTILINE)[1], copied[2])


    def test_the_tree_for_alpine_is_preloaded(self):
        _, text = blocks("deploy.md", "dockerfile")
        self.assertEqual({line.split()[0] for line in text.splitlines() if line} - INSTRUCTIONS,
                         {"ADD"})
        added = re.search(r"^ADD talus-\S+-linux-musl/ (\S+)$", text, re.MULTILINE)
        self.assertEqual(re.search(r"^ENV LD_PRELOAD=(\S+)$", text, re.MULTILINE)[1],
                         f"{added[1]}lib/libtalus.so")


@unittest.skipUnless(importlib.util.find_spec("yaml"), "PyYAML is not installed")
class Deployment(unittest.TestCase):
    def setUp(self):
        import yaml
        (text,) = blocks("deploy.md", "yaml")
        self.spec = yaml.safe_load(text)["spec"]["template"]["spec"]

    def test_the_library_is_where_the_preload_looks(self):
        (service,), (copier,) = self.spec["containers"], self.spec["initContainers"]
        volume = self.spec["volumes"][0]["name"]
        mounts = {mount["name"]: mount["mountPath"] for mount in service["volumeMounts"]}
        source, target = copier["command"][1:]
        self.assertEqual(copier["volumeMounts"],
                         [{"name": volume, "mountPath": target.rstrip("/")}])
        environment = {row["name"]: row["value"] for row in service["env"]}
        self.assertEqual(environment["LD_PRELOAD"], f"{mounts[volume]}/{Path(source).name}")

    def test_its_settings_are_options(self):
        for row in self.spec["containers"][0]["env"]:
            self.assertIsInstance(row["value"], str)
            assert_is_accepted(self, row["name"], row["value"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
