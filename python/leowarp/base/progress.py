# SPDX-License-Identifier: Apache-2.0
"""The progress of runs: a bar per run on a terminal, a text in a notebook, otherwise a plain line every few seconds."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Self

from leowarp.base.printable import one_line, visible
from leowarp.base.status import CellText, is_notebook, is_terminal

STAGES = ("timeline", "guest", "trace", "metrics", "report", "done", "failed")
PLAIN_INTERVAL_S = 5.0
"""The time between two plain lines about a run, in s."""
# The time between two plain lines about a build, in s. It is ten seconds at first, and later a quarter of the elapsed
# time. The log of a build that takes hours then has 30 lines.
BUILD_INTERVAL_S = 10.0


@dataclass(frozen=True)
class Progress:
    """The progress of one run.

    Attributes
    ----------
    run : str
        The name of the run.
    stage : str
        One of `STAGES`. Virtual time advances only in `guest`.
    t_ns, duration_ns : int
        The virtual time reached, and the virtual time at which the run ends.
    wall_s : float
        The real time spent in the guest so far, in seconds.
    done, expected : int
        The number of finished figures and the number of all figures, only in the stage `report`.
    """

    run: str
    stage: str
    t_ns: int = 0
    duration_ns: int = 0
    wall_s: float = 0.0
    done: int = 0
    expected: int = 0

    @property
    def speed(self) -> float | None:
        """The virtual seconds per second of real time, or None if unknown."""
        # In the first 0.2 s, the guest may still be booting, so a speed would be meaningless.
        return self.t_ns / 1e9 / self.wall_s if self.wall_s > 0.2 and self.t_ns > 0 else None

    @property
    def left_s(self) -> float | None:
        """The estimated real time in seconds until the guest ends, or None if unknown. The estimate uses the mean speed
        so far."""
        return None if not self.speed else max(0.0, (self.duration_ns - self.t_ns) / 1e9 / self.speed)

    def text(self) -> str:
        """Return the progress as one line of text: virtual time, speed, time left."""
        if self.stage == "report" and self.expected:
            return f"{self.run}: {self.done} of {self.expected} figures"
        if self.stage != "guest":
            return f"{self.run}: {self.stage}"
        line = f"{self.run}: {self.t_ns / 1e9:.0f} of {self.duration_ns / 1e9:.0f} s"
        if self.speed is not None and self.left_s is not None:
            line += f", {self.speed:.1f} x the wall clock, {clock(self.left_s)} left"
        return line


OnProgress = Callable[[Progress], None]


def of_figures(show: OnProgress, name: str) -> Callable[[int, int], None]:
    """Return a function that shows the progress of the stage `report` of the run `name`. It takes the number of
    finished figures and the number of all figures."""
    return lambda done, expected: show(Progress(name, "report", done=done, expected=expected))


@dataclass(frozen=True)
class BuildProgress:
    """The progress of the build of the guest kernel.

    stage: {"unpack", "compile", "pack"}
    done, expected: The finished steps and all steps of the build. While the source is unpacked, both values are
        percentages of the source.
    share: The estimated share of the build's time that has passed, 0 to 1.
    wall_s, stage_wall_s: The seconds of real time since the build began, and since the stage began.
    """

    stage: str
    done: int
    expected: int
    share: float
    wall_s: float
    stage_wall_s: float

    @property
    def rate(self) -> float | None:
        """The steps per second of real time, or None if unknown."""
        # While the source is unpacked, progress is in percent, so there is no rate in steps.
        return self.done / self.stage_wall_s if self.stage == "compile" and self.stage_wall_s > 1 else None

    @property
    def left_s(self) -> float | None:
        """The seconds of real time until the build ends, or None if unknown."""
        # In the first 2 s, or below 1 %, no estimate is given. An early estimate would be wrong by minutes, and would
        # change suddenly.
        return self.wall_s * (1 - self.share) / self.share if self.wall_s > 2 and self.share > 0.01 else None

    @property
    def counted(self) -> str:
        """The finished part of the work as text."""
        return f"{self.done} %" if self.stage == "unpack" else f"{self.done}/{self.expected} steps"

    def text(self) -> str:
        """Return the progress as one line of text."""
        parts = [f"guest kernel: {self.stage} {self.counted}"]
        parts += [f"{self.rate:.1f} steps/s"] if self.rate is not None else []
        parts += [f"{clock(self.left_s)} left"] if self.left_s is not None else []
        return ", ".join(parts)


class Showing:
    """Shows progress on stderr: bars in a terminal, a text in a notebook's cell, lines elsewhere."""

    def __init__(self) -> None:
        self._bars: Any = None
        self._cell: CellText | None = None

    def _new_bars(self) -> Any:
        return _bars()

    def __enter__(self) -> Self:
        if is_terminal():
            self._bars = self._new_bars()
            self._bars.start()
        elif is_notebook():
            self._cell = CellText()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
        if self._cell is not None:
            self._cell.end()


