#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the printed forms of statistics as other programs do, and looks when they come.

Owns: what is asked of each form and of each trigger. Python's readers check JSON and CSV. The rules
of its specification check OpenMetrics, and so does prometheus_client where it is installed.

    statistics_test.py --group forms|moments --shared PROGRAM --static PROGRAM
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

TEXT, JSON, CSV, OPENMETRICS = "text", "json", "csv", "openmetrics"
FORMATS = [TEXT, JSON, CSV, OPENMETRICS]
PROGRAMS = {}
# Names of the heaps that the program makes, by number; the third is cut within its last character.
HARD = "<\"&\\\n\t\x1b[1m'>"
HEAPS = [HARD, HARD, "Fu\u00dfgaenger und Radfahrer \u20ac\ufffd\ufffd", ""]


def environment_with(options):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("TALUS_", "LD_PRELOAD"))}
    environment.update({f"TALUS_{key}": str(value) for key, value in options.items()})
    return environment


def run(*words, program="shared", **options):
    return subprocess.run([PROGRAMS[program], *[str(word) for word in words]],
                          env=environment_with(options), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)


def run_until(is_enough, word, **options):
    """A program that sleeps until this is so, which may take long on a busy machine."""
    with subprocess.Popen([PROGRAMS["shared"], word, "0"], env=environment_with(options),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 40
        while not is_enough() and time.monotonic() < deadline:
            time.sleep(0.05)
        return process.communicate(timeout=40), process.returncode


def read_csv(data):
    """Rows of RFC 4180: CR LF ends each record, none is empty, all are as long as the header."""
    text = data.decode("ascii")
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n")
    rows = list(csv.reader(text.split("\r\n")[:-1], strict=True))
    assert len({len(row) for row in rows}) == 1, "rows differ in length"
    return rows[0], [dict(zip(rows[0], row)) for row in rows[1:]]


def names_of(tree, before=""):
    """Full names and values of a nested JSON object."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from names_of(value, f"{before}{key}.")
        else:
            yield before + key, value


LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf'^([a-zA-Z_:][\w:]*)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\d+)$')


def read_labels(text):
    """Names and values, in order and without escapes."""
    return tuple((name, re.sub(r"\\(.)", lambda at: {"n": "\n"}.get(at[1], at[1]), value))
                 for name, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text or ""))


def read_openmetrics(data):
    """{(name, label, value...): number}; families stand together, each begins with its TYPE."""
    text = data.decode("utf-8")
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    types, values, family = {}, {}, None
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if word == "TYPE":
                assert name not in types and rest in ("gauge", "counter"), line
                types[name], family = rest, name
            elif word == "UNIT":
                assert name.endswith("_" + rest), line
            else:
                assert word == "HELP" and rest, line
            assert name == family, line
            continue
        found = SAMPLE.match(line)
        assert found, line
        name, labels, value = found.groups()
        ending = "_total" if types[family] == "counter" else ""
        assert name == family + ending, line
        full = (family, *sum(read_labels(labels), ()))
        assert full not in values, line
        values[full] = int(value)
    return types, values


class Forms(unittest.TestCase):
    def printed(self, form):
        result = run("print", FORMATS.index(form))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    def test_json(self):
        data = self.printed(JSON)
        self.assertEqual(data.count(b"\n"), 1)
        tree = json.loads(data)
        self.assertRegex(tree["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(len(tree["thread"]), 21)
        self.assertEqual(tree["heap"]["threads"], 21)
        heap = tree["heap"]
        live = sum(int(size) * row["live_blocks"] for size, row in tree["class"].items())
        self.assertEqual(live, heap["live_small_bytes"])
        self.assertEqual(heap["live_bytes"], heap["live_small_bytes"] + heap["live_large_bytes"])
        parts = ["live_small", "live_large", "listed", "remote", "free", "slab_end", "kept",
                 "large_end"]
        self.assertEqual(heap["total_bytes"], sum(heap[f"{part}_bytes"] for part in parts))
        self.assertEqual(heap["slabs"], sum(row["slabs"] for row in tree["class"].values()))
        resident = tree["resident"]
        if resident["total_bytes"] is not None:
            ours = sum(value for name, value in resident.items()
                       if name not in ("total_bytes", "not_ours_bytes"))
            self.assertEqual(resident["total_bytes"], ours)
            self.assertEqual(resident["total_bytes"] + resident["not_ours_bytes"],
                             tree["process"]["resident_bytes"])
        self.assertIsNone(tree["calls"]["allocations"])
        instances = tree["instance"]
        self.assertEqual([instances[str(i)]["name"] for i in range(4)], HEAPS)
        self.assertEqual(heap["instances"], len(instances))
        for name in ("live_bytes", "total_bytes"):
            self.assertEqual(heap["instance_" + name], sum(row[name] for row in instances.values()))
        for number, row in enumerate(instances.values(), 1):
            self.assertEqual((row["live_blocks"], row["large_blocks"]), (number + 1, 1))
            self.assertEqual(row["live_bytes"], number * 1024 + 102400)
            self.assertEqual(row["total_bytes"],
                             row["live_bytes"] + row["free_bytes"] + row["slab_end_bytes"])
            self.assertEqual(row["limit_bytes"], 1 << 20)

    def test_csv(self):
        header, rows = read_csv(self.printed(CSV))
        self.assertEqual(len(rows), 1)
        self.assertEqual(len(set(header)), len(header))
        names = [name for name, _ in names_of(json.loads(self.printed(JSON)))
                 if not name.startswith(("class.", "thread.", "instance.")) and name != "version"]
        self.assertEqual(header, names)
        for name, value in rows[0].items():
            self.assertTrue(value == "" if name.startswith("calls.") else value.isdigit(), name)

    def test_openmetrics(self):
        data = self.printed(OPENMETRICS)
        types, values = read_openmetrics(data)
        self.assertEqual(types["talus_process_minor_faults"], "counter")
        self.assertGreater(values["talus_heap_live_bytes",], 1000000)
        self.assertGreater(values["talus_class_live_blocks", "size", "1024"], 0)
        self.assertIn(("talus_thread_list_bytes", "thread", "20"), values)
        self.assertNotIn(("talus_calls_allocations",), values)
        heaps = {key[1:]: value for key, value in values.items()
                 if key[0] == "talus_instance_live_bytes"}
        self.assertEqual(heaps, {("instance", str(number), "heap", name):
                                 (number + 1) * 1024 + 102400 for number, name in enumerate(HEAPS)})
        self.assertEqual(sum(heaps.values()), values["talus_heap_instance_live_bytes",])
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            return
        families = list(parser.text_string_to_metric_families(data.decode()))
        self.assertEqual({family.name for family in families}, set(types))
        names = [sample.labels["heap"] for family in families for sample in family.samples
                 if sample.name == "talus_instance_slabs"]
        self.assertEqual(names, HEAPS)

    def test_text(self):
        text = self.printed(TEXT).decode("utf-8")
        self.assertRegex(text, r"^talus \d+\.\d+\.\d+, process \d+\n")
        self.assertRegex(text, r"(?m)^  live, small +\d+\.\d{3} MiB$")
        self.assertRegex(text, r"(?m)^    1024( +\d+){5}$")
        self.assertRegex(text, r"(?m)^      15( +\d+){4} +-\n  and 5 more$")
        self.assertRegex(text, r"""(?m)^       0( +\d+){9}  <"&\\\?\?\?\[1m'>$""")
        self.assertRegex(text, r"(?m)^       3( +\d+){9}$")
        self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f]", text))

    def test_malloc_info(self):
        result = run("print", 4)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        tree = xml.etree.ElementTree.fromstring(result.stdout)
        heaps = tree.findall("heap")
        numbers = [heap.get("nr") for heap in heaps]
        self.assertEqual(len(set(numbers)), len(numbers))
        names = [heap.get("name") for heap in heaps if heap.get("name") is not None]
        self.assertEqual(names, [name.replace("\x1b", "\ufffd") for name in HEAPS])
        self.assertEqual([heap.find("total[@type='mmap']").get("size") for heap in heaps[-4:]],
                         ["102400"] * 4)


