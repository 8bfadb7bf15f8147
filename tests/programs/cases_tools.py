# What it owns: the cases of tools that run and end. These are compilers, version control, archives,
# the shell's filters, a database file, a debugger, a builder, and a browser that prints one page.
# Whatever they write must be the same byte for byte with and without the library.
# It must not know how a case is judged (harness.py).
# SPDX-License-Identifier: MIT
"""Cases: tools."""

import hashlib
import os
import re
import shutil
from harness import CaseSkipped, case


@case("preload", "light", ["cat"])
def preload(stage):
    """The library is in the address space; the harness then looks for it in each other case."""
    maps = stage.run(["cat", "/proc/self/maps"])
    if stage.library:
        return "mapped" if stage.library in maps else "not mapped"
    return "mapped"


def big_source(functions):
    """C++ that keeps a compiler busy: templates, containers, many functions."""
    parts = ["#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
             "template <int N> struct Deep { static constexpr long value = "
             "(Deep<N - 1>::value * 3 + N) % 10007; };\n"
             "template <> struct Deep<0> { static constexpr long value = 1; };\n"]
    for i in range(functions):
        parts.append(
            f"long f{i}(std::vector<long> v, std::map<std::string, long>& m) {{\n"
            f"  std::sort(v.begin(), v.end(), [](long a, long b) {{ return a * {i} < b; }});\n"
            f"  for (auto x : v) m[std::to_string(x + {i})] += Deep<{i % 400}>::value;\n"
            f"  return m.size() * {i};\n}}\n")
    return "".join(parts)


def compile_big(stage, compiler, functions):
    stage.write("big.cpp", big_source(functions))
    stage.run([compiler, "-std=c++17", "-O1", "-c", "big.cpp", "-o", "big.o"])
    return stage.read_bytes("big.o")


@case("compile.gcc", "light", ["g++"], timeout=120)
def compile_gcc(stage):
    return compile_big(stage, "g++", 40)


@case("compile.clang", "light", ["clang++"], timeout=120)
def compile_clang(stage):
    return compile_big(stage, "clang++", 40)


@case("compile.gcc-large", "all", ["g++"], timeout=300)
def compile_gcc_large(stage):
    return compile_big(stage, "g++", 150)


@case("compile.clang-large", "all", ["clang++"], timeout=300)
def compile_clang_large(stage):
    return compile_big(stage, "clang++", 150)


@case("git", "light", ["git"])
def git(stage):
    identity = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000",
                "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
                "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}

    def run(*arguments):
        return stage.run(["git", "-c", "gc.auto=0", *arguments], **identity)

    run("init", "-q", "-b", "main")
    for i in range(300):
        stage.write(f"d{i % 17}/file{i}.txt", "".join(f"line {j} of {i}\n" for j in range(i)))
    run("add", ".")
    run("commit", "-q", "-m", "first")
    for i in range(0, 300, 3):
        stage.write(f"d{i % 17}/file{i}.txt", "".join(f"row {j} of {i}\n" for j in range(i + 1)))
    run("commit", "-q", "-a", "-m", "second")
    run("gc", "-q", "--aggressive", "--prune=now")
    return (run("log", "--stat", "-p") + run("fsck", "--full", "--strict")
            + run("blame", "d3/file3.txt") + run("status", "--porcelain"))


SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  INSERT INTO t SELECT i, 'name ' || (i * 7919 % 10007), i * 31 % 1000 FROM n;
CREATE INDEX by_name ON t(name, amount);
SELECT count(*), sum(amount), sum(length(name)) FROM t;
SELECT name, count(*), group_concat(amount) FROM t GROUP BY name ORDER BY 2 DESC, 1 LIMIT 20;
SELECT sum(a.amount * b.amount) FROM t a JOIN t b ON a.id = b.id + 5 WHERE a.name < 'name 5';
DELETE FROM t WHERE id % 3 = 0;
VACUUM;
PRAGMA integrity_check;
"""


@case("sqlite3", "light", ["sqlite3"])
def sqlite3(stage):
    return stage.run(["sqlite3", "-batch", stage.path("t.db")], stdin=SQL)


@case("archives", "light", ["tar", "gzip", "xz", "sort", "sha256sum"])
def archives(stage):
    for i in range(200):
        stage.write(f"tree/{i % 9}/{i}.txt", "".join(f"{i * j % 1013} word\n" for j in range(900)))
    return stage.shell("""
        tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf tree.tar tree
        gzip -n -9 <tree.tar >tree.tar.gz
        xz -T2 --block-size=200000 -3 <tree.tar >tree.tar.xz
        sha256sum tree.tar.gz tree.tar.xz
        mkdir back && tar -C back -xzf tree.tar.gz && diff -r tree back/tree
        xz -dc tree.tar.xz | cmp - tree.tar
        seq 1 400000 | rev | sort -n --parallel=2 -S 8M | uniq -c | sha256sum
        seq 1 400000 | awk '{ s[$1 % 1000] = s[$1 % 1000] $1 } END { for (k in s) n += length(s[k]);
                              print n }'
        grep -cE '(1|2)+3.*word' tree/1/1.txt
        sed -E 's/([0-9]+) (word)/\\2 \\1/' tree/2/2.txt | sha256sum
    """)


@case("make", "light", ["make", "cat"])
def make(stage):
    rules = ["all: sum.txt\n"]
    names = [f"part{i}.txt" for i in range(150)]
    for i, name in enumerate(names):
        needed = names[i // 2] if i else ""
        rules.append(f"{name}: {needed}\n\t@(echo {i}; cat {needed or '/dev/null'}) >$@\n")
    rules.append(f"sum.txt: {' '.join(names)}\n\t@cat $^ >$@\n")
    stage.write("Makefile", "".join(rules))
    output = stage.run(["make", "-s", "-j2"], MAKEFLAGS="")
    return output + stage.read_bytes("sum.txt").decode()


CARGO = """
use std::collections::HashMap;
use std::thread;
fn work(seed: u64) -> u64 {
    let mut map: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..50_000u64 { map.entry(format!("k{}", i * seed % 977)).or_default().push(i); }
    let mut sums: Vec<u64> = map.values().map(|v| v.iter().sum()).collect();
    sums.sort();
    sums.iter().fold(seed, |a, b| a.wrapping_mul(31).wrapping_add(*b))
}
fn main() {
    let parts: Vec<_> = (1..9).map(|s| thread::spawn(move || work(s))).collect();
    for part in parts { println!("{}", part.join().unwrap()); }
}
"""


@case("cargo", "all", ["cargo", "rustc"], timeout=180)
def cargo(stage):
    stage.write("Cargo.toml", '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n')
    stage.write("src/main.rs", CARGO)
    stage.run(["cargo", "build", "--offline", "--release", "-q", "-j2"],
              CARGO_TARGET_DIR=stage.path("target"))
    return stage.run([stage.path("target/release/tiny")])


DEBUGGED = """
#include <stdio.h>
#include <stdlib.h>
struct node { int value; struct node* next; };
int total(struct node* node) { return node ? node->value + total(node->next) : 0; }
int main(void) {
  struct node* list = 0;
  for (int i = 0; i < 5; i++) {
    struct node* node = malloc(sizeof *node);
    node->value = i;
    node->next = list;
    list = node;
  }
  printf("%d\\n", total(list));
  return 3;
}
"""


@case("gdb", "light", ["gdb", "gcc"])
def gdb(stage):
    stage.write("main.c", DEBUGGED)
    stage.run(["gcc", "-g", "-O0", "main.c", "-o", "main"])
    commands = ["set confirm off", "set startup-with-shell off", "ptype struct node",
                "info line total", "break total if node == 0", "run", "backtrace",
                "up", "print node->value", "print *node", "delete", "continue"]
    flags = [word for command in commands for word in ("-ex", command)]
    output = stage.run(["gdb", "-batch", "-nx", *flags, "./main"], expect=None)
    if "ptrace" in output or "#0  total" not in output:
        if not stage.library:
            raise CaseSkipped("gdb cannot trace a process here")
    return re.sub(r"\(process \d+\)|0x[0-9a-f]+", "-", output)


@case("chromium", "all", timeout=180)
def chromium(stage):
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [name for name in names if shutil.which(name)]
    if not found:
        raise CaseSkipped("not installed: " + " or ".join(names))
    page = stage.write("page.html", "<!doctype html><title>t</title><body><script>"
                       "const rows = [];"
                       "for (let i = 0; i < 3000; i++) rows.push('<p>row ' + i * 7 + '</p>');"
                       "document.body.innerHTML = rows.join('');"
                       "document.title = JSON.stringify(rows).length;</script>")
    dom = stage.run([found[0], "--headless", "--no-sandbox", "--disable-gpu",
                     "--disable-background-networking", "--disable-dev-shm-usage",
                     "--no-first-run", "--user-data-dir=" + stage.path("profile"),
                     "--dump-dom", "file://" + page])
    digest = hashlib.sha256(dom.encode()).hexdigest()
    return f"{dom.count('<p>row ')} rows, {os.linesep in dom}, {digest}"
