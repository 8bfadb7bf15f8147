# SPDX-License-Identifier: MIT
"""Owns: a program on a terminal of this side's own, and what stands on its screen.

The screen understands the sequences that ncurses sends to TERM=xterm. An unknown one is an error.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SEQUENCE = re.compile(
    rb"\x1b(?:\[([?>]?)([\d;]*)([@-~])|([()])(.)|([=>78M])|\](?:[^\x07\x1b]*)\x07)")


class Screen:
    """Lines of characters, and where the next one goes."""

    def __init__(self, lines, columns):
        self.resize(lines, columns)
        self.is_alternate = False

    def resize(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.row = self.column = 0
        self.top, self.bottom = 0, lines - 1
        self.last = " "

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def put(self, letter):
        if self.column >= self.columns:
            self.column = 0
            self.line_feed()
        self.cells[self.row][self.column] = letter
        self.column += 1
        self.last = letter

    def line_feed(self):
        if self.row == self.bottom:
            self.scroll(1)
        else:
            self.row = min(self.row + 1, self.lines - 1)

    def scroll(self, count):
        part = self.cells[self.top:self.bottom + 1]
        blank = [[" "] * self.columns for _ in range(abs(count))]
        part = (part + blank)[count:] if count > 0 else (blank + part)[:count]
        self.cells[self.top:self.bottom + 1] = part

    def clear(self, row, begin, end):
        for column in range(begin, min(end, self.columns)):
            self.cells[row][column] = " "

    def control(self, private, words, final):
        numbers = [int(word or 0) for word in words.split(";")] if words else []
        first = numbers[0] if numbers else 0
        count = max(first, 1)
        if private:
            if private == "?" and 1049 in numbers:
                self.is_alternate = final == "h"
        elif final in "Hf":
            self.row = min(count, self.lines) - 1
            self.column = min(numbers[1] if len(numbers) > 1 else 1, self.columns) - 1
        elif final == "G":
            self.column = count - 1
        elif final == "d":
            self.row = min(count, self.lines) - 1
        elif final == "A":
            self.row = max(self.row - count, 0)
        elif final == "B":
            self.row = min(self.row + count, self.lines - 1)
        elif final == "C":
            self.column += count
        elif final == "D":
            self.column = max(self.column - count, 0)
        elif final == "J":
            begin = 0 if first == 2 else self.row + 1
            if first != 2:
                self.clear(self.row, self.column, self.columns)
            for row in range(begin, self.lines):
                self.clear(row, 0, self.columns)
        elif final == "K":
            self.clear(self.row, 0 if first else self.column,
                       self.column + 1 if first == 1 else self.columns)
        elif final == "X":
            self.clear(self.row, self.column, self.column + count)
        elif final == "P":
            row = self.cells[self.row]
            del row[self.column:self.column + count]
            row += [" "] * (self.columns - len(row))
        elif final == "@":
            row = self.cells[self.row]
            row[self.column:self.column] = [" "] * count
            del row[self.columns:]
        elif final == "b":
            for _ in range(count):
                self.put(self.last)
        elif final == "r":
            self.top = count - 1
            self.bottom = (numbers[1] if len(numbers) > 1 else self.lines) - 1
            self.row = self.column = 0
        elif final in "LM":
            top, self.top = self.top, self.row
            self.scroll(count if final == "M" else -count)
            self.top = top
        elif final in "ST":
            self.scroll(count if final == "S" else -count)
        elif final not in "mhltc":
            raise AssertionError(f"unknown sequence {private}{words}{final}")

    def feed(self, data):
        """Returns what is left: the begin of a sequence or of a character."""
        at = 0
        while at < len(data):
            if data[at] == 0x1b:
                found = SEQUENCE.match(data, at)
                if not found:
                    assert len(data) - at < 32, data[at:at + 32]
                    return data[at:]
                if found[3]:
                    self.control(found[1].decode(), found[2].decode(), found[3].decode())
                elif found[6] == b"M":
                    self.scroll(-1)
                at = found.end()
                continue
            length = 1 if data[at] < 0x80 else 2 if data[at] < 0xe0 else 3 if data[at] < 0xf0 else 4
            if at + length > len(data):
                return data[at:]
            letter = data[at:at + length].decode()
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.line_feed()
            elif letter == "\b":
                self.column = max(self.column - 1, 0)
            elif letter >= " ":
                self.put(letter)
            at += length
        return b""


class OnTerminal:
    """A command on a terminal of this size."""

    def __init__(self, words, lines=24, columns=80, **variables):
        self.screen = Screen(lines, columns)
        self.rest = b""
        self.status = None
        self.ours, self.theirs = pty.openpty()
        self.set_size(lines, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0)
            for descriptor in range(3):
                os.dup2(self.theirs, descriptor)
            os.closerange(3, 64)
            environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                           **variables}
            os.execve(words[0], [str(word) for word in words], environment)

    def set_size(self, lines, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        self.screen.resize(lines, columns)
        self.set_size(lines, columns)

    def press(self, keys):
        os.write(self.ours, keys)

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            self.rest = self.screen.feed(self.rest + os.read(self.ours, 1 << 16))

    def wait_for(self, test, seconds=20):
        """Until the test holds of the screen's text."""
        end = time.monotonic() + seconds
        while not test(self.screen.text()):
            assert time.monotonic() < end, self.screen.text()
            self.read(0.1)
        return self.screen.text()

    def has_ended(self, seconds=20):
        """The status; the terminal is read meanwhile."""
        end = time.monotonic() + seconds
        while self.status is None:
            assert time.monotonic() < end, "it does not end"
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
        self.read(0.1)
        return self.status

    def is_restored(self):
        return not self.screen.is_alternate and termios.tcgetattr(self.theirs) == self.before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.ours)
        os.close(self.theirs)
