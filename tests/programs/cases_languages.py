# What it owns: the cases of language runtimes: Python and parts of its own test suite, Node,
# Java, Perl, Lua. They bring their own heaps, threads and garbage collectors, and so ask for
# blocks, aligned blocks and thread exits in ways that no test of ours thought of.
# It must not know how a case is judged (harness.py).
# SPDX-License-Identifier: MIT
"""Cases: language runtimes."""

import mmap
import os
import re
import shutil
from harness import CaseFailed, CaseSkipped, case


def interpreter(stage):
    """The python3 behind a shim: a shell wrapper would hide what the run is about."""
    return stage.run(["python3", "-c", "import sys; print(sys.executable)"]).strip()


def suite_result(output):
    """What a run of unittest must repeat: how many tests ran, the verdict, which tests failed.

    A test that fails without the library as well is no finding: a package may have patched the
    interpreter. So the names of the failed ones are compared instead of asking for success.
    """
    counts = re.findall(r"^Ran (\d+) tests? in .*\n\n((?:OK|FAILED).*)$", output, re.MULTILINE)
    if not any(int(count) for count, _ in counts):
        raise CaseFailed("the suite did not come to its end\n" + output[-2000:])
    failed = sorted(re.findall(r"^(?:FAIL|ERROR): .*$", output, re.MULTILINE))
    return "\n".join([" ".join(pair) for pair in counts] + failed)


def has_module(stage, python, module):
    try:
        stage.run([python, "-c", "from importlib.util import find_spec; import test.support;"
                   f"assert find_spec('{module}')"])
    except CaseFailed:
        raise CaseSkipped(f"python3 is installed without {module}") from None


def python_suite(stage, module):
    """Runs one module of CPython's tests by its own runner."""
    python = interpreter(stage)
    has_module(stage, python, "test." + module)
    return suite_result(stage.run([python, "-m", "test", "-v", module], PYTHONMALLOC="malloc",
                                  PYTHONDONTWRITEBYTECODE="1", expect=None))


@case("python.plain", "light", ["python3"])
def python_plain(stage):
    return stage.run(["python3", "-c", PLAIN_PROGRAM])


def has_guards():
    """Whether the kernel has pages without access that are no mappings (Linux 6.13)."""
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(102)
    except OSError:
        return False
    return True


@case("python.malloc", "light", ["python3"])
def python_malloc(stage):
    """Each object is a block of malloc, tens of thousands live, and nothing is said of that."""
    if os.environ.get("TALUS_MODE", "none") != "none" and not has_guards():
        raise CaseSkipped("without guards the mode has fewer mappings than there are blocks")
    stage.write("data.json", '{"b": [1, 2.5, "x"], "a": {"c": null}}')
    return stage.run([interpreter(stage), "-m", "json.tool", "--sort-keys", "data.json"],
                     PYTHONMALLOC="malloc", both_streams=True)


@case("python.json", "light", ["python3"], timeout=120)
def python_json(stage):
    return python_suite(stage, "test_json")


@case("python.re", "light", ["python3"], timeout=120)
def python_re(stage):
    return python_suite(stage, "test_re")


@case("python.threading", "all", ["python3"], timeout=400)
def python_threading(stage):
    return python_suite(stage, "test_threading")


PLAIN_PROGRAM = """
import hashlib, json, subprocess, threading
lists = [{"key": i, "text": "x" * i} for i in range(1000)]
def work(sums, part):
    sums[part] = hashlib.sha256(json.dumps(lists[part::4]).encode()).hexdigest()
sums = {}
threads = [threading.Thread(target=work, args=(sums, part)) for part in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = subprocess.run(["python3", "-c", "print(len(str(7 ** 20000)))"], capture_output=True)
print(sorted(sums.items()), child.stdout)
"""


FORK_SUITE = """
from test import _test_multiprocessing
_test_multiprocessing.install_tests_in_module_dict(globals(), 'fork')
"""


@case("python.multiprocessing", "all", ["python3"], timeout=600)
def python_multiprocessing(stage):
    """The same two lines as test_multiprocessing_fork, which some packages leave out."""
    python = interpreter(stage)
    has_module(stage, python, "test._test_multiprocessing")
    stage.write("fork_suite.py", FORK_SUITE)
    return suite_result(stage.run(
        [python, "-m", "unittest", "-v", "fork_suite"], PYTHONMALLOC="malloc",
        PYTHONDONTWRITEBYTECODE="1", both_streams=True, expect=None))


