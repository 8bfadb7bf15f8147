# redis-server under redis-benchmark: benchmark B21.
#
# Owns: the server's work from outside, the check of its data, and its end. Only the server is
# measured; the client runs without preload. The server listens on a socket file in the run's own
# folder, saves nothing and gets a shutdown command at the end.
# Invariant: drive() returns a result or raises ClientFailed or WrongOutput. It ends by itself
# before the deadline, and leaves the server to its caller.
#
# SPDX-License-Identifier: MIT

import re
import socket
import subprocess
import time
from pathlib import Path

from .programs import Program, WrongOutput, installed

SOCKET = "server.socket"
START_TIMEOUT_S = 20
ANSWER_TIMEOUT_S = 30
REQUESTS = 1_000_000       # of the list workload at scale 1
KEY_REQUESTS = 800_000
KEYS = 200_000
PIPELINE = 16
LIST_VALUES = ("1", "2", "3", "4", "5", "lrange", "a", "1", "5")  # as published, by an oversight
KEY_VALUE = "".join(f"value-{at:02d}/" for at in range(30))
RELATIVE_TIME_FACTOR = 2e6  # relative time is this divided by requests per second


class ClientFailed(Exception):
    """The server or its client stopped answering."""


class Connection:
    """The part of the protocol that the checks need: bulk strings, numbers, errors, arrays."""

    def __init__(self, path: Path, timeout_s: float):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.stream = self.socket.makefile("rb")

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def ask(self, *words: str):
        parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
        self.socket.sendall("".join(parts).encode())
        return self.answer()

    def answer(self):
        line = self.stream.readline().decode().rstrip("\r\n")
        if not line:
            raise ClientFailed("the server closed its connection")
        kind, text = line[0], line[1:]
        if kind == "-":
            raise WrongOutput(f"the server answers {text}")
        if kind == "$":
            length = int(text)
            return None if length < 0 else self.stream.read(length + 2)[:-2].decode()
        if kind == "*":
            return [self.answer() for _ in range(int(text))]
        return int(text) if kind == ":" else text


def connect(path: Path, is_running, deadline: float) -> Connection:
    last = "it never listened"
    deadline = min(deadline, time.monotonic() + START_TIMEOUT_S)
    while time.monotonic() < deadline:
        if not is_running():
            raise ClientFailed("the server ended before it answered")
        try:
            connection = Connection(path, ANSWER_TIMEOUT_S)
            if connection.ask("PING") == "PONG":
                return connection
        except OSError as error:
            last = str(error)
        time.sleep(0.01)
    raise ClientFailed(f"no answer from the server: {last}")


def check_lists(connection: Connection, requests: int) -> None:
    length = connection.ask("LLEN", "a")
    if length != requests * len(LIST_VALUES):
        raise WrongOutput(f"the list has {length} values, not {requests * len(LIST_VALUES)}")
    expected = list(reversed(LIST_VALUES))
    for start in (0, length // 2 // 9 * 9, length - 9):
        if connection.ask("LRANGE", "a", str(start), str(start + 8)) != expected:
            raise WrongOutput(f"the list has other values at {start}")


def check_keys(connection: Connection, requests: int) -> None:
    count = connection.ask("DBSIZE")
    if not 0 < count <= min(KEYS, requests):
        raise WrongOutput(f"there are {count} keys")
    for _ in range(min(count, 2000)):
        key = connection.ask("RANDOMKEY")
        if connection.ask("GET", key) != KEY_VALUE:
            raise WrongOutput(f"{key} holds another value")


find_client = installed("redis-benchmark", may_be_script=True)


def drive(kind: str, folder: Path, scale: float, is_running, deadline: float) -> dict:
    """Loads a server right after its start. is_running tells whether the server still runs."""
    requests = max(PIPELINE, round((REQUESTS if kind == "lists" else KEY_REQUESTS) * scale))
    words = (("lpush", "a", *LIST_VALUES) if kind == "lists" else
             ("set", "key:__rand_int__", KEY_VALUE))
    spread = 1_000_000 if kind == "lists" else KEYS
    connection = None
    try:
        connection = connect(folder / SOCKET, is_running, deadline)
        client = subprocess.run(
            [find_client(), "-s", str(folder / SOCKET), "-r", str(spread),
             "-n", str(requests), "-q", "-P", str(PIPELINE), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, timeout=max(0.1, deadline - time.monotonic()))
        figures = re.findall(r"([\d.]+) requests per second", client.stdout)
        if client.returncode != 0 or not figures or float(figures[-1]) <= 0:
            raise ClientFailed(f"redis-benchmark failed: {client.stderr.strip()[-200:]}")
        (check_lists if kind == "lists" else check_keys)(connection, requests)
        per_second = float(figures[-1])
        connection.socket.sendall(b"SHUTDOWN NOSAVE\r\n")
        return {"figure": per_second, "unit": "requests/s", "higher_is_better": True,
                "ops": requests, "relative_time": RELATIVE_TIME_FACTOR / per_second}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ClientFailed(f"the server stopped answering: {error}") from error
    finally:
        if connection is not None:
            connection.close()


def find_server() -> str:
    find_client()
    return installed("redis-server")()


def prepare(path: str, folder: Path, scale: float) -> list[str]:
    return [path, "--port", "0", "--unixsocket", str(folder / SOCKET), "--save", "",
            "--appendonly", "no", "--dir", str(folder), "--loglevel", "warning"]


def list_client(folder: Path, scale: float, is_running, deadline: float) -> dict:
    return drive("lists", folder, scale, is_running, deadline)


def key_client(folder: Path, scale: float, is_running, deadline: float) -> dict:
    return drive("keys", folder, scale, is_running, deadline)


ROWS = (
    Program("B21/lists", find_server, prepare, client=list_client),
    Program("B21/keys", find_server, prepare, client=key_client),
)
