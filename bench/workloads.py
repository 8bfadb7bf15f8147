# The rows of the benchmark set.
#
# Owns: the rows: a program, its arguments and a name. A new benchmark is one new program in
# workloads/ and one row here; nothing else in the runner knows a workload. Rows of installed
# programs (program_rows.py, redis.py) have the same interface.
# Invariant: row names are unique and start with the benchmark's number, which --only matches.
# Each row belongs to one group; --set names one, or "full" for all. The first set never changes, so
# that results stay comparable with older ones.
# The arguments keep a run at a few seconds and below about 1 GB of resident memory. README.md
# relates them to the figures that other projects publish.
#
# SPDX-License-Identifier: MIT

from dataclasses import dataclass, replace

from . import program_rows, programs, redis

FIRST, PUBLISHED, COMPLAINTS, FULL = "first", "published", "complaints", "full"
SETS = (FIRST, PUBLISHED, COMPLAINTS, programs.PROGRAMS, FULL)
# Their curves over the number of threads are published: a list of threads gives a row for each.
CURVES = ("B1", "B2", "B3")


@dataclass(frozen=True)
class Workload:
    name: str                        # "B1/500": number, then the variant if there are several
    program: str                     # file name in <build folder>/bench
    arguments: tuple[str, ...] = ()
    threads: int | None = None       # fixed by the row; None: the runner's --threads
    group: str = FIRST
    base: str = ""                   # the name without "@threads"

    def __post_init__(self):
        if not self.base:
            object.__setattr__(self, "base", self.name)

    def missing(self) -> str | None:
        """Empty: the row can run here. The runner refuses to start if a program of this project is
        missing."""
        return None

    def command(self, threads: int, scale: float) -> list[str]:
        count = self.threads if self.threads is not None else threads
        return [self.program, "--scale", f"{scale:g}", "--threads", str(count), *self.arguments]


