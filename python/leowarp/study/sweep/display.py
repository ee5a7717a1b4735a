# SPDX-License-Identifier: Apache-2.0
"""Progress of a study: on a terminal one bar, in a notebook one text, elsewhere a plain line every few seconds."""

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
"""The rate is that of the last minutes: cheap runs may come first."""


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    done, total: Runs with a result, those of earlier starts included; failed ones too.
    failed: Of those done.
    workers: How many there are; of a cluster, now.
    rate_per_s: Runs made per second of the wall clock; None while nothing can be said.
    cpu_s_per_run: Mean of the runs made since this start.
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
        """Wall clock seconds until the study is done, at the rate so far; None while nothing can be said.

        It assumes that the runs left cost what those of the last `WINDOW_S` did.
        """
        return (self.total - self.done) / self.rate_per_s if self.rate_per_s else None

    def text(self) -> str:
        """One line for people.

        >>> StudyProgress("queues", done=30, total=90, failed=0, workers=2, rate_per_s=0.5).text()
        'queues: 30 of 90 runs, 30.0 a minute, 2:00 left'
        """
        line = f"{self.study}: {self.done:,} of {self.total:,} runs"
        if self.failed:
            line += f", {self.failed:,} failed"
        if self.workers == 0:
            line += ", no worker is there"
        elif self.rate_per_s:
            line += f", {self._rate()}, {clock(self.left_s or 0.0)} left"
        if self.cpu_s_per_run is not None:
            line += f", {self.cpu_s_per_run:.2g} CPU s a run"
        return line

    def _rate(self) -> str:
        """The rate in the unit in which it is at least about 1: a second, or a minute."""
        assert self.rate_per_s is not None
        return f"{self.rate_per_s:.1f} a second" if self.rate_per_s >= 1 else f"{self.rate_per_s * 60:.1f} a minute"


OnStudyProgress = Callable[[StudyProgress], None]


class Pace:
    """Runs per second of late, and what they cost; of this start alone, as earlier ones may have had other workers."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._runs, self._cpu_s, self._with_cost = 0, 0.0, 0

    def made(self, runs: int, cpu_s: list[float]) -> None:
        """Notes runs that were made just now.

        runs: How many, failed ones included.
        cpu_s: Their processor time in seconds, of those that have one.
        """
        self._runs += runs
        self._cpu_s += sum(cpu_s)
        self._with_cost += len(cpu_s)
        now = time.monotonic()
        self._marks.append((now, self._runs))
        # Two marks stay however old they are: a rate needs two, and of runs that take minutes there are no more.
        while len(self._marks) > 2 and self._marks[0][0] < now - WINDOW_S:
            self._marks.popleft()

    @property
    def rate_per_s(self) -> float | None:
        """Runs per second of the wall clock over the last `WINDOW_S`; None while nothing can be said.

        Up to the last run that was made, not up to now: the rate does not fall while a long batch is under way.
        """
        began, before = self._marks[0]
        elapsed = self._marks[-1][0] - began
        return (self._runs - before) / elapsed if elapsed > 0 and self._runs > before else None

    @property
    def cpu_s_per_run(self) -> float | None:
        """Mean processor time of the runs made, in seconds; None while nothing can be said."""
        return self._cpu_s / self._with_cost if self._with_cost else None


class StudyDisplay(Showing):
    """Shows `StudyProgress`: `with StudyDisplay() as show: show(progress)`.

    A terminal gets a bar, a notebook a text that is replaced. Anything else gets a line at most every
    `PLAIN_INTERVAL_S` seconds, and the last one always, so that logs of a batch system stay short.
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
        """Shows how far the study is now; names of a study file's go through `one_line`, which shows control
        characters.
        """
        if self._bars is not None:
            if self._task is None:
                self._task = self._bars.add_task("", total=progress.total)
            self._bars.update(self._task, completed=progress.done, description=one_line(progress.text()))
            return
        text = one_line(progress.text())
        if self._cell is not None:
            self._cell.show(text)
            return
        now = time.monotonic()
        # The first line and the last at once, whatever the interval: a short study has no others.
        is_due = not self._said or progress.done == progress.total or now - self._said_at >= PLAIN_INTERVAL_S
        if text != self._said and is_due:
            self._said, self._said_at = text, now
            print(text, file=sys.stderr, flush=True)


def json_lines(progress: StudyProgress) -> None:
    """Writes `StudyProgress` as a line of JSON on stderr (`--progress json`), with `left_s`."""
    print(json.dumps(asdict(progress) | {"left_s": progress.left_s}), file=sys.stderr, flush=True)
