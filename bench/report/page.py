# The page: the templates' data, and the templates with this data.
#
# Owns: the choice of facts and their order; the templates own the words around them and the layout.
# Jinja2 escapes all text. Only drawings (which escape their own text), styles and the script are
# inserted unchanged. The page loads nothing: its own policy forbids it.
#
# SPDX-License-Identifier: MIT

import re
import shlex

import jinja2
from markupsafe import Markup

from . import facts, heat, notes, palette, svg, wording
from .chart_strips import LOG_FROM
from .charts import FOLDER, Charts, rules
from .figures import FIGURES, RSS, TIME, Figures, counted_workloads


def anchor(workload: str, taken: dict[str, str]) -> str:
    """An id for a workload: readable, and unique even if names differ only in special
    characters."""
    if workload not in taken:
        plain = "w-" + (re.sub(r"[^a-z0-9]+", "-", workload.lower()).strip("-") or "row")
        number, name = 2, plain
        while name in taken.values():
            name, number = f"{plain}-{number}", number + 1
        taken[workload] = name
    return taken[workload]


def heat_maps(figures: Figures, anchors: dict[str, str]) -> list[dict]:
    record, maps, names = figures.record, [], heat.columns(figures)
    for figure, word in ((TIME, "Time"), (RSS, "Peak memory")):
        rows = []
        for number, workload in enumerate(record.workloads):
            cells = [heat.cell(figures, workload, name, figure) for name in names]
            rank = figures.rank(workload, record.subject, figure)
            rows.append({"workload": workload, "anchor": anchor(workload, anchors),
                         "title": notes.note(figures, workload)[0], "number": number,
                         "cells": list(zip(names, cells)), "rank": rank,
                         "of": figures.places(workload, record.subject)})
        maps.append({"figure": figure, "word": word, "rows": rows})
    return maps


def mean_rows(charts: Charts) -> list[dict]:
    """All typical ratios as a table."""
    figures, record = charts.figures, charts.record
    bound = figures.heap_bound()
    rows = []
    for name in record.allocators:
        is_own = name == record.subject
        rows.append({
            "name": name, "is_own": is_own,
            "to_best": [charts.to_best[name, figure] for figure in FIGURES],
            "to_other": [None if is_own else charts.to_other[name, figure] for figure in FIGURES]
            + [None if is_own else figures.mean_to_other(name, RSS, bound)]})
    return rows


def strip_rows(figures: Figures, workload: str) -> list[dict]:
    """The table below the strips: one row for each allocator, the best time first."""
    record, rows = figures.record, []
    ranked = figures.ranked(workload, TIME)
    for name in ranked + [name for name in record.allocators if name not in ranked]:
        cell = figures.cell(workload, name)
        failed = len(figures.failed.get((workload, name), []))
        row = {"name": name, "is_own": name == record.subject, "failed": failed, "cell": cell}
        if cell:
            row |= facts.run_figures(cell)
            row["ratio"] = {figure: figures.ratio_to_best(workload, name, figure)
                            for figure in FIGURES}
        rows.append(row)
    return [row for row in rows if row["cell"] or row["failed"]]


def sections(charts: Charts, anchors: dict[str, str]) -> list[dict]:
    figures, record = charts.figures, charts.record
    found = []
    for workload in record.workloads:
        samples = [sample for sample in record.samples if sample["workload"] == workload]
        commands = list(dict.fromkeys(shlex.join(map(str, sample["command"]))
                                      for sample in samples if sample["command"]))
        title, sentence = notes.note(figures, workload)
        subject = record.subject
        ranks = []
        for figure, word in ((TIME, "time"), (RSS, "memory")):
            ratio = figures.ratio_to_best(workload, subject, figure)
            if ratio is not None:
                ranks.append({"word": word, "rank": figures.rank(workload, subject, figure),
                              "of": figures.places(workload, subject), "ratio": ratio,
                              "band": heat.band(ratio)})
        found.append({
            "workload": workload, "anchor": anchor(workload, anchors), "title": title,
            "sentence": sentence, "ranks": ranks, "commands": commands,
            "strips": [Markup(one.inline()) for one in charts.strips(workload)]
            if figures.runs(workload) else [],
            "rows": strip_rows(figures, workload),
            "failures": facts.failures(figures, workload),
            "after_free": facts.after_free(record, workload),
            "noisy": figures.noisy_runs(workload),
            "is_timed": facts.is_in_seconds(record, workload), "runs": figures.runs(workload)})
    return found


def legend(charts: Charts) -> list[dict]:
    found = []
    for name in charts.record.allocators:
        colour, shape = charts.marks[name]
        swatch = svg.Drawing(16, 16, name)
        swatch.mark(shape, 8, 8, 5.5, f"dot fill-{colour}")
        found.append({"name": name, "swatch": Markup(
            swatch.inline().replace('role="img"', 'aria-hidden="true" class="chart"'))})
    return found


def context(charts: Charts) -> dict:
    figures, record = charts.figures, charts.record
    anchors: dict[str, str] = {}
    wide, narrow = charts.scatter(760, 480), charts.scatter(400, 430)
    return {
        "record": record, "subject": record.subject, "figures": figures, "charts": charts,
        "others": len(figures.rivals(record.subject)),
        "workloads": counted_workloads(record.workloads),
        "findings": wording.findings(figures), "cautions": wording.cautions(figures),
        "tiles": facts.tiles(charts), "facts": facts.about(figures),
        "byline": facts.byline(record),
        "repeat": facts.repeat(record), "allocators": facts.allocators(record),
        "best_panels": [Markup(charts.best_panel(figure).inline()) for figure in FIGURES],
        "versus_panels": [Markup(charts.versus_panel(figure).inline()) for figure in FIGURES]
        if len(record.allocators) > 1 else [],
        "scatter_wide": Markup(wide.inline()) if wide else "",
        "scatter_narrow": Markup(narrow.inline()) if narrow else "",
        "curves": [Markup(one.inline()) for one in charts.curves()],
        "heat_maps": heat_maps(figures, anchors), "bands": list(enumerate(heat.WORDS)),
        "mean_rows": mean_rows(charts), "sections": sections(charts, anchors),
        "legend": legend(charts), "skipped": facts.skipped(record),
        "instructions": facts.instructions(record), "log_from": LOG_FROM,
        "styles": Markup("\n".join([palette.page_rules(), rules(), part("page.css"),
                                    part("heat.css")])),
        "script": Markup(part("page.js")),
        "begun": wording.begun, "times": wording.times, "span": wording.span,
        "memory": wording.memory,
        "plain_time": wording.plain_time,
    }


def part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def render(charts: Charts) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.get_template("page.html.j2").render(context(charts))
