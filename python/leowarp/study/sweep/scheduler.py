# SPDX-License-Identifier: Apache-2.0
"""Workers of a Dask scheduler: on other machines, under Slurm, wherever `dask worker` was started.

A batch is a task. Dask gives it to another worker if the first is lost, and gives up after `allowed-failures` losses
(3 if its configuration says nothing else). Batches and results travel as plain dictionaries of text.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import HostError, encode_error
from leowarp.running.workers import BatchEnded, Event, RunMade
from leowarp.study.sweep.batch import Batch, results_of

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 30
"""Time in which a scheduler, or the worker that has a result, must answer."""
COUNT_S = 2.0
"""How often workers are counted: on a cluster they come and go."""


class DaskWorkers:
    """The workers of a scheduler, as `session.Workers`.

    address: `tcp://host:8786`.
    size: Worker processes as last counted; 0 while none has come yet, and then the study waits.
    Raises HostError if the package `distributed` is missing, or nobody answers at the address.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connected(address)
        self._under_way: dict[Future, int] = {}
        # Long ago, so that the first look counts.
        self._counted_at = -COUNT_S
        self.size = 0
        self._count()

    @property
    def free(self) -> int:
        """A batch stands by for each worker, so that none waits for us."""
        # Without any worker yet nothing is given: batches are sized by how many work.
        return max(0, 2 * self.size - len(self._under_way))

    def give(self, batch: Batch) -> None:
        """Has some worker make a batch."""
        # Not pure: a batch is never the same computation as another.
        self._under_way[self._client.submit(_results, batch.encode(), pure=False)] = batch.number

    def wait(self, timeout_s: float) -> list[Event]:
        """The results of the batches that are done.

        timeout_s: Seconds of the wall clock to wait for the first of them.
        Returns: Of each batch that is done its runs, then its end; empty if none is.
        Raises HostError if the scheduler has gone.
        """
        from distributed import wait

        self._count()
        if not self._under_way:
            # There is nothing to wait for: without a pause the session would spin while no worker is there.
            time.sleep(timeout_s)
            return []
        try:
            # `wait` takes the current client, and this one is not set as default, so as not to take the place of the
            # caller's own.
            with self._client.as_current():
                done = wait(list(self._under_way), timeout=timeout_s, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        return [event for future in list(self._under_way) if future in done for event in self._events_of(future)]

    def end(self) -> list[Event]:
        """Cancels what is under way; a batch that a worker has begun goes on there and does not report any more."""
        # A client that has lost its scheduler would wait for an answer to its cancel.
        if self._client.status == "running":
            self._client.cancel(list(self._under_way), force=True)
        self._under_way = {}
        self._client.close()
        return []

    def _count(self) -> None:
        """Counts workers now and then; raises `HostError` if the scheduler has gone."""
        if self._client.status not in ("running", "connecting"):
            raise self._gone()
        if time.monotonic() - self._counted_at > COUNT_S and self._client.status == "running":
            # Processes, not threads: each makes one batch at a time.
            self.size = len(self._client.nthreads())
            self._counted_at = time.monotonic()

    def _events_of(self, future: Future) -> list[Event]:
        """Result of a batch; nothing if the worker that had it is lost, because Dask then makes it again."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            # The result lies at the worker that made it until it is asked for.
            answer = future.result(timeout=CONNECT_S)
        except TimeoutError:
            # The worker that had the result is lost, and another one makes it again.
            return []
        except KilledWorker as error:
            # Dask gives up at one failure more than are allowed, and each of them was a worker's death.
            return [BatchEnded(self._under_way.pop(future), lost=error.allowed_failures + 1)]
        except Exception as error:
            # Failures that `_results` could not catch: leowarp is missing there, or another version.
            message = f"a worker of {self._address} could not begin: {error!r}"
            hint = "install the same leowarp on every machine; the worker's log says more"
            fault = encode_error(HostError(message, hint))
            return [BatchEnded(self._under_way.pop(future), fault)]
        number = self._under_way.pop(future)
        made = [RunMade(number, place, result) for place, result in answer["results"]]
        return [*made, BatchEnded(number, answer["fault"])]

    def _gone(self) -> HostError:
        """The error of a scheduler that no longer answers; results so far are stored."""
        return HostError(f"the scheduler {self._address} went away", "start it and then the study again")


def _connected(address: str) -> Client:
    """A client of the scheduler; HostError if there is no Dask, or nobody answers within `CONNECT_S`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise HostError(
            "--scheduler needs the package distributed, which is not installed", "pip install 'leowarp[dask]'"
        ) from error
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise HostError(
            f"cannot reach a Dask scheduler at {address}: {error}", "start one: dask scheduler; it prints its address"
        ) from error


def _results(encoded: Mapping[str, Any]) -> dict[str, Any]:
    """A task: what became of each run of a batch, and the fault that ended it early.

    Nothing is raised: an exception of ours would have to be unpickled by the client, and results before it would be
    lost.

    Returns: `results`: list of (place, result), as `batch.results_of`; `fault`: None, or the error
        (`errors.encode_error`).
    """
    results: list[tuple[int, Mapping[str, Any]]] = []
    fault = None
    # One at a time in a process with several threads: a run's CPU time is that of its process.
    with _AT_WORK, tempfile.TemporaryDirectory(prefix="leowarp-") as scratch:
        try:
            results += results_of(Batch.decode(encoded), Path(scratch) / "batch")
        except Exception as error:
            fault = encode_error(error)
    return {"results": results, "fault": fault}


_AT_WORK = threading.Lock()
"""Held while a batch is made."""
