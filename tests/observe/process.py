# SPDX-License-Identifier: MIT
"""Owns: processes to look into, the command that looks, and this side's own reader of the note.

The reader here shares no code with the command. So both prove the format of the observed state.
"""

import ctypes
import json
import os
import struct
import subprocess
import sys

COMMAND = os.environ["TALUS_TEST_COMMAND"]
REAL = os.environ["TALUS_TEST_REAL"]
PROGRAMS = os.environ["TALUS_TEST_PROGRAMS"]


def program(kind):
    return os.path.join(PROGRAMS, f"observe_{kind}")


def talus(*words, **more):
    return subprocess.run([COMMAND, *[str(word) for word in words]], capture_output=True,
                          text=True, check=False, timeout=60, **more)


def look(pid):
    """The numbers of a process with one Talus."""
    done = talus("stats", "--json", pid)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wrong_sums(numbers):
    """Equations of docs/statistics.md that do not hold."""
    heap, space, resident = numbers["heap"], numbers["space"], numbers["resident"]
    parts = ("live_small", "live_large", "listed", "remote", "free", "slab_end", "kept",
             "large_end")
    wrong = []
    if heap["total_bytes"] != sum(heap[f"{part}_bytes"] for part in parts):
        wrong.append("heap.total_bytes")
    if heap["live_bytes"] != heap["live_small_bytes"] + heap["live_large_bytes"]:
        wrong.append("heap.live_bytes")
    if resident["total_bytes"] is not None and resident["total_bytes"] != sum(
            value for name, value in resident.items()
            if name not in ("total_bytes", "not_ours_bytes")):
        wrong.append("resident.total_bytes")
    if not numbers["consistent"]:
        return wrong
    if heap["total_bytes"] != space["given_bytes"]:
        wrong.append("heap.total_bytes and space.given_bytes")
    if space["reserved_bytes"] != sum(space[f"{part}_bytes"]
                                      for part in ("given", "retained", "purging", "clean")):
        wrong.append("space.reserved_bytes")
    if heap["live_small_bytes"] != sum(int(size) * row["live_blocks"]
                                       for size, row in numbers["class"].items()):
        wrong.append("classes")
    if heap["kept_bytes"] < sum(row["kept_bytes"] for row in numbers["thread"].values()):
        wrong.append("threads")
    return wrong


def rss_of(pid):
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as areas:
        return 1024 * sum(int(line.split()[1]) for line in areas if line.startswith("Rss:"))


class Preloaded:
    """A program on the preloaded library. It said that it is ready, and answers letters."""

    def __init__(self, path, **environment):
        self.child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True,
                                      env={**os.environ, "LD_PRELOAD": REAL, **environment})
        assert self.child.stdout.readline() == "ready\n"
        self.pid = self.child.pid

    def ask(self, letter):
        self.child.stdin.write(letter)
        self.child.stdin.flush()
        return self.child.stdout.readline()

    def close(self):
        self.child.communicate(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Process:
    """A program that has done its work and obeys letters. No helper moves anything meanwhile."""

    def __init__(self, kind, *, path=None, before=None, **options):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith(("TALUS_", "LD_PRELOAD"))}
        variables.update({"TALUS_HELPER": "0"}, **options)
        self.child = subprocess.Popen([path or program(kind)], env=variables, preexec_fn=before,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.child.pid
        self.answer()

    def answer(self):
        line = b""
        while not line.endswith(b"\n"):
            more = self.child.stdout.read(1)
            assert more, "the process ended"
            line += more
        return line.decode()

    def ask(self, letter):
        self.child.stdin.write(letter.encode())
        return self.answer()

    def own_numbers(self):
        """What the process says of itself; twice, because the first call touches pages."""
        self.ask("s")
        return json.loads(self.ask("s"))

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.returncode = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        if self.child.wait(30) != 0 and sys.exc_info()[0] is None:
            raise AssertionError(f"the process ended with {self.child.returncode}")


class _Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


LIBC = ctypes.CDLL(None, use_errno=True)


def _transfer(call, pid, address, buffer):
    local = _Piece(ctypes.cast(buffer, ctypes.c_void_p), len(buffer))
    remote = _Piece(address, len(buffer))
    done = call(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    assert done == len(buffer), os.strerror(ctypes.get_errno())


def read(pid, address, length):
    buffer = ctypes.create_string_buffer(length)
    _transfer(LIBC.process_vm_readv, pid, address, buffer)
    return buffer.raw


def write(pid, address, data):
    buffer = ctypes.create_string_buffer(data, len(data))
    _transfer(LIBC.process_vm_writev, pid, address, buffer)


def _notes(data):
    at = 0
    while at + 12 <= len(data):
        name_length, length, kind = struct.unpack_from("<III", data, at)
        body = at + 12 + (name_length + 3) // 4 * 4
        yield data[at + 12:at + 12 + name_length], kind, body, data[body:body + length]
        at = body + (length + 3) // 4 * 4


def _state_of(pid, start):
    """(state, table) of the file mapped here; None if it has no note."""
    head = read(pid, start, 64)
    if head[:5] != b"\x7fELF\x02":
        return None
    offset, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
    table = read(pid, start + offset, 56 * count)
    rows = [struct.unpack_from("<IIQQQQQQ", table, 56 * i) for i in range(count)]
    base = [start - row[3] for row in rows if row[0] == 1 and row[2] == 0][0]
    for row in rows:
        if row[0] != 4:
            continue
        for name, kind, body, data in _notes(read(pid, base + row[3], row[5])):
            if name == b"Talus\0" and kind == 2:
                place = base + row[3] + body
                state, fields = struct.unpack("<qq", data)
                return place + state, place + 8 + fields
    return None


def fields_of(pid, carrier):
    """The state's address, and {name: (value, kind)} of the table in the file of this name."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split()
            if len(words) < 6 or words[2] != "00000000" or os.path.basename(words[5]) != carrier:
                continue
            state, table = _state_of(pid, int(words[0].split("-")[0], 16))
            _, size, count, _ = struct.unpack("<IIII", read(pid, table, 16))
            rows = read(pid, table + 16, size * count)
            fields = {}
            for i in range(count):
                name, value = rows[i * size:i * size + 36], *struct.unpack_from(
                    "<I", rows, i * size + 36)
                fields[name.split(b"\0")[0].decode()] = (value, rows[i * size + 47])
            return state, fields
    raise AssertionError(f"no {carrier} in the process")


def address_of(pid, carrier, name):
    """Where a field of an object lies to which the state leads: "registry.caches"."""
    state, fields = fields_of(pid, carrier)
    root = struct.unpack("<Q", read(pid, state + fields[name.split(".")[0]][0], 8))[0]
    return root + fields[name][0]
