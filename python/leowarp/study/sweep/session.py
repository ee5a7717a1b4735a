# SPDX-License-Identifier: Apache-2.0
"""One start of a study from begin to end: distribute batches, check the results, and have each row written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leowarp.base import plainfiles
from leowarp.base.errors import HostError, LeowarpError, decode_error
from leowarp.running.workers import BatchEnded, Event, RunMade
from leowarp.study.sweep import disk
from leowarp.study.sweep.batch import Batch, Order, encode_file
from leowarp.study.sweep.display import OnStudyProgress, Pace, StudyProgress
from leowarp.study.sweep.maker import Maker
from leowarp.study.sweep.outstanding import Outstanding, batch_size
from leowarp.study.sweep.plans import StudyRun, input_of
from leowarp.study.sweep.rows import FAILED, row_of
from leowarp.study.sweep.store import Store

MOST_LOST_WORKERS = 3
"""A run is failed after it has killed this number of workers."""

MOST_HOST_ERRORS = 3
"""After this number of consecutive runs that lack something on the machine, the study ends: the machine is at fault,
not the runs."""

WAIT_S = 1.0
"""Time for which the session waits for workers before it updates the progress."""
RUNS = "runs"
"""The folder of run directories that are kept, by run id."""


@dataclass(frozen=True)
class Task:
    """Work of one start of a study.

    name: Name of the study, for the display.
    runs: Requested runs, with or without a stored row.
    keep: Whole run directories to keep: none, failed, all.
    """

    name: str
    folder: Path
    runs: Sequence[StudyRun]
    keep: str
    maker: Maker


@dataclass
class _UnderWay:
    """A batch that was given to a worker.

    runs: All runs of the batch as given out.
    unfinished: Runs without a report yet, by their place in the batch.
    """

    runs: list[StudyRun]
    unfinished: dict[int, StudyRun]

    @property
    def is_alone(self) -> bool:
        """Whether the batch has a single run: if its worker dies, only this run can be the cause."""
        return len(self.runs) == 1


class Workers(Protocol):
    """The workers that make runs, on this machine (`LocalWorkers`) or on others (`DaskWorkers`).

    The session reads `free`, gives batches, and waits. For each batch it receives every run (`RunMade`) and then the
    end (`BatchEnded`). Workers never write results.
    """

    @property
    def size(self) -> int:
        """Number of workers."""

    @property
    def free(self) -> int:
        """Number of further batches that would start now."""

    def give(self, batch: Batch) -> None:
        """Start a batch.

        Called only while `free` is above 0; returns immediately.
        """

    def wait(self, timeout_s: float) -> list[Event]:
        """Events since the last call; waits for at least one, up to a timeout."""

    def end(self) -> list[Event]:
        """Stop all workers and their batches; return results that had not been reported yet."""


class Session:
    """Makes the runs of a task that are not yet in the store, using workers.

    A run with an error is failed; if its directory is to be kept (`keep = "failed"`), the run is repeated for that. If
    a worker dies, the cause is unknown at first: its runs are retried together, then alone. A run that was present at
    three deaths is failed. A missing resource of the machine (`HostError`) counts against a run only if other runs
    succeed.

    store: Open store; its `status` says which runs have rows.
    show: Called with a `StudyProgress` each time the workers have been polled.
    """

    def __init__(self, task: Task, store: Store, workers: Workers, show: OnStudyProgress) -> None:
        self._task, self._store, self._workers, self._show = task, store, workers, show
        # Failed runs also have a row: they are repeated only if the caller has dropped them (`retry_failed`).
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
        """Makes them all.

        Raises HostError if the machine lacks something that every run needs, or the results cannot be written.
        Raises KeyboardInterrupt: After Ctrl-C; runs completed until then are in the store.
        """
        self._show_progress()
        try:
            # Runs may return to `_outstanding` while others are being made, so both are checked.
            while self._outstanding or self._under_way:
                self._give()
                self._write(self._rows(self._workers.wait(WAIT_S)))
                self._show_progress()
            # Only at this point is it certain whether this machine can make runs at all.
            self._write(self._aside_at_the_end())
            self._show_progress()
        except KeyboardInterrupt:
            # Results include runs that were made but not yet reported. Runs that a worker has written to its pipe are
            # kept; the run in progress is lost.
            self._write(self._rows(self._workers.end()))
            raise

    def _give(self) -> None:
        """Give batches to free workers; their size follows from the rate so far."""
        # The size is computed per batch, because batches shrink towards the end.
        while self._outstanding and self._workers.free > 0:
            rate = self._pace.rate_per_s
            # The rate is that of all workers together, so one run takes `workers / rate` on its worker.
            run_s = self._workers.size / rate if rate else None
            runs = self._outstanding.take(batch_size(len(self._outstanding), self._workers.size, run_s))
            self._given += 1
            self._under_way[self._given] = _UnderWay(runs, dict(enumerate(runs)))
            self._workers.give(self._batch(self._given, runs))

    def _batch(self, number: int, runs: list[StudyRun]) -> Batch:
        """The batch for some runs, which share kernel and origin (`Outstanding` separates them).

        With `keep = "failed"` only a run that is alone in its batch has a directory: a run that fails in a larger batch
        is repeated alone.

        Files that plans name are sent inside the batch, in base64: remote workers cannot access the study's directory.
        """
        first = runs[0]
        # Writing a directory costs more than computing the summary, and few runs fail.
        is_kept = self._task.keep == "all" or (self._task.keep == "failed" and len(runs) == 1)
        orders = tuple(
            Order(
                plan=run.plan,
                inputs=run.inputs,
                out=str(self._fresh_directory(run)) if is_kept else None,
            )
            for run in runs
        )
        origin = first.origin
        image = (origin.kernel_sha256, origin.agent_sha256)
        # Each input file is included once, even if many runs of the batch name it.
        names = sorted({name for run in runs for name in run.inputs})
        inputs = {name: encode_file(input_of(self._task.folder, name)) for name in names}
        return Batch(number, orders, inputs, first.kernel, image, origin.leowarp_version, self._task.maker)

    def _fresh_directory(self, run: StudyRun) -> Path:
        """Path for a run's directory, cleared of leftovers from a killed start."""
        path = (self._task.folder / RUNS / run.run_id).resolve()
        # The path may hold a leftover of a start that was killed before the run's row was written.
        with disk.writing(self._task.folder):
            plainfiles.remove(path)
            path.parent.mkdir(exist_ok=True)
        return path

    def _rows(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        """Rows that result from an event of the workers."""
        rows = []
        for event in events:
            rows += self._after_run(event) if isinstance(event, RunMade) else self._after_batch(event)
        return rows

    def _after_run(self, event: RunMade) -> list[dict[str, Any]]:
        """Rows of a finished run: none if it failed and is repeated to keep its directory.

        event: `result` is a result of `batch.results_of`: `summary`, `costs`, `warnings`, `error`.
        """
        batch = self._under_way[event.batch]
        run = batch.unfinished.pop(event.place)
        if event.result["error"] is None:
            return self._good(run, event.result)
        if batch.is_alone or self._task.keep != "failed":
            return self._bad(run, event.result)
        self._outstanding.give_back_alone(run)
        return []

    def _after_batch(self, event: BatchEnded) -> list[dict[str, Any]]:
        """Rows at the end of a batch: missing runs are repeated, each alone, unless the batch had only one run.

        A batch that leaves runs unmade without reporting a fault or a loss ended for no reason, which is itself a
        fault.
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
        # Each run is put at the front, so the reversed order restores the order of the study.
        for run in reversed(unfinished):
            self._outstanding.give_back_alone(run)
        return []

    def _after_loss(self, batch: _UnderWay, unfinished: list[StudyRun], lost: int) -> list[dict[str, Any]]:
        """Handle runs whose worker died: retry them once together, then each alone, until `MOST_LOST_WORKERS`
        deaths."""
        # The run that caused the death is unknown: they are retried together once, then each alone.
        rows, together = [], []
        for run in reversed(unfinished):
            # `lost` may exceed 1: Dask itself gives a lost batch to other workers (`KilledWorker`).
            count = self._lost[run.run_id] = self._lost.get(run.run_id, 0) + lost
            # Only a run alone is blamed: otherwise another run of the batch may be the cause.
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
        """Rows of a completed run and of the runs put aside. The machine evidently can make runs, so the runs put aside
        failed for their own reasons.
        """
        self._any_good, self._host_errors_in_a_row = True, 0
        # Rows are in the order of completion, not of the study: the store sorts by number when reading.
        rows = [self._row(run, result), *(self._row(*one) for one in self._put_aside)]
        self._put_aside = []
        # A run made alone has its own directory. The run succeeded here, so its directory is deleted.
        if self._task.keep == "failed":
            plainfiles.remove(self._task.folder / RUNS / run.run_id)
        return rows

    def _bad(self, run: StudyRun, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The row of a failed run. If the machine lacked something, the run is put aside until another run succeeds.

        Raises HostError after `MOST_HOST_ERRORS` such runs in succession.
        """
        if result["error"]["kind"] != HostError.__name__:
            # The machine works: it got this run to the point where it failed by itself.
            self._host_errors_in_a_row = 0
            return [self._row(run, result)]
        # Either the machine lacks something, or the run needs more than any machine has; the next runs decide. No row
        # is written yet: it would count as failed, and a restart with more memory or disk would skip the run.
        self._put_aside.append((run, result))
        self._host_errors_in_a_row += 1
        if self._host_errors_in_a_row >= MOST_HOST_ERRORS:
            raise self._stopped()
        return []

    def _aside_at_the_end(self) -> list[dict[str, Any]]:
        """Rows of runs that lacked something on the machine, if it could make at least one run; else `HostError`."""
        if self._put_aside and not self._any_good:
            raise self._stopped()
        return [self._row(*one) for one in self._put_aside]

    def _stopped(self) -> LeowarpError:
        """The error that ends a study if no run can be made on this machine."""
        run, result = self._put_aside[-1]
        error = decode_error(result["error"])
        hint = f"{error.hint}; then start the study again" if error.hint else "mend it and start the study again"
        return HostError(f"the study stopped at the run {run.run_id} ({run}): {error.message}", hint=hint)

    def _row(self, run: StudyRun, result: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a run from its worker's report."""
        return row_of(run.run_id, run.number, run.seed, run.plan_sha256, run.columns, run.origin, result)

    def _write(self, rows: list[dict[str, Any]]) -> None:
        """Store rows, and count them once they are on disk."""
        # Rows are on disk before they are counted: runs displayed as done survive a kill.
        self._store.add(rows)
        if rows:
            self._done += len(rows)
            self._failed += sum(row["status"] == FAILED for row in rows)
            self._pace.made(len(rows), [row["cpu_s"] for row in rows if row.get("cpu_s") is not None])

    def _show_progress(self) -> None:
        """Show the progress of the study, including runs of earlier starts."""
        progress = StudyProgress(
            self._task.name, self._done, len(self._task.runs), self._failed, self._workers.size,
            self._pace.rate_per_s, self._pace.cpu_s_per_run,
        )  # fmt: skip
        self._show(progress)
