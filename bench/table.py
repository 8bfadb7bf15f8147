# Prints the tables and the verdict lines.
#
# Owns: the layout. Uses rich for the tables where it is installed and plain text elsewhere; the
# figures are the same. Computes nothing but their rounding.
#
# SPDX-License-Identifier: MIT

import sys

try:
    from rich.console import Console
    from rich.table import Table
except ImportError:  # rich is a nicety, not a need
    Console = None


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    if Console is not None and sys.stdout.isatty():
        table = Table(title=title, title_justify="left")
        for column, name in enumerate(header):
            table.add_column(name, justify="left" if column == 0 else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(line[column]) for line in [header, *rows])
              for column in range(len(header))]
    print(f"\n{title}")
    for line in [header, ["-" * width for width in widths], *rows]:
        cells = [text.ljust(width) if column == 0 else text.rjust(width)
                 for column, (text, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def shown(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def median_rows(summary: dict, allocators: list[str], figure: str) -> list[list[str]]:
    rows = []
    for row in summary["rows"]:
        cells = [row["workload"]]
        for name in allocators:
            median = row["median"].get(name)
            if median is None:
                cells.append("failed")
                continue
            value = median[figure] / 1024 if figure == "rss_kib" else median[figure]
            cells.append(f"{value:.3f}" + ("~" if median["is_noisy"] else ""))
        rows.append(cells)
    return rows


def ratio_rows(summary: dict, others: list[str]) -> list[list[str]]:
    rows = []
    for row in summary["rows"]:
        best = row["best_peer"]
        to_best = shown(row["time_ratio_to_best"]) + (f" ({best})" if best else "")
        name_and_mark = row["workload"] + ("~" if row["is_noisy"] else "")
        rows.append([name_and_mark, *(shown(row["time_ratio"][name]) for name in others),
                     to_best, *(shown(row["rss_ratio"][name]) for name in others)])
    rows.append(["geometric mean",
                 *(shown(summary["geometric_mean_time"][name]) for name in others),
                 shown(summary["geometric_mean_time_to_best"]),
                 *(shown(summary["geometric_mean_rss"][name]) for name in others)])
    rows.append(["  heap-bound only", *("" for _ in others), "",
                 *(shown(summary["geometric_mean_rss_heap_bound"][name]) for name in others)])
    return rows


def print_verdict(summary: dict) -> None:
    subject = summary["subject"]
    print()
    for label, key, peer in (("time", "geometric_mean_time", "mimalloc3"),
                             ("RSS", "geometric_mean_rss", "jemalloc")):
        if peer in summary[key]:
            value = shown(summary[key][peer])
            print(f"geo-mean {label} of {subject} relative to {peer}: {value}"
                  f"  (below 1: {subject} is better)")
    for row in summary["rows"]:
        if row["best_peer"] is not None:
            print(f"{row['workload']:12} {subject} time / best peer ({row['best_peer']}): "
                  f"{shown(row['time_ratio_to_best'])}")
    print(f"geo-mean time of {subject} relative to the best peer of each workload: "
          f"{shown(summary['geometric_mean_time_to_best'])}")


def print_noise(summary: dict) -> None:
    noisy = [row["workload"] for row in summary["rows"] if row["is_noisy"]]
    if noisy:
        print(f"\nNot to be quoted: {len(noisy)} of {len(summary['rows'])} workloads have medians "
              f"of noisy runs only (~), because other programs used the machine.")


def print_failures(samples: list[dict]) -> None:
    failures = [sample for sample in samples if sample["outcome"] != "ok"]
    if not failures:
        return
    print(f"\n{len(failures)} of {len(samples)} runs failed:")
    for sample in failures:
        print(f"  {sample['workload']} under {sample['allocator']}, round {sample['round']}: "
              f"{sample['outcome']}: {sample.get('reason', '')}")


def print_report(summary: dict, samples: list[dict], allocators: list[str]) -> None:
    subject = summary["subject"]
    others = [name for name in allocators if name != subject]
    print_table("Time, median (seconds; relative time where it is fixed). ~ only noisy runs",
                ["workload", *allocators], median_rows(summary, allocators, "time"))
    print_table("Peak RSS, median (MiB)", ["workload", *allocators],
                median_rows(summary, allocators, "rss_kib"))
    if others:
        print_table(f"{subject} divided by each other allocator (below 1: {subject} is better)",
                    ["workload", *(f"time/{name}" for name in others), "time/best peer",
                     *(f"RSS/{name}" for name in others)], ratio_rows(summary, others))
        print_verdict(summary)
    print_noise(summary)
    print_failures(samples)
