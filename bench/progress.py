# Shows the progress of a run: a bar if rich and a terminal are there, else plain lines.
#
# Owns: standard error during a measurement. It must cost nothing while a program runs: the bar is
# redrawn only between runs.
#
# SPDX-License-Identifier: MIT

import sys

try:
    from rich.console import Console
    from rich.progress import (BarColumn, MofNCompleteColumn, Progress, TextColumn,
                               TimeElapsedColumn, TimeRemainingColumn)
except ImportError:  # rich is optional
    Progress = None


class Lines:
    """One line per run."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def step(self, text: str, *, is_notable: bool) -> None:
        del is_notable
        print(f"  {text}", file=sys.stderr, flush=True)


class Bar:
    """A bar with the last run beside it. Lines worth keeping scroll by above it."""

    def __init__(self, total: int):
        # No refresh thread: it would run beside the measured program.
        self.progress = Progress(
            BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
            TimeRemainingColumn(), TextColumn("{task.description}", markup=False),
            console=Console(stderr=True), auto_refresh=False)
        self.task = self.progress.add_task("", total=total)

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *_):
        self.progress.stop()

    def step(self, text: str, *, is_notable: bool) -> None:
        if is_notable:
            self.progress.console.print(text, markup=False, highlight=False)
        self.progress.update(self.task, advance=1, description=text)
        self.progress.refresh()


def shown(total: int) -> Lines | Bar:
    return Bar(total) if Progress is not None and sys.stderr.isatty() else Lines()
