# SPDX-License-Identifier: Apache-2.0
"""One start of a study. The session gives batches to workers, checks the results, and stores a row per run."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leowarp.base import plainfiles
from leowarp.base.errors import HostError, LeowarpError, decode_error
from leowarp.running.workers import BatchEnded, Event, RunMade
from leowarp.study.sweep import disk
from leowarp.study.sweep.batch import Batch, Order
from leowarp.study.sweep.display import OnStudyProgress, Pace, StudyProgress
from leowarp.study.sweep.maker import Maker
from leowarp.study.sweep.outstanding import Outstanding, batch_size
from leowarp.study.sweep.plans import StudyRun, input_of
from leowarp.study.sweep.rows import FAILED
from leowarp.study.sweep.store import Store

MOST_LOST_WORKERS = 3
"""A run fails if this many workers have died while making it."""

MOST_HOST_ERRORS = 3
"""The study ends after this number of successive runs with a machine error, because the machine then seems at fault."""

WAIT_S = 1.0
"""The longest time in s for which the session waits for workers. It then updates the progress again."""
RUNS = "runs"
"""The folder of the run directories that are stored. Each run directory is named by its run id."""


@dataclass(frozen=True)
class Task:
    """The work that one start of a study has to do.

    runs: The requested runs, with or without a stored row.
    keep: The runs whose complete directories are stored: none, failed, or all.
    """

    name: str
    folder: Path
    runs: Sequence[StudyRun]
    keep: str
    maker: Maker


@dataclass
class _UnderWay:
    """A batch that a worker is making.

    unfinished: Each run that has no result yet, by its position in the batch.
    is_alone: Whether the batch has only one run. If its worker dies, this run must be the cause.
    """

    unfinished: dict[int, StudyRun]
    is_alone: bool


class Workers(Protocol):
    """The workers that make runs. They are on this machine (`LocalWorkers`) or on others (`DaskWorkers`).

    The session reads `free`, calls `give` with batches, and then calls `wait`. For each batch, `wait` first returns a
    `RunMade` event for each run. After these, it returns one `BatchEnded` event. Workers never write results into the
    store.
    """

    @property
    def size(self) -> int:
        """The number of workers."""

    @property
    def free(self) -> int:
        """The number of further batches that would start immediately."""

    def give(self, batch: Batch) -> None:
        """Start a batch, without waiting for it. `give` is called only if `free` is above 0."""

    def wait(self, timeout_s: float) -> list[Event]:
        """Return the events since the last call of `wait`. The call returns as soon as there is an event, or after the
        timeout."""

    def end(self) -> list[Event]:
        """Stop all workers and their batches. Return the events that `wait` has not yet returned."""


class Session:
    """A session in which workers make the runs of a task, except runs that the store already has.

    If a run's result has an error, the run has failed. With `keep = "failed"`, a run that failed in a larger batch is
    repeated alone to write its directory. If a worker dies, it is unknown at first which run of its batch was the
    cause. The runs of the batch are tried again, first together, and then each alone. A run counts as failed if three
    workers died while making it. An error of the machine (`HostError`) is stored as a failure of the run only if other
    runs succeed.

    show: The function that is called with a `StudyProgress` after each wait for the workers.
    """

    def __init__(self, task: Task, store: Store, workers: Workers, show: OnStudyProgress) -> None:
        self._task, self._store, self._workers, self._show = task, store, workers, show
        # Failed runs have a row, which the caller has dropped with `retry_failed`.
        self._outstanding = Outstanding(run for run in task.runs if run.run_id not in store.status)
        self._under_way: dict[int, _UnderWay] = {}
        self._given = 0
        self._lost: dict[str, int] = {}
        self._put_aside: list[tuple[StudyRun, Mapping[str, Any]]] = []
        self._host_errors_in_a_row = 0
        self._any_good = False
        statuses = [store.status[run.run_id] for run in task.runs if run.run_id in store.status]
        self._done, self._failed = len(statuses), statuses.count(FAILED)
        self._pace = Pace()

    def run(self) -> None:
        """Make all missing runs.

        Raises HostError if the machine lacks something that every run needs, or if the results cannot be written.
        Raises KeyboardInterrupt after Ctrl-C. The store then contains the runs that were completed before Ctrl-C.
        """
        self._show_progress()
        try:
            # The loop needs both conditions, because a run in a batch of `_under_way` may return to `_outstanding`.
            while self._outstanding or self._under_way:
                self._give()
                self._write(self._rows(self._workers.wait(WAIT_S)))
                self._show_progress()
            # Until here, another run may show that the machine can make runs.
            self._write(self._aside_at_the_end())
            self._show_progress()
        except KeyboardInterrupt:
            # A result that a worker has written into its pipe is stored. The run that it was making is lost.
            self._write(self._rows(self._workers.end()))
            raise

    def _give(self) -> None:
        # The size is computed for each batch, because batches become smaller towards the end.
        while self._outstanding and self._workers.free > 0:
            rate = self._pace.rate_per_s
            # `rate_per_s` counts the runs of all workers together, so a run takes `workers / rate` on one worker.
            run_s = self._workers.size / rate if rate else None
            runs = self._outstanding.take(batch_size(len(self._outstanding), self._workers.size, run_s))
            self._given += 1
            self._under_way[self._given] = _UnderWay(dict(enumerate(runs)), len(runs) == 1)
            self._workers.give(self._batch(self._given, runs))

    def _batch(self, number: int, runs: list[StudyRun]) -> Batch:
        """Return a batch of runs with the same kernel and origin. It contains the input files of the plans, because
        other machines cannot read the study's directory."""
        first = runs[0]
        # If `keep` is "failed", batches of several runs write no directories, because few runs fail, and writing takes
        # longer than computing the summary.
        is_kept = self._task.keep == "all" or (self._task.keep == "failed" and len(runs) == 1)
        orders = tuple(
            Order(run.plan, run.inputs, str(self._fresh_directory(run)) if is_kept else None) for run in runs
        )
        origin = first.origin
        image = (origin.kernel_sha256, origin.agent_sha256)
        names = sorted({name for run in runs for name in run.inputs})
        inputs = {name: base64.b64encode(input_of(self._task.folder, name)).decode() for name in names}
        return Batch(number, orders, inputs, first.kernel, image, origin.leowarp_version, self._task.maker)

    def _fresh_directory(self, run: StudyRun) -> Path:
        """Return the path for the directory of a run, without the files that a killed start may have left in it."""
        path = (self._task.folder / RUNS / run.run_id).resolve()
        with disk.writing(self._task.folder):
            plainfiles.remove(path)
            path.parent.mkdir(exist_ok=True)
        return path

    def _rows(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        rows = []
        for event in events:
            rows += self._after_run(event) if isinstance(event, RunMade) else self._after_batch(event)
        return rows

    def _after_run(self, event: RunMade) -> list[dict[str, Any]]:
        """Return the rows to store after a run. If the run failed and must be repeated to write its directory, the list
        is empty."""
        batch = self._under_way[event.batch]
        run = batch.unfinished.pop(event.place)
        if event.result["error"] is None:
            return self._good(run, event.result)
        if batch.is_alone or self._task.keep != "failed":
            return self._bad(run, event.result)
        self._outstanding.give_back_alone(run)
        return []

    def _after_batch(self, event: BatchEnded) -> list[dict[str, Any]]:
        """Return the rows to store at the end of a batch. If a run has no result and its batch had several runs, the
        run is repeated alone in a batch.

        If the batch ended without an error and no worker was lost, a missing result indicates a bug.
        """
        batch = self._under_way.pop(event.batch)
        unfinished = list(batch.unfinished.values())
        if not unfinished:
            return []
        if event.lost:
            return self._after_loss(batch, unfinished, event.lost)
        error = event.fault or {"kind": "GuestError", "message": "its batch ended without a word of it", "hint": None}
        if batch.is_alone:
            return self._bad(unfinished[0], {"error": error})
        # Each unfinished run is put at the front of the queue, so the loop is reversed to keep the order of the study.
        for run in reversed(unfinished):
            self._outstanding.give_back_alone(run)
        return []

    def _after_loss(self, batch: _UnderWay, unfinished: list[StudyRun], lost: int) -> list[dict[str, Any]]:
        """Handle the runs of a worker that died. After the first death of a worker, the worker's runs are tried again
        together. After a further death, each run is tried alone. A run in a batch of its own fails if
        `MOST_LOST_WORKERS` workers died while making it."""
        rows, together = [], []
        for run in reversed(unfinished):
            # `lost` may exceed 1, because Dask itself gives a lost batch to other workers (`KilledWorker`).
            count = self._lost[run.run_id] = self._lost.get(run.run_id, 0) + lost
            if batch.is_alone and count >= MOST_LOST_WORKERS:
                message = f"its worker was killed {count} times while it was made"
                hint = "does it need more memory than there is? look for 'out of memory' in the kernel's log (dmesg)"
                rows += self._bad(run, {"error": {"kind": "GuestError", "message": message, "hint": hint}})
            elif count > 1:
                self._outstanding.give_back_alone(run)
            else:
                together.append(run)
        self._outstanding.give_back(together)
        return rows

    def _good(self, run: StudyRun, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a completed run, and of failed runs that were set aside before it. The completed run shows
        that the machine did not cause their failures."""
        self._any_good, self._host_errors_in_a_row = True, 0
        rows = [run.row(result), *(other.row(failure) for other, failure in self._put_aside)]
        self._put_aside = []
        # A run that was made alone has written its directory, even if it succeeded.
        if self._task.keep == "failed":
            plainfiles.remove(self._task.folder / RUNS / run.run_id)
        return rows

    def _bad(self, run: StudyRun, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the row of a failed run. If the error is a `HostError`, there is no row yet, and the run waits until
        another run succeeds.

        Raises HostError if `MOST_HOST_ERRORS` runs in succession failed with a `HostError`.
        """
        if result["error"]["kind"] != HostError.__name__:
            self._host_errors_in_a_row = 0
            return [run.row(result)]
        # The next runs show whether the machine cannot make any run, or only this run needs more than the machine has.
        # A row that is written now would mark the run as failed. A later start of the study with more memory or disk
        # space would then skip the run.
        self._put_aside.append((run, result))
        self._host_errors_in_a_row += 1
        if self._host_errors_in_a_row >= MOST_HOST_ERRORS:
            raise self._stopped()
        return []

    def _aside_at_the_end(self) -> list[dict[str, Any]]:
        if self._put_aside and not self._any_good:
            raise self._stopped()
        return [run.row(result) for run, result in self._put_aside]

    def _stopped(self) -> LeowarpError:
        run, result = self._put_aside[-1]
        error = decode_error(result["error"])
        hint = f"{error.hint}; then start the study again" if error.hint else "mend it and start the study again"
        return HostError(f"the study stopped at the run {run.run_id} ({run}): {error.message}", hint=hint)

    def _write(self, rows: list[dict[str, Any]]) -> None:
        # A run that was displayed as done is not lost if the process is killed.
        self._store.add(rows)
        if rows:
            self._done += len(rows)
            self._failed += sum(row["status"] == FAILED for row in rows)
            self._pace.made(len(rows), [row["cpu_s"] for row in rows if row.get("cpu_s") is not None])

    def _show_progress(self) -> None:
        self._show(StudyProgress(
            self._task.name, self._done, len(self._task.runs), self._failed, self._workers.size,
            self._pace.rate_per_s, self._pace.cpu_s_per_run,
        ))  # fmt: skip
