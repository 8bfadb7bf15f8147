# The report's charts, for the page and as files.
#
# Owns: the list of charts, their content and their file names. The files contain their rules and
# colours, so that a README can show them in light and dark.
#
# SPDX-License-Identifier: MIT

from pathlib import Path

from . import (chart_curves, chart_means, chart_scatter, chart_strips, heat, notes, palette,
               svg)
from .figures import FIGURES, RSS, TIME, Figures, counted_workloads

FOLDER = Path(__file__).resolve().parent / "template"
WORDS = {TIME: ("time", "faster", "slower"), RSS: ("peak memory", "smaller", "larger")}


def rules() -> str:
    return (FOLDER / "chart.css").read_text(encoding="utf-8") + palette.series_rules()


class Charts:
    def __init__(self, figures: Figures):
        self.figures = figures
        self.record = figures.record
        self.marks = palette.marks(self.record.allocators, self.record.subject)
        self.counted = counted_workloads(self.record.workloads)
        self.to_best = {(name, figure): figures.mean_to_best(name, figure, self.counted)
                        for name in self.record.allocators for figure in FIGURES}
        self.to_other = {(name, figure): figures.mean_to_other(name, figure, self.counted)
                         for name in self.others() for figure in FIGURES}

    def others(self) -> list[str]:
        return [name for name in self.record.allocators if name != self.record.subject]

    def best_panel(self, figure: str) -> svg.Drawing:
        rows = sorted(((name, mean) for name in self.record.allocators
                       if (mean := self.to_best[name, figure])), key=lambda row: row[1].value)
        word, better, worse = WORDS[figure]
        return chart_means.panel(rows, self.marks,
                                 f"{word.capitalize()} / best rival at each workload", better,
                                 worse, len(self.counted))

    def versus_panel(self, figure: str) -> svg.Drawing:
        rows = sorted(((name, mean) for name in self.others()
                       if (mean := self.to_other[name, figure])), key=lambda row: row[1].value)
        word, better, worse = WORDS[figure]
        subject = self.record.subject
        return chart_means.panel(rows, self.marks, f"{word.capitalize()} of {subject} / each other",
                                 f"{subject} is {better}", f"{subject} is {worse}",
                                 len(self.counted))

    def scatter(self, width: float, height: float) -> svg.Drawing | None:
        means = {name: (self.to_best[name, TIME], self.to_best[name, RSS])
                 for name in self.record.allocators
                 if self.to_best[name, TIME] and self.to_best[name, RSS]}
        return chart_scatter.draw(means, self.marks, width, height) if means else None

    def curves(self) -> list[svg.Drawing]:
        drawings = []
        for base, chart in chart_curves.curves(self.figures).items():
            title = notes.note(self.figures, base)[0]
            drawings.append(chart_curves.draw(f"{base}: {title}", chart, self.marks))
        return drawings

    def strips(self, workload: str) -> list[svg.Drawing]:
        return [chart_strips.draw(self.figures, workload, figure, self.marks)
                for figure in FIGURES]

    def heat_map(self, figure: str) -> svg.Drawing:
        word = WORDS[figure][0].capitalize()
        return heat.draw(self.figures, self.record.workloads, figure,
                         f"{word}, times the best rival")

    def files(self) -> dict[str, str]:
        """The main charts by file name."""
        own = palette.written_out(rules())
        found = {
            "means.svg": svg.in_a_file([self.best_panel(TIME), self.best_panel(RSS)], 2, own),
            "versus.svg": svg.in_a_file([self.versus_panel(TIME), self.versus_panel(RSS)], 2, own),
            "heat-time.svg": svg.in_a_file([self.heat_map(TIME)], 1, own),
            "heat-memory.svg": svg.in_a_file([self.heat_map(RSS)], 1, own),
        }
        scatter = self.scatter(760, 500)
        if scatter:
            found["time-memory.svg"] = svg.in_a_file([scatter], 1, own,
                                                     "Time against memory, all workloads")
        curves = self.curves()
        if curves:
            found["curves.svg"] = svg.in_a_file(curves, 2, own)
        return found