class Moments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "stats")

    def content(self, name="stats"):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def run_to_file(self, *words, program="shared", file=None, **options):
        result = run(*words, program=program, PRINT_STATS=file or self.file, **options)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_at_exit_in_each_form(self):
        self.run_to_file("bytes", 1000000, PRINT_STATS_FORMAT=JSON)
        tree = json.loads(self.content())
        self.assertGreaterEqual(tree["calls"]["requested_bytes"], 1000000)
        self.assertGreaterEqual(tree["calls"]["allocations"], 100)
        ranges = [value for name, value in tree["calls"].items()
                  if name.startswith("up_to_") or name == "larger"]
        self.assertEqual(sum(ranges), tree["calls"]["allocations"])
        os.remove(self.file)
        for _ in range(2):
            self.run_to_file("bytes", 1, PRINT_STATS_FORMAT=OPENMETRICS)
        read_openmetrics(self.content())  # one alone, and no other file is left
        self.assertEqual(os.listdir(self.folder), ["stats"])
        for place in ("stdout", "stderr"):
            result = run("bytes", 1, PRINT_STATS=place)
            self.assertRegex(getattr(result, place).decode(), r"\n  allocations +\d+\n")

    def test_the_peak_is_the_programs_own(self):
        mine = bytearray(b"x") * (200 << 20)  # the starting process is larger
        self.run_to_file("bytes", 1, PRINT_STATS_FORMAT=JSON)
        del mine
        process = json.loads(self.content())["process"]
        self.assertLess(process["resident_peak_bytes"], 100 << 20)
        self.assertGreater(process["resident_peak_bytes"], process["resident_bytes"] // 2)

    def test_process_id_in_the_name(self):
        self.run_to_file("fork", 10, file=self.file + ".%p", PRINT_STATS_FORMAT=JSON)
        names = os.listdir(self.folder)
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertEqual(f"stats.{json.loads(self.content(name))['process']['id']}", name)

    def test_one_header_for_many_samples(self):
        for _ in range(3):
            self.run_to_file("fork", 10, PRINT_STATS_FORMAT=CSV)
        _, rows = read_csv(self.content())
        self.assertEqual(len(rows), 6)
        self.assertEqual(len({row["process.id"] for row in rows}), 6)

    def sleep_for_samples(self, word, file, processes):
        """Until each process has eight. The rows of each."""
        def is_enough():
            names = os.listdir(self.folder)
            return len(names) == processes and all(
                self.content(name).count(b"\r\n") > 8 for name in names)
        ended = run_until(is_enough, word, PRINT_STATS=file, PRINT_STATS_FORMAT=CSV,
                          PRINT_STATS_TRIGGER=2, PRINT_STATS_MS=100, HELPER=1)
        self.assertEqual(ended, ((b"", b""), 0))
        self.assertTrue(is_enough(), "no samples were taken")
        return [read_csv(self.content(name))[1] for name in os.listdir(self.folder)]

    def test_a_sleeping_program_is_sampled(self):
        rows, = self.sleep_for_samples("sleep", self.file, 1)
        times = [int(row["process.uptime_ms"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(len(rows), times[-1] / 100 + 1)  # on a busy machine some are left out
        self.assertEqual(rows[0]["calls.allocations"], "")  # trigger 2 alone counts no calls

    def test_a_sleeping_child_is_sampled(self):
        for rows in self.sleep_for_samples("fork", self.file + ".%p", 2):
            self.assertLessEqual(len(rows), int(rows[-1]["process.uptime_ms"]) / 100 + 1)

    def test_without_a_helper_slow_paths_print(self):
        for program in PROGRAMS:
            self.run_to_file("steps", 100, program=program, file=self.file + program, HELPER=0,
                             PRINT_STATS_FORMAT=JSON, PRINT_STATS_TRIGGER=2, PRINT_STATS_MS=50)
            lines = self.content("stats" + program).splitlines()
            self.assertGreaterEqual(len(lines), 10)
            for line in lines:
                json.loads(line)
        self.run_to_file("sleep", 300, file=self.file + "idle", HELPER=0, PRINT_STATS_TRIGGER=2,
                         PRINT_STATS_MS=50)
        self.assertNotIn("statsidle", os.listdir(self.folder))

    def test_every_so_many_bytes(self):
        self.run_to_file("bytes", 41 << 20, PRINT_STATS_FORMAT=CSV, PRINT_STATS_TRIGGER=4,
                         PRINT_STATS_BYTES="4M")
        _, rows = read_csv(self.content())
        self.assertEqual(len(rows), 10)
        for number, row in enumerate(rows, 1):
            requested = int(row["calls.requested_bytes"])
            self.assertTrue(0 <= requested - number * (4 << 20) <= 100000, requested)

    def test_no_trigger_no_output(self):
        self.run_to_file("steps", 20, PRINT_STATS_TRIGGER=0, PRINT_STATS_MS=10)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_that_cannot_be_written_is_told(self):
        missing = os.path.join(self.folder, "no", "file")
        for trigger in (1, 3, 4):  # one line, however many samples there were
            result = run("bytes", 10 << 20, PRINT_STATS=missing, PRINT_STATS_TRIGGER=trigger,
                         PRINT_STATS_BYTES="1M", PRINT_STATS_MS=10)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr.decode(),
                             f"talus: cannot write statistics to {missing}\n")

    def full_pipe(self):
        """It has no reader, and nothing more can be written to it."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        os.set_blocking(writing, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        os.set_blocking(writing, True)
        return reading, writing

    def test_a_reader_that_does_not_read_does_not_keep_the_program(self):
        _, writing = self.full_pipe()
        for trigger, words in ((1, ["bytes", 1]), (2, ["sleep", 500]), (3, ["sleep", 500])):
            begin = time.monotonic()
            result = run(*words, PRINT_STATS=f"/proc/{os.getpid()}/fd/{writing}",
                         PRINT_STATS_TRIGGER=trigger, PRINT_STATS_MS=100, HELPER=1)
            self.assertEqual(result.returncode, 0)
            self.assertLess(time.monotonic() - begin, 10)

    def test_stdout_and_stderr_without_a_reader_do_not_keep_the_program(self):
        _, writing = self.full_pipe()
        for place in ("stdout", "stderr"):
            begin = time.monotonic()
            done = subprocess.run([PROGRAMS["shared"], "bytes", "1"], timeout=30, check=False,
                                  env=environment_with({"PRINT_STATS": place}),
                                  stdin=subprocess.DEVNULL, stdout=writing, stderr=writing)
            self.assertEqual(done.returncode, 0)
            self.assertLess(time.monotonic() - begin, 20)

    def test_a_pipe_without_a_reader_does_not_keep_the_program(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for program in ("shared", "static"):
            for form in FORMATS:
                result = run("bytes", 1, program=program, PRINT_STATS=pipe,
                             PRINT_STATS_FORMAT=form)
                self.assertEqual(result.returncode, 0)
                self.assertEqual(result.stderr.decode(),
                                 f"talus: cannot write statistics to {pipe}\n")

    def test_a_slow_reader_of_a_pipe_gets_all(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        writing = os.open(pipe, os.O_WRONLY)
        os.write(writing, b"x" * (65536 - 4096))  # room for one piece of several
        with subprocess.Popen([PROGRAMS["shared"], "bytes", "1"],
                              env=environment_with({"PRINT_STATS": pipe,
                                                    "PRINT_STATS_FORMAT": OPENMETRICS})) as process:
            time.sleep(0.3)
            os.close(writing)
            os.set_blocking(reading, True)
            with os.fdopen(reading, "rb") as file:
                content = file.read()
            self.assertEqual(process.wait(timeout=30), 0)
        read_openmetrics(content.lstrip(b"x"))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--group", choices=["forms", "moments"], required=True)
    arguments.add_argument("--shared", required=True)
    arguments.add_argument("--static", required=True)
    given = arguments.parse_args()
    PROGRAMS.update(shared=given.shared, static=given.static)
    case = {"forms": Forms, "moments": Moments}[given.group]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    return 0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
