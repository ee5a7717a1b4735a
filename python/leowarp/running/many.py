# SPDX-License-Identifier: Apache-2.0
"""Several runs in parallel, in as many processes as there are cores (`workers`).

A run that fails or is killed does not affect other runs. CPU seconds are measured per run. The caller's main module
needs no guard.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leowarp.base.errors import GuestError, LeowarpError, ScenarioError, decode_error
from leowarp.base.machine.cgroups import usable_cores
from leowarp.base.progress import OnProgress, Progress, building, shown
from leowarp.guest import guest_image
from leowarp.results.run import Run
from leowarp.running.whole_run import WholeRun
from leowarp.running.workers import BatchEnded, LocalWorkers, RunMade

WAIT_S = 1.0
"""Maximum time between checks of the workers; a worker's message ends the wait at once."""


@dataclass(frozen=True)
class Job:
    """One run to be made, with the arguments of `leowarp.run`.

    Attributes
    ----------
    scenario : path
        A scenario or plan file.
    out : path
        The run directory to write.
    set : mapping or sequence of str
        Dotted keys of the scenario with their new values; or a sequence of "KEY=VALUE".
    label : str, optional
        Name on the progress display; default: the directory's name.
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
        Number of parallel runs; default: the number of usable cores.
    kernel, force, trust
        As for `leowarp.run`.
    report : bool
        Whether to make figures and page of each run; `leowarp report RUN` can make them later.
    progress : bool or callable
        With True, one display for all runs is on stderr. A function is called with each `Progress`.
    failures : {"raise", "return"}
        "raise": the first failure is raised after all runs have ended. "return": each failure takes the place of its
        run in the list.

    Raises
    ------
    ScenarioError
        If two jobs have the same directory.
    LeowarpError
        With ``failures = "raise"``, the error that ended a run, with the run's label; also errors of the guest's build.
    """
    outs = [str(Path(job.out).resolve()) for job in jobs]
    # Directories are checked before any run begins: otherwise the second job would meet the first job's lock only hours
    # later.
    twice = next((out for out in outs if outs.count(out) > 1), None)
    if twice is not None:
        raise ScenarioError(f"cannot make two runs in {twice}", hint="give each job a directory of its own")
    # The guest is built here, once and visibly; otherwise all processes would silently wait for the build.
    with building(progress) as built:
        guest_image(kernel or "default", on_message=built.message, on_progress=built.steps)
    options = {"kernel": kernel, "force": force, "report": report, "trust": trust}
    tasks = [WholeRun(number, job.scenario, _copied(job.set), job.out, options) for number, job in enumerate(jobs)]
    results = _made(tasks, [job.label or Path(job.out).name for job in jobs], at_once, progress)
    if failures == "raise":
        for result in results:
            # The failure of the first job in the list is raised, not the first failure in time, because the order in
            # which runs end depends on the machine.
            if isinstance(result, LeowarpError):
                raise result
    return results


def _copied(set: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any] | Sequence[str]:
    return dict(set) if isinstance(set, Mapping) else list(set)


def _made(
    tasks: Sequence[WholeRun], labels: Sequence[str], at_once: int | None, progress: bool | OnProgress
) -> list[Run | LeowarpError]:
    if not tasks:
        return []
    made: set[int] = set()
    results: dict[int, Run | LeowarpError] = {}
    # Tasks are started in the order of the list, so that the first results belong to the first jobs.
    waiting = deque(tasks)
    # The number of cores follows the CPU affinity, because a container or a batch system may permit only some of the
    # machine's cores.
    count = max(1, min(at_once or usable_cores(), len(tasks)))
    with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch, shown(progress) as show:

        def on_progress(number: int, told: Mapping[str, Any]) -> None:
            # A run is done when its worker is free again.
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
                    # A run that its worker has reported is complete, even if the worker died afterwards.
                    results[number] = Run(tasks[number].out) if number in made else _failure(labels[number], event)
        finally:
            # Workers are ended even after Ctrl-C: each worker is interrupted once, marks its run directory, and ends
            # its guest.
            workers.end()
    return [results[number] for number in range(len(tasks))]


def _failure(label: str, ended: BatchEnded) -> LeowarpError:
    """The error that ended a run, with the run's label: the reported error, or a description of the worker's death. The
    run is not repeated."""
    if ended.fault is None:
        return GuestError(f"the run {label} {ended.death}")
    error = decode_error(ended.fault)
    # The error has the same class, so that the exit status of many runs is that of the failed run.
    return type(error)(f"the run {label} failed: {error.message}", hint=error.hint)