class Display(Showing):
    """Shows `Progress` on stderr, or in a cell: `with Display() as show: show(progress)`. Several threads may use the
    same display."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._tasks: dict[str, Any] = {}
        self._said: dict[str, tuple[str, float]] = {}
        self._runs: dict[str, Progress] = {}

    def __call__(self, progress: Progress) -> None:
        """Show the progress of a run. The first call for a run adds a bar."""
        with self._lock:
            if self._cell is not None:
                self._runs[progress.run] = progress
                self._cell.show(_text_of(self._runs.values()))
            elif self._bars is None:
                self._line(progress)
            else:
                self._bar(progress)

    def _line(self, progress: Progress) -> None:
        """Print a plain line if a long stage has begun, or if the run's last line was printed `PLAIN_INTERVAL_S`
        ago."""
        # The time of the last line is stored per run, so that each of several simultaneous runs gets its lines.
        stage, said_at = self._said.get(progress.run, ("", 0.0))
        now = time.monotonic()
        # No line is printed for short stages; lines are printed for the guest and for the end of the run.
        if progress.stage == stage:
            if now - said_at < PLAIN_INTERVAL_S:
                return
        elif progress.stage not in ("timeline", "guest", "report", "done", "failed"):
            return
        self._said[progress.run] = (progress.stage, now)
        print(one_line(progress.text()), file=sys.stderr, flush=True)

    def _bar(self, progress: Progress) -> None:
        """Show the bar of a run. While the duration is unknown, the bar has no length."""
        task = self._tasks.get(progress.run)
        if task is None:
            task = self._tasks[progress.run] = self._bars.add_task(
                one_line(progress.run), total=None, stage="", speed="", left="", virtual=""
            )
        fields: dict[str, Any] = {"stage": progress.stage, "speed": "", "left": "", "virtual": ""}
        if progress.duration_ns:
            fields |= {"total": progress.duration_ns, "completed": progress.t_ns}
            fields["virtual"] = f"{progress.t_ns / 1e9:.0f}/{progress.duration_ns / 1e9:.0f} s"
        if progress.expected:
            fields |= {"total": progress.expected, "completed": progress.done}
            fields["virtual"] = f"{progress.done}/{progress.expected} figures"
        if progress.stage == "guest" and progress.speed is not None and progress.left_s is not None:
            fields |= {"speed": f"{progress.speed:.1f}x", "left": clock(progress.left_s)}
        self._bars.update(task, **fields)


def _text_of(runs: Collection[Progress]) -> str:
    """Return one line per active run, and one line for all runs that have ended. A single run always has its own
    line."""
    over = Counter(run.stage for run in runs if run.stage in ("done", "failed"))
    lines = [one_line(run.text()) for run in runs if len(runs) == 1 or run.stage not in over]
    if len(runs) > 1 and over:
        lines.append(", ".join(f"{count} {stage}" for stage, count in over.items()))
    return "\n".join(lines)


class building:
    """Shows the progress of a build on stderr. Use `with building(True) as built`, then `built.message` and
    `built.steps`.

    Nothing is shown if nothing needs to be built, or if `progress` is not True. Several threads may call `message` and
    `steps`.
    """

    def __init__(self, progress: bool | OnProgress) -> None:
        self._shown = progress is True
        self._lock = threading.Lock()
        self._bars: Any = None
        self._task: Any = None
        self._cell = CellText() if is_notebook() else None
        self._next_line_s = BUILD_INTERVAL_S

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
            if self._cell is not None:
                self._cell.end()

    def message(self, text: str) -> None:
        if not self._shown:
            return
        with self._lock:
            if self._bars is None:
                print(visible(text), file=sys.stderr, flush=True)
            else:
                # The text is printed above the bar; otherwise, the bar would overwrite it.
                self._bars.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def steps(self, at: BuildProgress) -> None:
        if not self._shown:
            return
        with self._lock:
            if is_terminal():
                self._bar(at)
            elif self._cell is not None:
                self._cell.show(at.text())
            elif at.wall_s >= self._next_line_s:
                self._next_line_s = at.wall_s + max(BUILD_INTERVAL_S, at.wall_s / 4)
                print(at.text(), file=sys.stderr, flush=True)

    def _bar(self, at: BuildProgress) -> None:
        """Show the bar of the build. If all results of a build are in the cache, there is no bar."""
        fields = {
            "stage": at.stage,
            "virtual": at.counted,
            "speed": f"{at.rate:.1f} steps/s" if at.rate is not None else "",
            "left": f"{clock(at.left_s)} left" if at.left_s is not None else "",
        }
        if self._bars is None:
            self._bars = _bars()
            self._bars.start()
            self._task = self._bars.add_task("guest kernel", total=1.0, **fields)
        self._bars.update(self._task, completed=at.share, **fields)


@contextmanager
def shown(
    progress: bool | Callable[[Any], None], display: Callable[[], Any] = Display
) -> Iterator[Callable[[Any], None]]:
    """Yield the function that is called with each `Progress`, for the argument `progress` of public functions.

    progress: True for a display, False for none, or a function that is called with each `Progress`.
    display: If `progress` is True, this function makes the display.

    >>> with shown(False) as show:
    ...     show(Progress("a", "guest"))
    """
    if progress is True:
        with display() as show:
            yield show
    else:
        yield progress if callable(progress) else silent


def json_lines(progress: Progress) -> None:
    """Write `Progress` as one line of JSON to stderr, for a program that started leowarp."""
    # stdout is reserved for the single JSON object of --json. Without the flush, a pipe would delay the line until the
    # end.
    print(json.dumps(asdict(progress)), file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Return a duration as `m:ss` or `h:mm:ss`.

    >>> clock(75), clock(3675)
    ('1:15', '1:01:15')
    """
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def silent(progress: Any) -> None:
    """Show nothing."""


def _bars() -> Any:
    """Make bars with the package rich. It is imported only here, because most commands show no bars."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    return Bars(
        # With markup, rich would interpret a directory name such as [red].
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[stage]:9}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[virtual]}"),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        refresh_per_second=4,
    )
