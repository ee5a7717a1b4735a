# SPDX-License-Identifier: Apache-2.0
"""Runs batches on the workers of a Dask scheduler. The workers may be on other machines, under Slurm, or wherever `dask
worker` runs.

Each batch is a Dask task. If a worker is lost, Dask gives its batch to another worker. Dask gives up on a batch that
has lost more than `allowed-failures` workers (default 3). Batches and results are sent as plain dictionaries of text.
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
"""The maximum time in s to wait for an answer from the scheduler, or from a worker that has a result."""
COUNT_S = 2.0
"""The workers are counted at this interval, in s. On a cluster, workers may start and end at any time."""


class DaskWorkers:
    """The workers of a scheduler, with the interface `session.Workers`.

    address: The address of the scheduler, such as `tcp://host:8786`.
    size: The number of worker processes when they were last counted. While there are no workers, the study waits.
    Raises HostError if the package `distributed` is missing, or if nothing answers at the address.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connected(address)
        self._under_way: dict[Future, int] = {}
        # The start lies in the past, so that the first call of `_count` counts the workers.
        self._counted_at = -COUNT_S
        self.size = 0
        self._count()

    @property
    def free(self) -> int:
        """Return the number of batches to submit now. Each worker gets one batch to run and one in its queue, so that
        it never waits for the study."""
        # Without workers, no batch is submitted, because the size of a batch depends on the number of workers.
        return max(0, 2 * self.size - len(self._under_way))

    def give(self, batch: Batch) -> None:
        # pure=False, because Dask would otherwise compute only one of two equal batches.
        self._under_way[self._client.submit(_results, batch.encode(), pure=False)] = batch.number

    def wait(self, timeout_s: float) -> list[Event]:
        """Return the events of the batches that are complete (see `session.Workers`).

        Raises HostError if the scheduler is gone.
        """
        from distributed import wait

        self._count()
        if not self._under_way:
            # Without a pause, the session would loop without delay while there is no worker.
            time.sleep(timeout_s)
            return []
        try:
            # leowarp's client becomes Dask's current client only for this call, so that it does not replace the
            # caller's client.
            with self._client.as_current():
                done = wait(list(self._under_way), timeout=timeout_s, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        return [event for future in list(self._under_way) if future in done for event in self._events_of(future)]

    def end(self) -> list[Event]:
        """Cancel the batches that are not complete. A batch that a worker has begun is completed, but its results are
        dropped."""
        # A client that has lost its scheduler would wait forever for an answer to its request to cancel.
        if self._client.status == "running":
            self._client.cancel(list(self._under_way), force=True)
        self._under_way = {}
        self._client.close()
        return []

    def _count(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()
        if time.monotonic() - self._counted_at > COUNT_S and self._client.status == "running":
            # Processes are counted, because each makes only one batch at a time.
            self.size = len(self._client.nthreads())
            self._counted_at = time.monotonic()

    def _events_of(self, future: Future) -> list[Event]:
        """Return the events of a batch whose future is done. The list is empty if Dask repeats the batch because its
        worker was lost."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            answer = future.result(timeout=CONNECT_S)
        except TimeoutError:
            # The worker that had the result is lost, so Dask lets another worker repeat the batch.
            return []
        except KilledWorker as error:
            # Dask raises KilledWorker when the number of lost workers exceeds `allowed-failures` by one.
            return [BatchEnded(self._under_way.pop(future), lost=error.allowed_failures + 1)]
        except Exception as error:
            # `_results` has not run, for example because the worker lacks leowarp or has another version.
            message = f"a worker of {self._address} could not begin: {error!r}"
            hint = "install the same leowarp on every machine; the worker's log says more"
            fault = encode_error(HostError(message, hint))
            return [BatchEnded(self._under_way.pop(future), fault)]
        number = self._under_way.pop(future)
        made = [RunMade(number, place, result) for place, result in answer["results"]]
        return [*made, BatchEnded(number, answer["fault"])]

    def _gone(self) -> HostError:
        return HostError(f"the scheduler {self._address} went away", "start it and then the study again")


def _connected(address: str) -> Client:
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
    """Make a batch as a Dask task, and return the results of its runs.

    If an error that ends the batch early were raised, the client would lose the earlier results of the batch.

    Returns: The list `results` of (place, result) as in `batch.results_of`, and `fault`. `fault` is None or the error
        that ended the batch (`errors.encode_error`).
    """
    results: list[tuple[int, Mapping[str, Any]]] = []
    fault = None
    # The CPU time of a run is measured for the whole process, which may have several threads.
    with _AT_WORK, tempfile.TemporaryDirectory(prefix="leowarp-") as scratch:
        try:
            results += results_of(Batch.decode(encoded), Path(scratch) / "batch")
        except Exception as error:
            fault = encode_error(error)
    return {"results": results, "fault": fault}


_AT_WORK = threading.Lock()
