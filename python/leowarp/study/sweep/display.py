# SPDX-License-Identifier: Apache-2.0
"""The display of a study's progress. A terminal shows a bar, and a notebook shows a text. Otherwise, a plain line is
printed every few seconds."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from leowarp.base.printable import one_line
from leowarp.base.progress import PLAIN_INTERVAL_S, Showing, clock

WINDOW_S = 300.0
"""The width of the sliding window over which the rate is computed. Earlier runs may have been cheaper."""


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study.

    done: The number of runs with a result, including failed runs and runs of earlier starts.
    failed: The number of failed runs, which are included in `done`.
    workers: The present number of workers.
    rate_per_s: The number of runs made per second of real time. None means unknown.
    cpu_s_per_run: The mean processor time in seconds per run. Only runs since the present start of the study count.
    """

    study: str
    done: int
    total: int
    failed: int
    workers: int
    rate_per_s: float | None = None
    cpu_s_per_run: float | None = None

    @property
    def left_s(self) -> float | None:
        """Return the real time in seconds until the study is done, at the rate of the last `WINDOW_S`. None means
        unknown."""
        return (self.total - self.done) / self.rate_per_s if self.rate_per_s else None

    def text(self) -> str:
        """Return the progress as one line of text.

        >>> StudyProgress("queues", done=30, total=90, failed=0, workers=2, rate_per_s=0.5).text()
        'queues: 30 of 90 runs, 30.0 a minute, 2:00 left'
        """
        line = f"{self.study}: {self.done:,} of {self.total:,} runs"
        if self.failed:
            line += f", {self.failed:,} failed"
        if self.workers == 0:
            line += ", no worker is there"
        elif self.rate_per_s:
            rate = self.rate_per_s
            pace = f"{rate:.1f} a second" if rate >= 1 else f"{rate * 60:.1f} a minute"
            line += f", {pace}, {clock(self.left_s or 0.0)} left"
        if self.cpu_s_per_run is not None:
            line += f", {self.cpu_s_per_run:.2g} CPU s a run"
        return line


OnStudyProgress = Callable[[StudyProgress], None]


class Pace:
    """The rate and cost of the runs that were made recently. Runs of earlier starts of the study are left out, because
    those starts may have had other workers."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._runs, self._cpu_s, self._with_cost = 0, 0.0, 0

    def made(self, runs: int, cpu_s: list[float]) -> None:
        """Record the number of runs that have just been made, and the processor times that were measured."""
        self._runs += runs
        self._cpu_s += sum(cpu_s)
        self._with_cost += len(cpu_s)
        now = time.monotonic()
        self._marks.append((now, self._runs))
        # A rate needs two marks, and long runs set few marks, so the last two are never removed.
        while len(self._marks) > 2 and self._marks[0][0] < now - WINDOW_S:
            self._marks.popleft()

    @property
    def rate_per_s(self) -> float | None:
        """Return the completed runs per second of real time, over the last `WINDOW_S`. None means unknown.

        The window ends with the last completed run. Otherwise, the rate would fall during a long batch.
        """
        began, before = self._marks[0]
        elapsed = self._marks[-1][0] - began
        return (self._runs - before) / elapsed if elapsed > 0 and self._runs > before else None

    @property
    def cpu_s_per_run(self) -> float | None:
        return self._cpu_s / self._with_cost if self._with_cost else None


class StudyDisplay(Showing):
    """A display of `StudyProgress`: `with StudyDisplay() as show: show(progress)`.

    If the output is neither a terminal nor a notebook, it gets at most one line every `PLAIN_INTERVAL_S` seconds. It
    also gets a line at the end of the study.
    """

    def __init__(self) -> None:
        super().__init__()
        self._task: Any = None
        self._said, self._said_at = "", 0.0

    def _new_bars(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        return Bars(
            BarColumn(bar_width=24), TextColumn("{task.description}", markup=False), console=Console(stderr=True)
        )

    def __call__(self, progress: StudyProgress) -> None:
        # `one_line` escapes control characters, which a study file's names may contain.
        text = one_line(progress.text())
        if self._bars is not None:
            if self._task is None:
                self._task = self._bars.add_task("", total=progress.total)
            self._bars.update(self._task, completed=progress.done, description=text)
            return
        if self._cell is not None:
            self._cell.show(text)
            return
        now = time.monotonic()
        # The first and the last line are always printed, because a short study may have no other lines.
        is_due = not self._said or progress.done == progress.total or now - self._said_at >= PLAIN_INTERVAL_S
        if text != self._said and is_due:
            self._said, self._said_at = text, now
            print(text, file=sys.stderr, flush=True)


def json_lines(progress: StudyProgress) -> None:
    """Write a `StudyProgress` to stderr as one line of JSON (`--progress json`). The line also has `left_s`."""
    print(json.dumps(asdict(progress) | {"left_s": progress.left_s}), file=sys.stderr, flush=True)
