# SPDX-License-Identifier: MIT
"""Owns: `talus top` on a terminal and in a pipe: rows, keys, sizes, and the terminal behind it."""

import os
import re
import signal
import subprocess
import unittest

from process import COMMAND, Process, look, talus
from screen import OnTerminal

UP, DOWN, RIGHT, F4, F6, ESCAPE = b"\x1bOA", b"\x1bOB", b"\x1bOC", b"\x1bOS", b"\x1b[17~", b"\x1b"


def table(*words):
    done = talus("top", "--once", *words)
    return done, [line.split() for line in done.stdout.splitlines()]


def has_ncurses():
    with OnTerminal([COMMAND, "top", "--filter", "no-such-name"]) as top:
        text = top.wait_for(lambda text: "ncurses" in text or "processes on Talus" in text)
    return "processes on Talus" in text


class InAPipe(unittest.TestCase):
    def test_one_table(self):
        with Process("shared") as one, Process("static") as other:
            other.ask("w")
            done, rows = table("--filter", "observe_", "--sort", "rss")
            live = look(one.pid)["heap"]["live_bytes"]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\033", done.stdout)
        self.assertEqual(rows[0][:7], ["PID", "USER", "RSS", "LIVE", "FREE", "ALLOC/s", "FAULT/s"])
        pids = [int(row[0]) for row in rows[1:]]
        self.assertEqual({one.pid, other.pid} - set(pids), set())
        row = rows[1 + pids.index(one.pid)]
        self.assertEqual(row[-1], "observe_shared")
        self.assertEqual(row[3], f"{live / (1 << 20):.0f}M")

    def test_sorted(self):
        with Process("shared"), Process("static"), Process("header"):
            for column, at, turn in (("pid", 0, reversed), ("name", -1, list)):
                _, rows = table("--filter", "observe_", "--sort", column)
                keys = [int(row[at]) if at == 0 else row[at] for row in rows[1:]]
                self.assertGreaterEqual(len(keys), 3)
                self.assertEqual(keys, list(turn(sorted(keys))), column)

    def test_rates(self):
        with Process("shared", TALUS_PRINT_STATS="/dev/null",
                     TALUS_PRINT_STATS_TRIGGER="1") as counted, Process("shared") as plain:
            counted.ask("b")
            plain.ask("b")
            _, rows = table("--filter", "observe_")
        rates = {int(row[0]): row[5:7] for row in rows[1:]}
        self.assertRegex(rates[counted.pid][0], r"\A[\d.]+[KMGT]\Z")
        self.assertEqual(rates[plain.pid][1], "r")

    def test_batch_goes_on(self):
        with Process("shared"):
            with subprocess.Popen([COMMAND, "top", "--batch", "--every", "0.2", "--filter",
                                   "observe_"], stdout=subprocess.PIPE, text=True) as batch:
                titles = 0
                for line in batch.stdout:
                    titles += line.split()[:1] == ["PID"]
                    if titles == 3:
                        break
                batch.send_signal(signal.SIGTERM)
            self.assertEqual(batch.returncode, -signal.SIGTERM)

    def test_wrong_use(self):
        for words in (["--sort", "size"], ["--every", "0"], ["--once", "--batch"], ["1"]):
            done = talus("top", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)

    def test_no_process(self):
        with Process("shared"):
            done, rows = table("--filter", "no-such-name")
        self.assertEqual((done.returncode, len(rows)), (1, 1))


