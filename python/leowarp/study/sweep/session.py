# SPDX-License-Identifier: Apache-2.0
"""From one start of a study to its end: gives out batches, checks what comes back, and has each row written."""

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
"""A run that costs as many workers their life is failed."""

MOST_HOST_ERRORS = 3
"""This number of consecutive runs that fail because the machine lacks something ends the study: it is not the runs."""

WAIT_S = 1.0
"""Time for which the session waits for workers before it looks after progress again."""
RUNS = "runs"
"""The folder of run directories that are kept, by run id."""


@dataclass(frozen=True)
class Task:
    """Work of a start of a study.

    name: Of the study, for the display.
    runs: Those asked for, whether they are there or not.
    keep: Whole run directories that stay: none, failed, all.
    """

    name: str
    folder: Path
    runs: Sequence[StudyRun]
    keep: str
    maker: Maker


@dataclass
class _UnderWay:
    """A batch that a worker has.

    runs: All of its runs, as they were given out.
    unfinished: By their place in the batch, those of which nothing was reported yet.
    """

    runs: list[StudyRun]
    unfinished: dict[int, StudyRun]

    @property
    def is_alone(self) -> bool:
        """Whether it is a run by itself: what kills its worker has no other run to blame."""
        return len(self.runs) == 1


class Workers(Protocol):
    """Those who make the runs, on this machine (`LocalWorkers`) or on others (`DaskWorkers`).

    The session asks `free`, gives batches, and waits. For each batch it gets every run (`RunMade`) and its end
    (`BatchEnded`), in this order. Workers never write results.
    """

    @property
    def size(self) -> int:
        """Number of workers."""

    @property
    def free(self) -> int:
        """Number of further batches that would be begun now."""

    def give(self, batch: Batch) -> None:
        """Has a batch made.

        Called only while `free` is above 0; returns at once.
        """

    def wait(self, timeout_s: float) -> list[Event]:
        """Events; waits for one, but not longer than this."""

    def end(self) -> list[Event]:
        """Ends all of them, and what they have under way; returns what they had made and nobody had heard of."""


