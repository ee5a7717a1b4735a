# SPDX-License-Identifier: Apache-2.0
"""Those who make the runs: what every kind of them can do, and the processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leowarp.errors import HostError
from leowarp.guest.own_time import end_patiently
from leowarp.study.sweep.batch import Batch

PATIENCE_S = 10.0
"""How much time of its own (`OwnTime`) a worker has to end before it is killed."""


@dataclass(frozen=True)
class RunMade:
    """A run of a batch was made, well or not; `result` as `batch.results_of` gives it."""

    batch: int
    place: int
    result: Mapping[str, Any]


@dataclass(frozen=True)
class BatchEnded:
    """A batch is over.

    Attributes
    ----------
    batch : int
    fault : mapping, optional
        The error that ended it early.
    lost : int
        How many workers died over it.

    Runs of the batch for which there was no `RunMade` are unfinished.
    """

    batch: int
    fault: Mapping[str, Any] | None = None
    lost: int = 0


Event = RunMade | BatchEnded


class Workers(Protocol):
    """Some workers, wherever they are."""

    @property
    def size(self) -> int:
        """How many work at a time."""

    @property
    def free(self) -> int:
        """How many more batches would be begun now."""

    def give(self, batch: Batch) -> None:
        """Has a batch made."""

    def wait(self, timeout_s: float) -> list[Event]:
        """What has happened; waits for something to happen, but not longer than this."""

    def end(self) -> list[Event]:
        """Ends all of them, and what they have under way; returns what they had made and not reported yet."""


class LocalWorkers:
    """Worker processes of this machine.

    Parameters
    ----------
    count : int
    scratch : Path
        A directory for what they write while they work.
    """

    def __init__(self, count: int, scratch: Path) -> None:
        self._scratch = scratch
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Process] = []
        self._started = 0
        self.size = count
        try:
            for _ in range(count):
                self._start()
        except BaseException:
            self.end()
            raise

    @property
    def free(self) -> int:
        """Workers without a batch."""
        return sum(worker.batch is None for worker in self._workers)

    def give(self, batch: Batch) -> None:
        """Hands a batch to a free worker."""
        worker = next(worker for worker in self._workers if worker.batch is None)
        worker.batch = batch.number
        worker.give(json.dumps(batch.encode()))

    def wait(self, timeout_s: float) -> list[Event]:
        """What the workers have said, and which of them have died; those are replaced."""
        events: list[Event] = []
        for key, _ in self._selector.select(timeout_s):
            worker: _Process = key.data
            for message in worker.lines():
                events += _event(worker, message)
            if worker.is_over:
                self._replace_dead(worker, events)
        return events

    def end(self) -> list[Event]:
        """Interrupts all workers, each of which ends its guest, and kills those that take too long."""
        events: list[Event] = []
        for worker in self._workers:
            worker.interrupt()
        end_patiently((worker.child for worker in self._workers), PATIENCE_S)
        for worker in self._workers:
            events += [event for message in worker.lines() for event in _event(worker, message)]
            worker.close()
        self._workers = []
        self._selector.close()
        return [event for event in events if isinstance(event, RunMade)]

    def _start(self) -> None:
        self._started += 1
        worker = _Process(self._scratch / f"worker-{self._started}")
        self._workers.append(worker)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def _replace_dead(self, worker: _Process, events: list[Event]) -> None:
        """Takes a worker that has ended out and starts another; what it had under way has lost a worker.

        One that ended before it could begin is an error of the machine: the next would end in the same way.
        """
        self._selector.unregister(worker.stdout)
        self._workers.remove(worker)
        end_patiently([worker.child], PATIENCE_S)
        worker.close()
        if not worker.was_ready:
            words = worker.last_words() or "no word"
            raise HostError(f"a worker of the study {worker.how_it_ended()} before it could begin: {words}")
        if worker.batch is not None:
            events.append(BatchEnded(worker.batch, lost=1))
        self._start()


class _Process:
    """One worker process."""

    def __init__(self, scratch: Path) -> None:
        self.batch: int | None = None
        self.was_ready = False
        self.is_over = False
        self._partial = b""
        scratch.parent.mkdir(parents=True, exist_ok=True)
        self._words = scratch.with_suffix(".stderr")
        command = [sys.executable, "-m", "leowarp.study.sweep.worker", str(os.getpid()), str(scratch)]
        with self._words.open("wb") as words:
            # A session of its own: Ctrl-C reaches the parent alone, which then interrupts each worker once.
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, start_new_session=True
            )
        assert self.child.stdout is not None
        self.stdout = self.child.stdout
        os.set_blocking(self.stdout.fileno(), False)

    def give(self, line: str) -> None:
        assert self.child.stdin is not None
        # A worker that died is found by the end of its output.
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()

    def lines(self) -> list[dict[str, Any]]:
        """The messages that have come whole since the last call; sets `is_over` at the end of the output."""
        while True:
            try:
                piece = os.read(self.stdout.fileno(), 1 << 20)
            except BlockingIOError:
                break
            if not piece:
                self.is_over = True
                break
            self._partial += piece
        *whole, self._partial = self._partial.split(b"\n")
        return [json.loads(line) for line in whole]

    def interrupt(self) -> None:
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)

    def how_it_ended(self) -> str:
        status = self.child.wait()
        return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"

    def close(self) -> None:
        self.stdout.close()
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()

    def last_words(self) -> str:
        return self._words.read_text(errors="replace").strip()[-2000:]


def _event(worker: _Process, message: Mapping[str, Any]) -> list[Event]:
    """What a message says: nothing new, a run, or the end of the batch, after which the worker is free."""
    if "ready" in message:
        worker.was_ready = True
        return []
    if "place" in message:
        return [RunMade(message["batch"], message["place"], message["result"])]
    worker.batch = None
    return [BatchEnded(message["batch"], message["fault"])]
