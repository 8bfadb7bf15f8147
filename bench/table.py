# Prints the tables and the verdict lines.
#
# Owns: the layout. Tables use rich if it is installed, and plain text elsewhere, with the same
# figures. It computes nothing but their rounding.
#
# SPDX-License-Identifier: MIT

import sys

from . import pace

try:
    from rich.console import Console
    from rich.table import Table
except ImportError:  # rich is optional
    Console = None


NO_TRIM = "*"      # marks a time without the trim that the others contain
PACE_LINES = 20
COLUMNS_MAX = 160  # a wider table is printed in parts


def parts_of(header: list[str], rows: list[list[str]]) -> list[list[int]]:
    """Columns that fit side by side; the first one heads each part."""
    widths = [max(len(line[column]) for line in [header, *rows])
              for column in range(len(header))]
    parts = [[0]]
    used = widths[0]
    for column in range(1, len(header)):
        if used + widths[column] + 3 > COLUMNS_MAX and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(column)
        used += widths[column] + 3
    return parts


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    rows = [row + [""] * (len(header) - len(row)) for row in rows]
    for number, columns in enumerate(parts_of(header, rows)):
        print_part(title if number == 0 else f"{title}, continued",
                   [header[at] for at in columns], [[row[at] for at in columns] for row in rows])


def print_part(title: str, header: list[str], rows: list[list[str]]) -> None:
    if Console is not None and sys.stdout.isatty():
        table = Table(title=title, title_justify="left")
        for column, name in enumerate(header):
            table.add_column(name, justify="left" if column == 0 else "right", no_wrap=True)
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
            cells.append(median_text(median, figure))
        rows.append(cells)
    return rows


def with_interval(value: float | None, interval: list[float] | None, digits: int = 3) -> str:
    """The figure with its interval: 0.930 [0.91, 0.95]."""
    if value is None or interval is None:
        return shown(value, digits)
    return f"{shown(value, digits)} [{interval[0]:.2f}, {interval[1]:.2f}]"


def median_text(median: dict, figure: str) -> str:
    """The figure with the half width of its interval in percent."""
    value = median[figure] / 1024 if figure == "rss_kib" else median[figure]
    interval = median["rss_interval" if figure == "rss_kib" else "time_interval"]
    percent = ""
    if interval is not None:
        percent = f" ±{(interval[1] / median[figure] - 1) * 100:.0f}%"
    return (f"{value:.3f}{percent}" + ("~" if median["is_noisy"] else "")
            + trim_mark(median, figure))


def trim_mark(median: dict | None, figure: str) -> str:
    return NO_TRIM if figure == "time" and median and median.get("skips_trim") else ""


def ratio_rows(summary: dict, others: list[str], label: str) -> list[list[str]]:
    """The subject divided by each other allocator. `label` is time or rss. The means come last."""
    rows = []
    for row in summary["rows"]:
        cells = [row["workload"] + ("~" if row["is_noisy"] else ""),
                 *(with_interval(row[f"{label}_ratio"][name],
                                 row[f"{label}_ratio_interval"][name])
                   + trim_mark(row["median"].get(name), label) for name in others)]
        if label == "time":
            best = row["best_peer"]
            cells.append(shown(row["time_ratio_to_best"]) + (f" ({best})" if best else ""))
        rows.append(cells)
    for title, key in (("geometric mean", f"geometric_mean_{label}"),
                       ("  heap-bound only", f"geometric_mean_{label}_heap_bound")):
        if key in summary:
            rows.append([title, *(with_interval(summary[key][name],
                                                summary[key + "_interval"][name])
                                  for name in others)])
    if label == "time":
        rows[-1].append(with_interval(summary["geometric_mean_time_to_best"],
                                      summary["geometric_mean_time_to_best_interval"]))
    return rows


def print_verdict(summary: dict) -> None:
    subject = summary["subject"]
    print()
    for label, key, peer in (("time", "geometric_mean_time", "mimalloc3"),
                             ("RSS", "geometric_mean_rss", "jemalloc")):
        if peer in summary[key]:
            value = with_interval(summary[key][peer], summary[key + "_interval"][peer])
            print(f"geo-mean {label} of {subject} relative to {peer}: {value}"
                  f"  (below 1: {subject} is better)")
    if summary["geometric_mean_time_to_best"] is not None:
        print(f"geo-mean time of {subject} relative to the best peer of each workload: "
              + with_interval(summary["geometric_mean_time_to_best"],
                              summary["geometric_mean_time_to_best_interval"]))
    if summary["geometric_mean_time_to_best_held_out"] is not None:
        print("the same, the best peer of each round chosen by the other rounds: "
              + shown(summary["geometric_mean_time_to_best_held_out"]))
    if summary["geometric_mean_rss_to_leanest"] is not None:
        print(f"geo-mean RSS of {subject} relative to the leanest peer of each workload: "
              + shown(summary["geometric_mean_rss_to_leanest"])
              + "; per requested byte at the peak, where the heap is most of it: "
              + shown(summary["geometric_mean_memory_to_leanest"])
              + "; beside the leanest of the fast ones there: "
              + shown(summary["geometric_mean_rss_to_leanest_fast"]))


