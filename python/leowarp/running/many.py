# SPDX-License-Identifier: Apache-2.0
"""Several runs at once, in as many processes as there are cores (`workers`).

A run that fails or is killed touches no other, their CPU seconds stay apart, and no guard around the caller's main
module is needed.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leowarp.base.errors import GuestError, LeowarpError, ScenarioError, decode_error
from leowarp.base.progress import OnProgress, Progress, building, shown
from leowarp.guest import guest_image
from leowarp.guest.machine.cgroups import usable_cores
from leowarp.results.run import Run
from leowarp.running.whole_run import WholeRun
from leowarp.running.workers import BatchEnded, LocalWorkers, RunMade

WAIT_S = 1.0
"""Between two looks at the workers; what they say ends the wait at once."""


@dataclass(frozen=True)
class Job:
    """One run to be made: as the arguments of `leowarp.run`.

    Attributes
    ----------
    scenario : path
        A scenario or plan file.
    out : path
        The run directory to write.
    set : mapping or sequence of str
        Dotted keys of the scenario and the values that replace theirs; or a sequence of "KEY=VALUE".
    label : str, optional
        Its name on the progress display; the directory's name if not given.
    """

    scenario: Path | str
    out: Path | str
    set: Mapping[str, Any] | Sequence[str] = field(default_factory=dict)
    label: str | None = None


def run_many(
    jobs: Sequence[Job],
    *,
    at_once: int | None = None,
    kernel: Path | str | None = None,
    force: bool = False,
    report: bool = False,
    progress: bool | OnProgress = True,
    failures: Literal["raise", "return"] = "raise",
    trust: bool = False,
) -> list[Run | LeowarpError]:
    """The runs of `jobs`, in their order.

    Parameters
    ----------
    jobs : sequence of Job
    at_once : int, optional
        How many at a time; as many as there are usable cores if not given.
    kernel, force, trust
        As for `leowarp.run`.
    report : bool
        Whether to make figures and page of each run; `leowarp report RUN` makes them later, too.
    progress : bool or callable
        True: one display for all on stderr. A callable gets each `Progress`.
    failures : {"raise", "return"}
        Whether the first failure is raised once all have ended, or each stands in the list in place of its run.

    Raises
    ------
    ScenarioError
        If two jobs name one directory.
    LeowarpError
        With ``failures = "raise"``, what ended a run, with its label; and whatever the build of the guest says.
    """
    outs = [str(Path(job.out).resolve()) for job in jobs]
    # Before any is begun: the second would find the first one's lock hours later.
    twice = next((out for out in outs if outs.count(out) > 1), None)
    if twice is not None:
        raise ScenarioError(f"cannot make two runs in {twice}", hint="give each job a directory of its own")
    # Once and visibly, before processes that would all wait for it in silence.
    with building(progress) as built:
        guest_image(kernel or "default", on_message=built.message, on_progress=built.steps)
    options = {"kernel": kernel, "force": force, "report": report, "trust": trust}
    tasks = [WholeRun(number, job.scenario, _copied(job.set), job.out, options) for number, job in enumerate(jobs)]
    results = _made(tasks, [job.label or Path(job.out).name for job in jobs], at_once, progress)
    if failures == "raise":
        for result in results:
            # The first by its place, not by time: the run that ended first depends on the machine.
            if isinstance(result, LeowarpError):
                raise result
    return results


def _copied(set: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any] | Sequence[str]:
    return dict(set) if isinstance(set, Mapping) else list(set)


def _made(
    tasks: Sequence[WholeRun], labels: Sequence[str], at_once: int | None, progress: bool | OnProgress
) -> list[Run | LeowarpError]:
    """Result of each task, in their order: its run, or the error that ended it."""
    if not tasks:
        return []
    made: set[int] = set()
    results: dict[int, Run | LeowarpError] = {}
    # In order, so that with equal runs results appear from the first on.
    waiting = deque(tasks)
    # By affinity, not `os.cpu_count()`: a container or a batch system may allow fewer.
    count = max(1, min(at_once or usable_cores(), len(tasks)))
    with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch, shown(progress) as show:

        def on_progress(number: int, told: Mapping[str, Any]) -> None:
            # A run is done once its worker has let go of it.
            if told["stage"] != "done":
                show(Progress(**{**told, "run": labels[number]}))

        workers = LocalWorkers(count, Path(scratch), on_progress=on_progress)
        try:
            while len(results) < len(tasks):
                while waiting and workers.free:
                    workers.give(waiting.popleft())
                for event in workers.wait(WAIT_S):
                    number = event.batch
                    if isinstance(event, RunMade):
                        made.add(number)
                        continue
                    show(Progress(labels[number], "done" if number in made else "failed"))
                    # A reported run counts, whatever its worker died of afterwards.
                    results[number] = Run(tasks[number].out) if number in made else _failure(labels[number], event)
        finally:
            # Also after Ctrl-C: each is interrupted once, marks its run directory, and ends its guest.
            workers.end()
    return [results[number] for number in range(len(tasks))]


def _failure(label: str, ended: BatchEnded) -> LeowarpError:
    """End of a run, with its label: the error that it reported, or how its worker died. It is not repeated."""
    if ended.fault is None:
        return GuestError(f"the run {label} {ended.death}")
    error = decode_error(ended.fault)
    # The same kind, so that the exit status of many is that of the one that failed.
    return type(error)(f"the run {label} failed: {error.message}", hint=error.hint)
