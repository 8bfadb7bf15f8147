# SPDX-License-Identifier: MIT
"""Owns: the forms of `talus stats`, read by other readers, and their names. Every name of `talus
statistics` stands in each form; only what the process does not count is unknown.
"""

import csv
import io
import json
import re
import signal
import subprocess
import unittest

from process import COMMAND, REAL, Process, look, talus

# Not known unless calls are counted.
UNKNOWN = re.compile(r"calls\.")
SAMPLE = re.compile(r'^(talus_\w+)(\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\d+)$')


def names_of_the_table():
    """{group: [field]} of `talus statistics`, with keys left out."""
    names = {}
    for line in talus("statistics").stdout.splitlines():
        words = line.split(".")
        if not line.startswith(" "):
            names.setdefault(words[0], []).append(words[-1])
    return names


def process_with_everything():
    return Process("shared", TALUS_PRINT_STATS="/dev/null", TALUS_PRINT_STATS_TRIGGER="1")


class Forms(unittest.TestCase):
    def test_json_has_every_name(self):
        with process_with_everything() as process:
            seen = look(process.pid)
        for group, fields in names_of_the_table().items():
            rows = seen[group].values() if group in ("class", "thread", "instance") else [
                seen[group]]
            self.assertTrue(rows, group)
            for row in rows:
                self.assertEqual([name for name in row if name != "name"], fields)
                self.assertNotIn(None, row.values(), f"{group} {row}")

    def test_only_calls_are_unknown_by_default(self):
        with Process("shared") as process:
            seen = look(process.pid)
        unknown = [f"{group}.{field}" for group, fields in seen.items() if isinstance(fields, dict)
                   for field, value in fields.items() if value is None]
        self.assertTrue(unknown)
        self.assertEqual([name for name in unknown if not UNKNOWN.match(name)], [])

    def test_csv(self):
        with Process("shared") as process:
            text = subprocess.run([COMMAND, "stats", "--csv", str(process.pid)], check=True,
                                  capture_output=True).stdout.decode()
            seen = look(process.pid)
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        self.assertEqual(len(rows), 2)
        self.assertEqual(text.count("\n"), text.count("\r\n"))
        table = names_of_the_table()
        self.assertEqual(rows[0], [f"{group}.{field}" for group, fields in table.items()
                                   if group not in ("class", "thread", "instance")
                                   for field in fields] + ["consistent", "object"])
        row = dict(zip(*rows))
        self.assertEqual(int(row["heap.live_bytes"]), seen["heap"]["live_bytes"])
        self.assertEqual((row["consistent"], row["object"]), ("1", seen["object"]))

    def assert_openmetrics(self, text, samples_of_live):
        lines = text.split("\n")
        self.assertEqual(lines[-2:], ["# EOF", ""])
        kinds, seen = {}, []
        for line in lines[:-2]:
            if line.startswith("# TYPE "):
                name, kind = line.split(" ")[2:]
                self.assertNotIn(name, kinds, "one block for each name")
                kinds[name] = kind
            elif not line.startswith("# "):
                found = SAMPLE.match(line)
                self.assertTrue(found, line)
                family = found[1].removesuffix("_total")
                self.assertEqual(found[1] != family, kinds[family] == "counter")
                seen.append((found[1], found[2]))
        self.assertEqual(len(seen), len(set(seen)), "no sample twice")
        self.assertEqual(sum(name == "talus_heap_live_bytes" for name, _ in seen), samples_of_live)
        for group, fields in names_of_the_table().items():
            for field in fields:
                if group not in ("calls", "instance"):
                    self.assertIn(f"talus_{group}_{field}", kinds)

    def test_openmetrics(self):
        with Process("shared") as process:
            text = talus("stats", "--openmetrics", process.pid).stdout
        self.assertIn('heap="a \\"name\\"\\n"', text)
        self.assert_openmetrics(text, 1)

    def test_openmetrics_of_several_copies(self):
        with Process("header", LD_PRELOAD=REAL) as process:
            text = talus("stats", "--openmetrics", process.pid).stdout
        self.assert_openmetrics(text, 2)

    def test_text(self):
        with Process("shared") as process:
            text = talus("stats", process.pid).stdout
        self.assertEqual(text.splitlines()[0].split()[-1], str(process.pid))
        self.assertIn("\n  consistent: yes\n", text)
        self.assertIn("where resident memory is", text)
        self.assertIn('a "name"?', text)

    def test_watch(self):
        with Process("shared") as process:
            with subprocess.Popen([COMMAND, "stats", "--json", "--watch=0.02", str(process.pid)],
                                  stdout=subprocess.PIPE, text=True) as watch:
                samples = [json.loads(watch.stdout.readline()) for _ in range(3)]
                process.kill()
                watch.communicate(timeout=30)
            self.assertEqual(watch.returncode, 0)
        times = [sample["process"]["uptime_ms"] for sample in samples]
        self.assertEqual(times, sorted(set(times)))
        self.assertNotIn("per_second", samples[0])
        for sample in samples[1:]:
            self.assertIsNone(sample["per_second"]["allocations"], "calls are not counted")
            self.assertEqual(sample["per_second"]["refills"], 0, "it sleeps")

    def test_rates(self):
        """Those of two looks are the differences of their counters, by the second."""
        with process_with_everything() as process:
            process.ask("b")
            with subprocess.Popen([COMMAND, "stats", "--json", "--watch=0.2", str(process.pid)],
                                  stdout=subprocess.PIPE, text=True) as watch:
                samples = [json.loads(watch.stdout.readline()) for _ in range(4)]
                watch.kill()
            for before, after in zip(samples, samples[1:]):
                rates = after["per_second"]
                seconds = (after["process"]["uptime_ms"] - before["process"]["uptime_ms"]) / 1000
                for group, field, rate in (("calls", "allocations", "allocations"),
                                           ("calls", "frees", "frees"),
                                           ("calls", "requested_bytes", "requested_bytes")):
                    by_hand = (after[group][field] - before[group][field]) / seconds
                    self.assertGreater(by_hand, 0)
                    self.assertAlmostEqual(rates[rate] / by_hand, 1, delta=0.5)
                self.assertGreater(rates["cpu_percent"], 0)
                self.assertGreater(rates["refills"], 0)
            with subprocess.Popen([COMMAND, "stats", "--watch=0.1", str(process.pid)],
                                  stdout=subprocess.PIPE, text=True) as watch:
                lines = iter(watch.stdout)
                text = "".join(next(lines) for _ in range(300))
                watch.kill()
        self.assertIn("by the second, since the last look\n", text)
        self.assertRegex(text, r"\n  processor +\d+\.\d{3} %\n")

    def test_watch_ends_with_its_reader(self):
        with Process("shared") as process:
            with subprocess.Popen([COMMAND, "stats", "--csv", "--watch=0.02", str(process.pid)],
                                  stdout=subprocess.PIPE) as watch:
                watch.stdout.readline()
                watch.stdout.close()
                self.assertIn(watch.wait(30), (-signal.SIGPIPE, 2))


if __name__ == "__main__":
    unittest.main()