def print_noise(summary: dict) -> None:
    noisy = [row["workload"] for row in summary["rows"] if row["is_noisy"]]
    if noisy:
        print(f"\nNot to be quoted: {len(noisy)} of {len(summary['rows'])} workloads have medians "
              f"of noisy runs only (~), because other programs used the machine.")


def print_pace(samples: list[dict]) -> None:
    found = pace.unusual(samples)
    if not found:
        return
    print(f"\n{len(found)} of {len(samples)} runs had the machine's help or harm:")
    for sample, words in found[:PACE_LINES]:
        print(f"  {sample['workload']} under {sample['allocator']}, round {sample['round']}: "
              f"{words}")
    if len(found) > PACE_LINES:
        print(f"  and {len(found) - PACE_LINES} more; yardstick_s of the samples tells")


def print_skipped_trims(summary: dict) -> None:
    rows = [row["workload"] for row in summary["rows"]
            if any(median.get("skips_trim") for median in row["median"].values())]
    if rows:
        print(f"\n{NO_TRIM} cannot return memory on request, which the others' times "
              f"contain: never the best in time ({', '.join(rows)}).")


def print_failures(samples: list[dict]) -> None:
    failures = [sample for sample in samples if sample["outcome"] != "ok"]
    if not failures:
        return
    print(f"\n{len(failures)} of {len(samples)} runs failed:")
    for sample in failures:
        print(f"  {sample['workload']} under {sample['allocator']}, round {sample['round']}: "
              f"{sample['outcome']}: {sample.get('reason', '')}")


def print_skipped(skipped: list[dict]) -> None:
    for one in skipped:
        print(f"skipped: {one.get('workload') or one['allocator']}: {one['reason']}")


def print_instructions(entries: list[dict], allocators: list[str]) -> None:
    """One row for each pattern and size."""
    figures = {(one["pattern"], one["size"], one["allocator"]): one for one in entries}
    rows = []
    for pattern, size in dict.fromkeys((one["pattern"], one["size"]) for one in entries):
        cells = [figures[pattern, size, name] for name in allocators]
        rows.append([f"{pattern}, {size} B", *(shown(one["instructions"], 1)
                                               if one["outcome"] == "ok" else one["outcome"]
                                               for one in cells)])
    print_table("Instructions of a malloc and free pair (callgrind)", ["pattern", *allocators],
                rows)


def print_after_free(entries: list[dict], allocators: list[str]) -> None:
    """The resident memory 10 s after the last free, as a share of the peak."""
    figures = {(one["workload"], one["allocator"]): one for one in entries}
    rows = []
    for workload in dict.fromkeys(one["workload"] for one in entries):
        cells = [workload]
        for name in allocators:
            one = figures[workload, name]
            is_told = one["outcome"] == "ok" and one["rss_after_10s_kib"] is not None
            cells.append(f"{one['rss_after_10s_kib'] / one['rss_kib']:.2f}" if is_told else "-")
        rows.append(cells)
    print_table("Resident 10 s after the last free, divided by the peak",
                ["workload", *allocators], rows)


def print_report(summary: dict, samples: list[dict], allocators: list[str]) -> None:
    subject = summary["subject"]
    others = [name for name in allocators if name != subject]
    print_table("Time, median (seconds; relative time where it is fixed). ~ only noisy runs",
                ["workload", *allocators], median_rows(summary, allocators, "time"))
    print_table("Peak RSS, median (MiB)", ["workload", *allocators],
                median_rows(summary, allocators, "rss_kib"))
    if others:
        title = (f"{subject} divided by each other allocator, at 95 % between "
                 f"(below 1: {subject} is better)")
        print_table("Time: " + title, ["workload", *others, "best peer"],
                    ratio_rows(summary, others, "time"))
        print_table("RSS: " + title, ["workload", *others], ratio_rows(summary, others, "rss"))
        print_verdict(summary)
    print_noise(summary)
    print_pace(samples)
    print_skipped_trims(summary)
    print_failures(samples)
