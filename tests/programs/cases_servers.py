# What it owns: the cases of servers under load: redis under redis-benchmark and PostgreSQL under
# pgbench. Throughput differs from run to run, so what is compared is the data they end up with
# and that they end cleanly. Both listen on a socket in the folder of the case and nowhere else.
# It must not know how a case is judged (harness.py).
# SPDX-License-Identifier: MIT
"""Cases: servers."""

import glob
import os
import pwd
import shutil
import signal
from harness import CaseFailed, CaseSkipped, case


def redis_data():
    """Commands that build the same data in each run: strings, lists, hashes, sorted sets."""
    lines = []
    for i in range(4000):
        lines.append(f"SET key:{i} {'v' * (i % 300)}{i}")
        lines.append(f"RPUSH list:{i % 10} item{i}")
        lines.append(f"HSET hash:{i % 20} field{i} {i * 7}")
        lines.append(f"ZADD rank {i * 31 % 997} member{i}")
        if i % 5 == 0:
            lines.append(f"APPEND key:{i % 100} {'w' * (i + 1)}")
        if i % 7 == 0:
            lines.append(f"DEL key:{i}")
    return "\n".join(lines) + "\n"


def redis_load(stage, requests):
    socket = stage.path("s")
    server = stage.start(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
         "--dir", stage.folder, "--io-threads", "2", "--activedefrag", "no"], log="redis.log")
    client = ["redis-cli", "-s", socket]

    def is_up():
        return os.path.exists(socket) and "PONG" in stage.run([*client, "ping"], expect=None)

    stage.wait_for("redis-server", is_up, server)
    stage.run([*client, "--pipe"], stdin=redis_data())
    stage.run(["redis-benchmark", "-s", socket, "-n", str(requests), "-c", "20", "-P", "4",
               "-r", "10000", "-d", "200", "-q",
               "-t", "set,get,lpush,lpop,sadd,hset,zadd,lrange_100,mset"])
    stage.run([*client, "--raw", "save"])
    kept = stage.run(client, stdin="LLEN list:3\nHLEN hash:4\nGET key:95\nGET key:3999\n"
                     "LRANGE list:1 0 -1\nHGETALL hash:9\nZRANGE rank 0 -1 WITHSCORES\n"
                     "BGSAVE\nPING\n")
    stage.run([*client, "flushall"])
    stage.run([*client, "--pipe"], stdin=redis_data())
    total = stage.run([*client, "dbsize"])
    stage.run([*client, "shutdown", "nosave"], expect=None)
    stage.finish(server, "redis-server")
    check = stage.run(["redis-check-rdb", "dump.rdb"])
    if "RDB looks OK" not in check:
        raise CaseFailed("redis-check-rdb refuses the saved file")
    return kept + total


@case("redis", "light", ["redis-server", "redis-cli", "redis-benchmark"])
def redis(stage):
    return redis_load(stage, 5000)


@case("redis.long", "all", ["redis-server", "redis-cli", "redis-benchmark"], timeout=180)
def redis_long(stage):
    return redis_load(stage, 100000)


def postgres_programs():
    """The folder of initdb and postgres, which Debian keeps out of the path."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    found = [folder for folder in folders if os.path.exists(os.path.join(folder, "initdb"))]
    on_path = shutil.which("postgres")
    if not found and not on_path:
        raise CaseSkipped("not installed: postgres")
    return found[0] if found else os.path.dirname(os.path.realpath(on_path))


def postgres_user():
    """The server refuses to run as root, so root runs it as the user of the package."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise CaseSkipped("root needs a user named postgres") from None


PGBENCH_SUMS = """
SELECT count(*) FROM pgbench_accounts;
SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(tbalance) FROM pgbench_tellers);
SELECT (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history);
SELECT (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches);
SELECT (SELECT count(*) FROM pgbench_history) > 100;
CREATE TABLE big AS SELECT i, md5(i::text) AS h FROM generate_series(1, 200000) i;
SELECT md5(string_agg(h, '' ORDER BY i)) FROM big;
SELECT substr(h, 1, 2) AS p, count(*), max(i) FROM big GROUP BY p ORDER BY p LIMIT 20;
SELECT json_agg(big) ->> 77 FROM big WHERE i < 5000;
"""


@case("postgres", "all", timeout=240)
def postgres(stage):
    programs, user = postgres_programs(), postgres_user()
    data = stage.path("data")

    def run(name, *arguments, **more):
        return stage.run([os.path.join(programs, name), *arguments], user=user,
                         PGHOST=stage.folder, PGUSER="postgres", PGDATABASE="postgres", **more)

    run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync")
    server = stage.start([os.path.join(programs, "postgres"), "-D", data, "-k", stage.folder, "-F",
                          "-c", "listen_addresses="], user=user, log="postgres.log")
    stage.wait_for("postgres", lambda: "accepting" in run("pg_isready", expect=None), server)
    run("pgbench", "-i", "-q", "-s", "2")
    summary = run("pgbench", "-T", "10", "-c", "6", "-j", "2")
    if "number of failed transactions: 0 " not in summary:
        raise CaseFailed("pgbench counted failed transactions\n" + summary)
    result = run("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", stdin=PGBENCH_SUMS)
    server.send_signal(signal.SIGINT)
    stage.finish(server, "postgres")
    log = stage.read_bytes("postgres.log").decode("utf-8", "replace")
    if "was terminated by signal" in log or "PANIC" in log:
        raise CaseFailed("a server process died:\n" + log[-2000:])
    return result