class OnAScreen(unittest.TestCase):
    def setUp(self):
        if not has_ncurses():
            self.skipTest("the command was built without ncurses")

    def assert_fits(self, top):
        lines = top.wait_for(lambda text: "F10 Quit" in text).splitlines()
        self.assertEqual(len(lines), top.screen.lines)
        self.assertIn("F10 Quit", lines[-1])

    def test_look_and_quit(self):
        with Process("shared") as process, OnTerminal(
                [COMMAND, "top", "--filter", str(process.pid), "--every", "0.2"]) as top:
            text = top.wait_for(lambda text: re.search(rf"{process.pid} .*observe_sha", text))
            self.assertTrue(top.screen.is_alternate)
            self.assert_fits(top)
            self.assertIn("RSS OVER TIME", text)
            top.wait_for(lambda text: re.search(r"[▁-█]{2}", text))
            top.press(b"\r")
            top.wait_for(lambda text: "[1 Memory]" in text and "live, small" in text)
            for key, words in ((b"2", "LIVE SHARE"), (RIGHT, "OF OTHERS"), (b"4", "REFILLS"),
                               (b"5", 'a "name"'), (b"6", "no profile;")):
                top.press(key)
                top.wait_for(lambda text, words=words: words in text)
            top.press(ESCAPE)
            top.wait_for(lambda text: "sorted by" in text)
            top.press(b"h")
            top.wait_for(lambda text: "any key leaves" in text)
            top.press(b" ")
            top.wait_for(lambda text: "sorted by" in text)
            top.press(b"q")
            self.assertEqual(top.has_ended(), 0)
            self.assertTrue(top.is_restored())

    def test_sort_filter_and_search(self):
        with Process("shared") as one, Process("header") as other, OnTerminal(
                [COMMAND, "top", "--filter", "observe_"]) as top:
            top.wait_for(lambda text: str(one.pid) in text and str(other.pid) in text)
            top.press(F6)
            top.wait_for(lambda text: "Sort by" in text)
            top.press(UP + UP + b"\r")  # from RSS to PID
            top.wait_for(lambda text: "sorted by PID, largest first" in text)
            top.press(b"I")
            top.wait_for(lambda text: "smallest first" in text)
            top.press(F4 + b"\x7f" * 10 + b"observe_h")
            top.wait_for(lambda text: str(one.pid) not in text and str(other.pid) in text)
            top.press(ESCAPE)
            top.wait_for(lambda text: str(one.pid) in text)
            top.press(b"/observe_h\r\r")
            top.wait_for(lambda text: f"observe_header, process {other.pid}" in text)

    def test_sizes(self):
        with Process("shared") as process, OnTerminal(
                [COMMAND, "top", "--filter", str(process.pid)], lines=40, columns=130) as top:
            top.wait_for(lambda text: "USER" in text and str(process.pid) in text)
            for lines, columns in ((24, 80), (10, 40), (50, 200)):
                top.resize(lines, columns)
                # What was drawn for the size before may still come.
                text = top.wait_for(lambda text, lines=lines: str(process.pid) in text and
                                    "F1 Help" in "".join(text.splitlines()[lines - 1:]))
                self.assertEqual("USER" in text, columns > 96)
            top.resize(2, 8)
            top.press(DOWN + b"\r" + DOWN + ESCAPE)
            top.press(b"qq")
            self.assertEqual(top.has_ended(), 0)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with OnTerminal([COMMAND, "top"]) as top:
                top.wait_for(lambda text: "processes on Talus" in text)
                os.kill(top.pid, number)
                self.assertEqual(top.has_ended(), -number)
                self.assertTrue(top.is_restored(), number)

    def test_a_process_ends_meanwhile(self):
        process = Process("shared")
        with OnTerminal([COMMAND, "top", "--filter", str(process.pid), "--every", "0.2"]) as top:
            top.wait_for(lambda text: "observe_sha" in text)
            top.press(b"\r")
            top.wait_for(lambda text: "[1 Memory]" in text)
            process.kill()
            top.wait_for(lambda text: "has ended" in text)
            top.press(ESCAPE)
            top.wait_for(lambda text: "sorted by" in text)
        process.child.stdin.close()
        process.child.stdout.close()

    def test_unknown_terminal(self):
        with OnTerminal([COMMAND, "top"], TERM="no-such-kind") as top:
            top.wait_for(lambda text: "no known kind" in text)
            self.assertEqual(top.has_ended(), 2)
            self.assertTrue(top.is_restored())


if __name__ == "__main__":
    unittest.main()