FIRST_SET = (
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

# The other published benchmarks.
PUBLISHED_SET = (
    Workload("B3s", "bench_b03_larson", ("--sized", "1"), group=PUBLISHED),
    Workload("B4", "bench_b04_mstress", group=PUBLISHED),
    Workload("B5", "bench_b05_rptest", group=PUBLISHED),
    Workload("B7", "bench_b07_sh6bench", group=PUBLISHED),
    Workload("B8", "bench_b08_sh8bench", group=PUBLISHED),
    Workload("B11/written", "bench_b11_malloc_large", threads=1, group=PUBLISHED),
    Workload("B11/untouched", "bench_b11_malloc_large",
             ("--touch", "ends", "--slots", "40", "--steps", "1e5"), threads=1, group=PUBLISHED),
    Workload("B12", "bench_b12_mleak", group=PUBLISHED),
    Workload("B14", "bench_b14_glibc_thread", group=PUBLISHED),
    Workload("B15/32K", "bench_b15_mtmalloc_table", ("--max", "32768"), group=PUBLISHED),
    Workload("B15/64K", "bench_b15_mtmalloc_table", ("--max", "65536"), group=PUBLISHED),
    Workload("B15/128K", "bench_b15_mtmalloc_table", ("--max", "131072"), group=PUBLISHED),
    Workload("B15/256K", "bench_b15_mtmalloc_table", ("--max", "262144"), group=PUBLISHED),
    Workload("B16", "bench_b16_smmalloc_perf01", threads=5, group=PUBLISHED),
    Workload("B17", "bench_b17_smmalloc_perf02", threads=1, group=PUBLISHED),
    Workload("B18", "bench_b18_growing", group=PUBLISHED),
    Workload("B19", "bench_b19_heavy_threads", group=PUBLISHED),
    Workload("B20/single", "bench_b20_list_survey", ("--mode", "single"), 1, PUBLISHED),
    Workload("B20/multi", "bench_b20_list_survey", ("--mode", "multi"), 4, PUBLISHED),
    Workload("B20/owner", "bench_b20_list_survey", ("--mode", "owner"), 2, PUBLISHED),
)

# Small and middle blocks, each of which any thread may free.
SHARED_TABLE = ("--slots", "20000", "--min", "16", "--max", "16384", "--steps", "4e6")

# The complaints of users, by letter. B9 and B12 cover a and c (README.md).
COMPLAINTS_SET = (
    Workload("Cb/loop", "bench_c_b_buffers", ("--mode", "loop"), group=COMPLAINTS),
    Workload("Cb/sweep", "bench_c_b_buffers", ("--mode", "sweep"), 1, COMPLAINTS),
    Workload("Cd/add8", "bench_c_d_realloc", ("--mode", "add8"), 1, COMPLAINTS),
    Workload("Cd/half", "bench_c_d_realloc", ("--mode", "half"), 1, COMPLAINTS),
    Workload("Ce", "bench_c_e_aligned", group=COMPLAINTS),
    Workload("Cf/small", "bench_c_f_calloc", ("--mode", "small"), group=COMPLAINTS),
    Workload("Cf/recycled", "bench_c_f_calloc", ("--mode", "recycled"), group=COMPLAINTS),
    Workload("Cf/huge", "bench_c_f_calloc", ("--mode", "huge"), 1, COMPLAINTS),
    Workload("Cg", "bench_b14_glibc_thread", threads=64, group=COMPLAINTS),
    Workload("Ch", "bench_c_h_burst_idle", threads=8, group=COMPLAINTS),
    Workload("Ci", "bench_c_i_idle_consumers", threads=1, group=COMPLAINTS),
    Workload("Cj", "bench_c_j_fork", group=COMPLAINTS),
    Workload("Ck", "bench_c_k_purge_latency", threads=2, group=COMPLAINTS),
    Workload("Cl", "bench_c_l_survivors", group=COMPLAINTS),
    Workload("Cm/steady", "bench_c_m_tail", ("--load", "steady"), group=COMPLAINTS),
    Workload("Cm/burst", "bench_c_m_tail", ("--load", "burst"), group=COMPLAINTS),
    Workload("Cm/churn", "bench_c_m_tail", ("--load", "churn"), group=COMPLAINTS),
    Workload("Cm/trim", "bench_c_m_tail", ("--load", "trim"), group=COMPLAINTS),
    Workload("Cm/frame", "bench_c_m_tail", ("--load", "frame"), group=COMPLAINTS),
    *(Workload(f"Cn/{size}", "bench_c_n_columns", ("--size", str(size)), 1, COMPLAINTS)
      for size in (32769, 65536, 65537, 262145, 1048576)),
    Workload("Co/1", "bench_c_o_fill", threads=1, group=COMPLAINTS),
    Workload("Co/2", "bench_c_o_fill", threads=2, group=COMPLAINTS),
    Workload("Cp/large", "bench_c_p_replace", threads=1, group=COMPLAINTS),
    Workload("Cp/2", "bench_c_p_replace", SHARED_TABLE, 2, COMPLAINTS),
    Workload("Cp/16", "bench_c_p_replace", SHARED_TABLE, 16, COMPLAINTS),
    Workload("Cq/2M", "bench_c_q_small_process", ("--bytes", "2e6"), 2, COMPLAINTS),
    Workload("Cq/10M", "bench_c_q_small_process", ("--bytes", "1e7"), 2, COMPLAINTS),
)

WORKLOADS = FIRST_SET + PUBLISHED_SET + COMPLAINTS_SET
ROWS = WORKLOADS + redis.ROWS + program_rows.ROWS


def spread(rows: list, thread_list: list[int]) -> list:
    """The rows, with one for each number of threads if the row has a curve."""
    spread_rows = []
    for row in rows:
        if row.name.split("/")[0] in CURVES and isinstance(row, Workload):
            spread_rows += [replace(row, name=f"{row.name}@{threads}", threads=threads)
                            for threads in thread_list]
        else:
            spread_rows.append(row)
    return spread_rows


def select(only: str | None, group: str = FIRST) -> list:
    """The rows named by a comma list of row names ("B1/500") or numbers ("B1"), or else a set's
    rows."""
    if only is None:
        return [row for row in ROWS if group in (row.group, FULL)]
    chosen = []
    for request in (part.strip().lower() for part in only.split(",")):
        rows = [row for row in ROWS
                if request in (row.name.lower(), row.name.lower().split("/")[0])]
        if not rows:
            raise ValueError(f"no workload is called {request!r}; there are "
                             + ", ".join(row.name for row in ROWS))
        chosen += [row for row in rows if row not in chosen]
    return chosen