NODE = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
function work(seed) {
  let rows = [];
  for (let i = 0; i < 20000; i++)
    rows.push({ id: i * seed, name: 'row ' + i, tags: [i, 'x' + i] });
  const text = JSON.stringify(rows);
  const back = JSON.parse(text);
  let buffer = Buffer.alloc(0);
  for (let i = 0; i < 200; i++)
    buffer = Buffer.concat([buffer, Buffer.from(text.slice(i, i + 999))]);
  const packed = zlib.gzipSync(text);
  const same = zlib.gunzipSync(packed).toString() === text;
  return crypto.createHash('sha256').update(text).update(buffer).digest('hex') + back.length + same;
}
if (isMainThread) {
  const results = [work(1)];
  let left = 4;
  for (let i = 2; i < 6; i++) {
    const worker = new Worker(__filename, { workerData: i });
    worker.on('message', text => { results[i] = text; });
    worker.on('exit', code => {
      if (code) throw code;
      if (!--left) console.log(results.join('\\n'));
    });
  }
} else {
  parentPort.postMessage(work(workerData));
}
"""


@case("node", "light", ["node"])
def node(stage):
    return stage.run(["node", stage.write("main.js", NODE)])


JAVA = """
import java.util.*;
import java.util.concurrent.*;
import java.nio.ByteBuffer;
import java.util.zip.*;

public class Main {
  static long work(int seed) throws Exception {
    Map<String, Integer> map = new TreeMap<>();
    for (int i = 0; i < 20000; i++) map.merge("key" + (i * 31L * seed) % 977, i, Integer::sum);
    long sum = 0;
    for (int round = 0; round < 50; round++) {
      ByteBuffer direct = ByteBuffer.allocateDirect(64 * 1024);  // asks malloc
      for (int i = 0; i < 1000; i++) direct.putInt(i * 4, i * seed);
      Deflater deflater = new Deflater();
      byte[] input = map.toString().getBytes("UTF-8"), packed = new byte[input.length];
      deflater.setInput(input);
      deflater.finish();
      sum += deflater.deflate(packed) + direct.getInt(400);
      deflater.end();
    }
    return sum * 31 + map.hashCode();
  }
  public static void main(String[] args) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> parts = new ArrayList<>();
    for (int i = 1; i <= 8; i++) { final int seed = i; parts.add(pool.submit(() -> work(seed))); }
    for (Future<Long> part : parts) System.out.println(part.get());
    pool.shutdown();
  }
}
"""


@case("java", "light", ["java", "javac"], timeout=120)
def java(stage):
    stage.write("Main.java", JAVA)
    stage.run(["javac", "-J-Xmx512m", "Main.java"])
    output = stage.run(["java", "-Xmx256m", "-cp", stage.folder, "Main"])
    return output + stage.read_bytes("Main.class").hex()


PERL = """
use strict; use warnings;
my %count; my @words = map { join '', map { chr(97 + ($_ * 7) % 26) } 1..($_ % 9 + 1) } 1..5000;
for my $round (1..40) { $count{$_ . ($round % 7)} += length($_) * $round for @words; }
my $text = '';
for my $key (sort keys %count) { $text .= "$key=$count{$key}\\n"; }
my @matches = $text =~ /([a-m]+\\d)=(\\d+)/g;
my $long = 'x' x 1000; $long .= $_ for 1..50000; substr($long, 500, 9000) = '';
(my $other = $long) =~ s/(\\d)(\\d)/$2$1/g;
my $pid = fork(); if (!$pid) { my @a = map { $_ x 50 } 1..2000; exit(scalar(@a) == 2000 ? 7 : 1); }
waitpid($pid, 0);
print scalar(@matches), ' ', length($long), ' ', unpack('%32C*', $other), ' ', $? >> 8, "\\n";
print unpack('%32C*', $text), "\\n";
"""


@case("perl", "light", ["perl"])
def perl(stage):
    return stage.run(["perl", stage.write("main.pl", PERL)], PERL_HASH_SEED="0")


LUA = """
local t, parts = {}, {}
for i = 1, 200000 do t[i] = { i, tostring(i * 7) } end
for i = 1, #t, 3 do t[i] = nil end
collectgarbage()
local sum = 0
for k, v in pairs(t) do sum = sum + #v[2] + v[1] end
for i = 1, 20000 do parts[#parts + 1] = ('x'):rep(i % 50) .. i end
print(sum, #table.concat(parts, ','))
"""


@case("lua", "light")
def lua(stage):
    names = ("lua", "lua5.4", "lua5.3", "luajit")
    found = [name for name in names if shutil.which(name)]
    if not found:
        raise CaseSkipped("not installed: " + " or ".join(names))
    return stage.run([found[0], stage.write("main.lua", LUA)])
