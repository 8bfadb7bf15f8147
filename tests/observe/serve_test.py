# SPDX-License-Identifier: MIT
"""Owns: `talus serve`: its address, what it answers, and that a real Prometheus takes it."""

import gzip
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import pprof_form
from process import COMMAND, Process, look, talus
from profile_test import MEGABYTE, Profiled

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MONITORING = os.path.join(SOURCE, "docs", "monitoring")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


class Server:
    def __enter__(self):
        self.child = subprocess.Popen([COMMAND, "serve", "--port", "0"], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.child.stdout.readline().strip()
        if not self.url:
            problem = self.child.communicate()[1]
            raise unittest.SkipTest(problem) if "without libevent" in problem else AssertionError(
                problem)
        self.port = int(self.url.split(":")[2].split("/")[0])
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.communicate()


def pprof_command():
    """A compiled pprof. Go since 1.25 compiles its own at the first use, which takes long."""
    own = shutil.which("pprof")
    if own:
        return [own]
    if not shutil.which("go"):
        raise unittest.SkipTest("needs pprof or go")
    try:
        done = subprocess.run(["go", "tool", "-n", "pprof"], capture_output=True, text=True,
                              check=False, timeout=60)
    except subprocess.TimeoutExpired as late:
        raise unittest.SkipTest("go is compiling its pprof") from late
    if done.returncode != 0:
        raise unittest.SkipTest("this go has no pprof")
    return [done.stdout.strip()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def samples(text, name, pid):
    wanted = f'{name}{{pid="{pid}",'
    return [line for line in text.split("\n") if line.startswith(wanted)]


class Serve(unittest.TestCase):
    def test_all_processes_of_the_user(self):
        with Server() as server, Process("shared") as one, Process("static") as two:
            text, kind = get(server.url)
            for process in (one, two):
                line, = samples(text, "talus_heap_live_bytes", process.pid)
                self.assertIn(f'comm="{name_of(process.pid)}"', line)
                self.assertEqual(int(line.split()[-1]), look(process.pid)["heap"]["live_bytes"])
            self.assertTrue(text.endswith("# EOF\n"))
            self.assertEqual(text.count("# EOF"), 1)
            self.assertEqual(text.count("# TYPE talus_heap_live_bytes gauge"), 1)
            self.assertIn("application/openmetrics-text", kind)

    def test_loopback_and_known_paths_only(self):
        with Server() as server:
            with open("/proc/net/tcp", encoding="ascii") as file:
                listening = [line.split()[1] for line in file if f":{server.port:04X} " in line]
            self.assertIn(f"0100007F:{server.port:04X}", listening)
            self.assertNotIn(f"00000000:{server.port:04X}", listening)
            for method, path, host, code in (("GET", "/", "localhost", 200),
                                             ("HEAD", "/metrics", "127.0.0.1", 200),
                                             ("GET", "/other", "localhost", 404),
                                             ("POST", "/metrics", "localhost", 501),
                                             ("GET", "/metrics", "attacker.example", 403)):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
                connection.request(method, path, headers={"Host": host})
                self.assertEqual(connection.getresponse().status, code, (method, path, host))
                connection.close()

    def heap(self, server, words):
        """The code and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", f"/debug/pprof/{words}")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_heap_profiles(self):
        with Server() as server, Profiled(TALUS_PROFILE="64KiB") as one, \
                Profiled(TALUS_PROFILE="64KiB") as two, Process("shared") as plain:
            for pid in (one.pid, two.pid):
                code, body = self.heap(server, f"heap?pid={pid}")
                self.assertEqual(code, 200)
                sums = pprof_form.by_function(pprof_form.decoded(gzip.decompress(body)))
                self.assertGreater(sums["leak_large"][3], 90 * MEGABYTE)
            code, body = self.heap(server, "heap")
            self.assertEqual(code, 400)
            self.assertLessEqual({f"?pid={one.pid}", f"?pid={two.pid}"}, set(body.decode().split()))
            for words, code, text in ((f"heap?pid={plain.pid}", 404, "has no profile"),
                                      (f"heap?pid={os.getpid()}", 404, "no Talus"),
                                      ("heap?pid=1x", 400, "no process id"),
                                      ("heap?pid=0", 404, "no such process"),
                                      (f"heap?pid={one.pid}&seconds=3", 400, "span")):
                found, body = self.heap(server, words)
                self.assertEqual(found, code, words)
                self.assertIn(text, body.decode())
        with Server() as server, Profiled(TALUS_PROFILE="64KiB") as one:
            code, body = self.heap(server, "allocs")
            if code == 200:
                return
            # Tests beside this one have profiled processes, too.
            self.assertEqual(code, 400)
            listed = {word for word in body.decode().split() if word.startswith("?pid=")}
            self.assertGreater(listed, {f"?pid={one.pid}"})

    def test_the_pprof_of_go(self):
        """What it shows first is told by the profile."""
        pprof = pprof_command()
        with tempfile.TemporaryDirectory() as folder, Server() as server, \
                Profiled(TALUS_PROFILE="64KiB") as process:
            for path, kind, name in (("heap", "inuse_space", "leak_large"),
                                     ("allocs", "alloc_space", "churn")):
                done = subprocess.run(
                    [*pprof, "-top", "-nodecount=3", "-symbolize=none",
                     f"http://127.0.0.1:{server.port}/debug/pprof/{path}?pid={process.pid}"],
                    capture_output=True, text=True, check=False, timeout=120,
                    env={**os.environ, "PPROF_TMPDIR": folder})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"Type: {kind}", done.stdout)
                self.assertIn(name, done.stdout)

    def test_a_port_that_is_taken(self):
        with Server() as server:
            done = talus("serve", "--port", server.port)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot be had", done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool (package prometheus)")
    def test_promtool_reads_all_of_it(self):
        with Server() as server, Process("shared"):
            text, _ = get(server.url)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                              text=True, check=False)
        # 3: it wants other names than those in milliseconds. 1: it cannot read the text.
        self.assertIn(done.returncode, (0, 3), done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool (package prometheus)")
    def test_the_alert_rules_are_rules(self):
        rules = os.path.join(MONITORING, "alerts.yml")
        done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    @unittest.skipUnless(shutil.which("prometheus"), "needs prometheus")
    def test_a_real_prometheus(self):
        with tempfile.TemporaryDirectory() as folder, Server() as server, \
                Process("shared") as process:
            settings = os.path.join(folder, "prometheus.yml")
            with open(settings, "w", encoding="ascii") as file:
                file.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                           f"rule_files: ['{MONITORING}/alerts.yml']\n"
                           "scrape_configs: [{job_name: talus, static_configs: "
                           f"[{{targets: ['127.0.0.1:{server.port}']}}]}}]\n")
            port = free_port()
            with subprocess.Popen(["prometheus", f"--config.file={settings}",
                                   f"--storage.tsdb.path={folder}/data", "--log.level=warn",
                                   f"--web.listen-address=127.0.0.1:{port}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
                try:
                    self.assert_asked(port, process)
                    self.assert_dashboard_finds_values(port)
                finally:
                    child.terminate()
                    child.communicate()

    def ask(self, port, query):
        words = urllib.parse.urlencode({"query": query})
        text, _ = get(f"http://127.0.0.1:{port}/api/v1/query?{words}")
        return json.loads(text)["data"]["result"]

    def assert_asked(self, port, process):
        live = look(process.pid)["heap"]["live_bytes"]
        found = []
        for _ in range(120):
            time.sleep(0.25)
            try:
                found = self.ask(port, f'talus_heap_live_bytes{{pid="{process.pid}"}}')
            except OSError:
                continue  # it is starting
            if found:
                break
        self.assertEqual([int(one["value"][1]) for one in found], [live])
        self.assertEqual(self.ask(port, 'up{job="talus"}')[0]["value"][1], "1")

    def assert_dashboard_finds_values(self, port):
        with open(os.path.join(MONITORING, "grafana.json"), encoding="utf-8") as file:
            board = json.load(file)
        for panel in board["panels"]:
            for target in panel["targets"]:
                query = target["expr"].replace("$comm", ".*").replace("$pid", ".*")
                query = query.replace("$__rate_interval", "1m")
                name = query.split("(")[-1].split("{")[0]
                self.assertTrue(self.ask(port, f"{name}"), f"{panel['title']}: {name}")
                self.ask(port, query)


if __name__ == "__main__":
    unittest.main()
