# SPDX-License-Identifier: Apache-2.0
"""Makes several runs in parallel, in as many processes as there are cores (`workers`).

If a run fails or is killed, all other runs continue. CPU seconds are measured per run. The user's script needs no `if
__name__ == "__main__"`.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from leowarp.base.errors import GuestError, LeowarpError, ScenarioError, decode_error, unexpected
from leowarp.base.machine.cgroups import usable_cores
from leowarp.base.progress import OnProgress, Progress, shown
from leowarp.results.run import Run
from leowarp.running import one
from leowarp.running.street import built_image
from leowarp.running.workers import BatchEnded, LocalWorkers, RunMade, Tell

WAIT_S = 1.0
"""The maximum time in s between two checks of the workers. If a worker sends a message, it is handled at once, without
this delay."""


@dataclass(frozen=True)
class Job:
    """A run to be made, with the arguments of `leowarp.run`.

    Attributes
    ----------
    scenario : path
        A scenario or plan file.
    out : path
        The path of the run directory.
    set : mapping or sequence of str
        The dotted scenario keys, each with its new value, or a sequence of "KEY=VALUE".
    label : str, optional
        The name of the run on the progress display. The default is the directory's name.
    """

    scenario: Path | str
    out: Path | str
    set: Mapping[str, Any] | Sequence[str] = field(default_factory=dict)
    label: str | None = None


@dataclass(frozen=True)
class WholeRun:
    """A task (`leowarp.running.workers.Task`) for one run.

    number: The number of the task in the workers' events.
    options: The arguments `kernel`, `force`, `report`, `trust` of `leowarp.run`.
    """

    number: int
    scenario: Path | str
    set: Mapping[str, Any] | Sequence[str]
    out: Path | str
    options: Mapping[str, Any]

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the run and report its progress. Raises any `LeowarpError`."""
        try:
            one.run(self.scenario, self.set, self.out, progress=lambda at: tell(progress=asdict(at)), **self.options)
        except LeowarpError:
            raise
        except Exception as error:
            # The message names keys as they are written on the command line.
            raise unexpected(error) from error
        # The worker returns an empty result, because the run directory contains everything. The parent only learns that
        # the run is complete.
        tell(place=0, result={})


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
    """Make the runs of `jobs`, and return them in the order of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    at_once : int, optional
        The number of parallel runs. The default is the number of usable cores.
    kernel, force, trust
        The same as for `leowarp.run`.
    report : bool
        Whether figures and page of each run are made. `leowarp report RUN` can make them later.
    progress : bool or callable
        If `progress` is True, stderr shows one display for all runs. If it is a function, it is called with each
        `Progress`.
    failures : {"raise", "return"}
        With "raise", the first failure is raised after all runs have ended. With "return", the list contains the error
        of a failed run in place of the run.

    Raises
    ------
    ScenarioError
        If two jobs have the same directory.
    LeowarpError
        If a run fails and `failures` is "raise". The message contains the run's label. The error is also raised if the
        guest cannot be built.
    """
    outs = [str(Path(job.out).resolve()) for job in jobs]
    # The output directories are compared before any run begins. If the directories were not compared first, the second
    # of two runs would fail only hours later, when it finds the directory locked.
    twice = next((out for out in outs if outs.count(out) > 1), None)
    if twice is not None:
        raise ScenarioError(f"cannot make two runs in {twice}", hint="give each job a directory of its own")
    # The guest is built here once, with a progress display. If the guest were not built first, all processes would wait
    # for the build without a message.
    built_image(kernel or "default", progress)
    options = {"kernel": kernel, "force": force, "report": report, "trust": trust}
    tasks = [WholeRun(number, job.scenario, _copied(job.set), job.out, options) for number, job in enumerate(jobs)]
    results = _made(tasks, [job.label or Path(job.out).name for job in jobs], at_once, progress)
    if failures == "raise":
        for result in results:
            # The failure of the first failed job in the list is raised. Which failure occurs first depends on the
            # machine.
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
    # Runs are started in the order of the jobs, so that the first jobs usually have the first results.
    waiting = deque(tasks)
    # A container or a batch system may permit only some of the machine's cores. Only the cores in the CPU affinity are
    # therefore counted.
    count = max(1, min(at_once or usable_cores(), len(tasks)))
    with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch, shown(progress) as show:

        def on_progress(number: int, told: Mapping[str, Any]) -> None:
            # A run counts as done only when its worker is free again.
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
                    # A run whose result the worker has reported is complete, even if the worker died afterwards.
                    results[number] = Run(tasks[number].out) if number in made else _failure(labels[number], event)
        finally:
            # Workers are ended even after Ctrl-C: each is interrupted once, marks its run directory as incomplete, and
            # ends its guest.
            workers.end()
    return [results[number] for number in range(len(tasks))]


def _failure(label: str, ended: BatchEnded) -> LeowarpError:
    """Return the error that ended a run, with the run's label. If the worker reported an error, this error is returned.
    If not, the error says how the worker died. A run whose worker died is not repeated."""
    if ended.fault is None:
        return GuestError(f"the run {label} {ended.death}")
    error = decode_error(ended.fault)
    # The error has the class of the original error, so that the exit status is the same as for a single run.
    return type(error)(f"the run {label} failed: {error.message}", hint=error.hint)