class Session:
    """The runs of a task that are not in the store yet, made by workers.

    A run that fails is failed; if its directory is to stay (`keep = "failed"`), it is repeated for that. A worker's
    death is nobody's fault at first: its runs are tried together, then alone, and one that was there three times is
    failed. A lack of the machine (`HostError`) is no run's fault unless others succeed.

    store: Open; its `status` says which runs are there.
    show: Gets a `StudyProgress` after every look at the workers.
    """

    def __init__(self, task: Task, store: Store, workers: Workers, show: OnStudyProgress) -> None:
        self._task, self._store, self._workers, self._show = task, store, workers, show
        # Failed runs have a row, too: they are repeated only if the caller has dropped them (`retry_failed`).
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

        Raises HostError if the machine lacks something that no run can do without, or the results cannot be written.
        Raises KeyboardInterrupt: After Ctrl-C; what was made until then is in the store.
        """
        self._show_progress()
        try:
            # Runs come back into `_outstanding` while others are under way, so both are asked.
            while self._outstanding or self._under_way:
                self._give()
                self._write(self._rows(self._workers.wait(WAIT_S)))
                self._show_progress()
            # Only now is it certain whether this machine can make runs at all.
            self._write(self._aside_at_the_end())
            self._show_progress()
        except KeyboardInterrupt:
            # Runs that were made and not reported yet. Runs that a worker had reported, and that lie in its pipe, are
            # kept; the one under way is lost.
            self._write(self._rows(self._workers.end()))
            raise

    def _give(self) -> None:
        """Gives batches to workers that are free, as large as the pace so far suggests."""
        # The size of each batch is asked anew: towards the end they become smaller.
        while self._outstanding and self._workers.free > 0:
            rate = self._pace.rate_per_s
            # The rate is that of all workers together; a run takes one of them that much longer.
            run_s = self._workers.size / rate if rate else None
            runs = self._outstanding.take(batch_size(len(self._outstanding), self._workers.size, run_s))
            self._given += 1
            self._under_way[self._given] = _UnderWay(runs, dict(enumerate(runs)))
            self._workers.give(self._batch(self._given, runs))

    def _batch(self, number: int, runs: list[StudyRun]) -> Batch:
        """The batch for these runs, all of one kernel and origin (`Outstanding` keeps others apart).

        With `keep = "failed"` a run has a directory only if it is alone: one that fails in company is repeated alone.

        The files that plans name travel in the batch, base64: workers elsewhere have no access to the study's
        directory.
        """
        first = runs[0]
        # To write a directory costs more than the summary, and few runs fail.
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
        # Each file once, though a hundred runs of the batch name it.
        names = sorted({name for run in runs for name in run.inputs})
        inputs = {name: encode_file(input_of(self._task.folder, name)) for name in names}
        return Batch(number, orders, inputs, first.kernel, image, origin.leowarp_version, self._task.maker)

    def _fresh_directory(self, run: StudyRun) -> Path:
        """Where a run's directory is to be, without what a killed start has left there."""
        path = (self._task.folder / RUNS / run.run_id).resolve()
        # Leftover of a start that was killed before the run's row was written.
        with disk.writing(self._task.folder):
            plainfiles.remove(path)
            path.parent.mkdir(exist_ok=True)
        return path

    def _rows(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        """The rows that what the workers report leads to."""
        rows = []
        for event in events:
            rows += self._after_run(event) if isinstance(event, RunMade) else self._after_batch(event)
        return rows

    def _after_run(self, event: RunMade) -> list[dict[str, Any]]:
        """The rows of a finished run: none if it failed and is repeated for its directory.

        event: `result` as `batch.results_of` gives it: `summary`, `costs`, `warnings`, `error`.
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
        """The rows at the end of a batch: missing runs are repeated, each alone, unless it was alone.

        Without a fault and without a loss a batch that leaves runs unmade has ended without a reason, which is a fault
        by itself.
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
        # In reverse, since each is put at the front: they come in the study's order again.
        for run in reversed(unfinished):
            self._outstanding.give_back_alone(run)
        return []

    def _after_loss(self, batch: _UnderWay, unfinished: list[StudyRun], lost: int) -> list[dict[str, Any]]:
        """Fate of runs whose worker died: once together, then each alone, until `MOST_LOST_WORKERS` have died of it."""
        # The guilty one is not known: they are tried together once more, then each alone.
        rows, together = [], []
        for run in reversed(unfinished):
            # `lost` may be more than 1: Dask gives a lost batch to other workers by itself (`KilledWorker`).
            count = self._lost[run.run_id] = self._lost.get(run.run_id, 0) + lost
            # Only alone: in company the killer may be another run of the batch.
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
        """The row of a run that was made, and of those put aside: the machine is able to make runs, so those failed by
        themselves.
        """
        self._any_good, self._host_errors_in_a_row = True, 0
        # In the order in which they are known, not of the study: the store sorts by number when it is read.
        rows = [self._row(run, result), *(self._row(*one) for one in self._put_aside)]
        self._put_aside = []
        # A run that was made alone has a directory; now that it did not fail, it goes.
        if self._task.keep == "failed":
            plainfiles.remove(self._task.folder / RUNS / run.run_id)
        return rows

    def _bad(self, run: StudyRun, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The row of a run that failed; one that failed for what the machine lacks is put aside until another run was
        made.

        Raises HostError after `MOST_HOST_ERRORS` of these in a row.
        """
        if result["error"]["kind"] != HostError.__name__:
            # The machine could make this one so far that it failed by itself.
            self._host_errors_in_a_row = 0
            return [self._row(run, result)]
        # The machine's fault, or the run asks for more than any machine has: the next runs tell.
        # Not written yet: a row would count it as failed, and after more memory or disk the next start would leave it
        # out.
        self._put_aside.append((run, result))
        self._host_errors_in_a_row += 1
        if self._host_errors_in_a_row >= MOST_HOST_ERRORS:
            raise self._stopped()
        return []

    def _aside_at_the_end(self) -> list[dict[str, Any]]:
        """Rows of runs that lacked something of the machine, if it was able to make any run; else `HostError`."""
        if self._put_aside and not self._any_good:
            raise self._stopped()
        return [self._row(*one) for one in self._put_aside]

    def _stopped(self) -> LeowarpError:
        """The error that ends a study of which no run can be made here."""
        run, result = self._put_aside[-1]
        error = decode_error(result["error"])
        hint = f"{error.hint}; then start the study again" if error.hint else "mend it and start the study again"
        return HostError(f"the study stopped at the run {run.run_id} ({run}): {error.message}", hint=hint)

    def _row(self, run: StudyRun, result: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a run from what its worker reported."""
        return row_of(run.run_id, run.number, run.seed, run.plan_sha256, run.columns, run.origin, result)

    def _write(self, rows: list[dict[str, Any]]) -> None:
        """Puts rows into the store, and counts them once they are safe there."""
        # On the disk before it is counted: what the display calls done survives a kill.
        self._store.add(rows)
        if rows:
            self._done += len(rows)
            self._failed += sum(row["status"] == FAILED for row in rows)
            self._pace.made(len(rows), [row["cpu_s"] for row in rows if row.get("cpu_s") is not None])

    def _show_progress(self) -> None:
        """Shows how far the study is, runs of earlier starts included."""
        progress = StudyProgress(
            self._task.name, self._done, len(self._task.runs), self._failed, self._workers.size,
            self._pace.rate_per_s, self._pace.cpu_s_per_run,
        )  # fmt: skip
        self._show(progress)
