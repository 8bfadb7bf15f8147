# Results that never ran, for the tests.
#
# Owns: samples and records in the runner's format, small enough to compute by hand, and one with
# all features that a page can show.
#
# SPDX-License-Identifier: MIT


def sample(workload: str, allocator: str, time: float = 1.0, rss_kib: float = 1024, *,
           round_number: int = 1, is_noisy: bool = False, outcome: str = "ok",
           reason: str = "", **result) -> dict:
    made = {"workload": workload, "allocator": allocator, "outcome": outcome,
            "round": round_number, "is_noisy": is_noisy, "foreign_cores": 0.5 if is_noisy else 0.0,
            "command": ["bench_made_up", "--scale", "1"],
            "measured": {"user_s": 0.5, "sys_s": 0.25, "minor_faults": 1234},
            "result": {"elapsed_s": time, **result}}
    if outcome == "ok":
        made |= {"time": time, "rss_kib": rss_kib}
    else:
        made |= {"result": None, "reason": reason}
    return made


def runs(workload: str, allocator: str, times: list[float], rss_kib: float = 1024,
         **result) -> list[dict]:
    return [sample(workload, allocator, time, rss_kib + number, round_number=number + 1, **result)
            for number, time in enumerate(times)]


def record(samples: list[dict], **fields) -> dict:
    """The content of the JSON; a summary only if `fields` has one."""
    names = list(dict.fromkeys(one["allocator"] for one in samples))
    return {"format": 1, "started": "2026-11-21T04:15:26+00:00",
            "finished": "2026-11-21T04:16:50+00:00",
            "machine": {"processor": "Made-up 1", "cores": 2, "kernel": "6.0",
                        "memory_kib": 1 << 23},
            "command": ["python3", "-m", "bench", "--quick"],
            "settings": {"repeat": 5, "threads": 2, "scale": 1.0, "foreign_cores_max": 0.15},
            "allocators": [{"name": name, "version": "1.0"} for name in names],
            "samples": samples, **fields}


ODD_NAME = "größe/漢字 <b>&\"'"


def everything() -> dict:
    """Each feature that a page can show, at least once."""
    samples = []
    for threads in (1, 2, 4):
        for name, factor in (("talus", 1.0), ("glibc", 1.6), ("jemalloc", 1.2)):
            samples += runs(f"B1/500@{threads}", name, [factor / threads, factor / threads * 1.1,
                                                        factor / threads * 0.95],
                            40960 * factor, peak_requested_bytes=32 << 20, unit="ops/s",
                            figure=1e6 * threads / factor, threads=threads)
    for name, factor in (("talus", 2.0), ("glibc", 1.0), ("jemalloc", 1.1), ("ünï", 40.0)):
        samples += runs("B4", name, [factor, factor * 1.02, factor * 0.97, factor], 2048)
        samples += runs(ODD_NAME, name, [factor], 4096)
    samples += [sample("B4", "jemalloc", 9.0, 2048, round_number=3, is_noisy=True)]
    samples += [sample("B5", name, 3.0, 1000, is_noisy=True) for name in ("talus", "glibc")]
    samples += [sample("B5", "jemalloc", outcome="crash", reason="SIGSEGV: <script>bad</script>",
                       round_number=number) for number in (1, 2)]
    samples += [sample("B5", "ünï", outcome="timeout", reason="ran past its time limit")]
    samples += [sample("Cf/huge", "talus", 0.0, 512), sample("Cf/huge", "glibc", 0.1, 512)]
    return record(
        samples, commit={"id": "0123456789abcdef0123", "is_changed": True},
        skipped=[{"workload": "P/redis", "reason": "redis-server is not installed"}],
        instructions=[{"allocator": "talus", "pattern": "pair", "size": 16, "outcome": "ok",
                       "instructions": 42.0},
                      {"allocator": "glibc", "pattern": "pair", "size": 16,
                       "outcome": "timeout", "instructions": None}],
        after_free=[{"workload": "B4", "allocator": "talus", "rss_kib": 2048,
                     "rss_end_kib": 1500, "rss_after_1s_kib": 900, "rss_after_10s_kib": None}])
