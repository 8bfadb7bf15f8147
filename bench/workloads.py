# The rows of the benchmark set.
#
# Owns: which program runs with which arguments under which name. A new benchmark is one new
# program in workloads/ and one row here; nothing else in the runner knows a workload.
# Invariant: row names are unique and start with the benchmark's number, which --only matches.
# The arguments keep a run at a few seconds and below about 1 GB of resident memory; README.md
# says how they relate to the figures other projects publish.
#
# SPDX-License-Identifier: MIT

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    name: str                        # "B1/500": number, then the variant if there are several
    program: str                     # file name in <build folder>/bench
    arguments: tuple[str, ...] = ()
    threads: int | None = None       # fixed by the row, or None: the runner's --threads

    def command(self, threads: int, scale: float) -> list[str]:
        count = self.threads if self.threads is not None else threads
        return [self.program, "--scale", f"{scale:g}", "--threads", str(count), *self.arguments]


WORKLOADS = (
    Workload("B1/500", "bench_b01_same_thread", ("--size", "500")),
    Workload("B1/5000", "bench_b01_same_thread", ("--size", "5000")),
    Workload("B2/500", "bench_b02_separate_thread", ("--size", "500")),
    Workload("B2/5000", "bench_b02_separate_thread", ("--size", "5000", "--passes", "20")),
    Workload("B3", "bench_b03_larson"),
    Workload("B6/T1", "bench_b06_alloc_test", threads=1),
    Workload("B6/TP", "bench_b06_alloc_test"),
    Workload("B9/64", "bench_b09_xmalloc_test", ("--size", "64")),
    Workload("B9/mixed", "bench_b09_xmalloc_test", ("--sizes", "mixed")),
    Workload("B10/scratch", "bench_b10_cache_lines", ("--mode", "scratch")),
    Workload("B10/thrash", "bench_b10_cache_lines", ("--mode", "thrash")),
    Workload("B13/16", "bench_b13_glibc_simple", ("--size", "16")),
)


def select(only: str | None) -> list[Workload]:
    """Rows named by a comma list of row names ("B1/500") or benchmark numbers ("B1")."""
    if only is None:
        return list(WORKLOADS)
    chosen = []
    for wish in (part.strip().lower() for part in only.split(",")):
        rows = [row for row in WORKLOADS
                if wish in (row.name.lower(), row.name.lower().split("/")[0])]
        if not rows:
            raise ValueError(f"no workload is called {wish!r}; there are "
                             + ", ".join(row.name for row in WORKLOADS))
        chosen += [row for row in rows if row not in chosen]
    return chosen
