# SPDX-License-Identifier: Apache-2.0
"""Worker processes on this machine: they receive tasks, make runs and report the result of each run.

If a worker dies, it is replaced, and the others continue. A worker makes one run at a time, so that processor time can
be measured per run.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from leowarp.base.errors import HostError
from leowarp.guest.machine.own_time import end_patiently

PATIENCE_S = 10.0
"""Processor time (`OwnTime`) after which a worker that should end is killed."""

MOST_KILLED_AT_START = 3
"""Maximum number of successive workers, per parallel worker, that may be killed during their start. Beyond this number,
the machine is at fault. The number equals the worker deaths that a study allows for a run."""


class Tell(Protocol):
    """Function by which a task reports from within its worker; all arguments must be serialisable as JSON."""

    def __call__(self, *, place: int = ..., result: Mapping[str, Any] = ..., progress: Mapping[str, Any] = ...) -> None:
        """Report the `result` of the run at index `place` of the task, or the `progress` of the current run."""


class Task(Protocol):
    """The runs that a worker makes for one task. A task is pickled and sent to the worker through a pipe, so the worker
    must be able to import the task's class."""

    @property
    def number(self) -> int:
        """Key of the task's events."""

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the runs; called in the worker's process. An exception ends the task, and is reported as the task's
        fault."""


@dataclass(frozen=True)
class RunMade:
    """A run of a task has ended, successfully or not.

    batch: Number of the task.
    place: Index of the run in the task, from 0.
    result: Result as reported by the task.
    """

    batch: int
    place: int
    result: Mapping[str, Any]


@dataclass(frozen=True)
class BatchEnded:
    """A task has ended.

    Runs of the task without a `RunMade` are unfinished.

    batch: Number of the task.
    fault: Error that ended the task early, in the form of `errors.encode_error`.
    lost: Number of workers that died during the task.
    death: Explanation of the last death, with the worker's last output.
    """

    batch: int
    fault: Mapping[str, Any] | None = None
    lost: int = 0
    death: str = ""


Event = RunMade | BatchEnded


class LocalWorkers:
    """Worker processes on this machine.

    scratch: Directory for the workers' temporary files.
    name: Name of a worker in error messages.
    on_progress: Called within `wait` with the number of a task and the progress of its run.
    """

    def __init__(
        self,
        count: int,
        scratch: Path,
        name: str = "a worker",
        on_progress: Callable[[int, Mapping[str, Any]], None] = lambda number, progress: None,
    ) -> None:
        self._scratch, self._name, self._on_progress = scratch, name, on_progress
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Process] = []
        self._started = 0
        self._killed_at_start = 0
        # Error that the next call of `wait` raises; the current call still returns the messages of other workers.
        self._error: HostError | None = None
        self.size = count
        try:
            for _ in range(count):
                self._start()
        except BaseException:
            self.end()
            raise

    @property
    def free(self) -> int:
        """Number of workers without a task."""
        return sum(worker.batch is None for worker in self._workers)

    def give(self, task: Task) -> None:
        """Give a task to a free worker; the caller must check `free` first."""
        worker = next(worker for worker in self._workers if worker.batch is None)
        worker.begin(task.number)
        # A task is pickled, because it may contain objects of any class. Pickling is safe here, because pickles go only
        # from a process to its own children.
        worker.give(json.dumps({"number": task.number, "task": base64.b64encode(pickle.dumps(task)).decode()}))

    def wait(self, timeout_s: float) -> list[Event]:
        """Messages of the workers, and deaths of workers. Dead workers are replaced.

        timeout_s: Maximum waiting time if there is no message; with 0, the method returns at once.
        Raises HostError if a worker ended by itself during its start, or if `MOST_KILLED_AT_START` workers in
            succession were killed. Earlier messages have already been returned.
        """
        events: list[Event] = []
        if self._error is not None:
            raise self._error
        for key, _ in self._selector.select(timeout_s):
            worker: _Process = key.data
            for message in worker.lines():
                if "ready" in message:
                    self._killed_at_start = 0
                if "progress" in message:
                    self._on_progress(message["batch"], message["progress"])
                else:
                    events += _event(worker, message)
            if worker.is_over:
                try:
                    self._replace_dead(worker, events)
                except HostError as error:
                    self._error = error
        # If there are messages, they are returned first, and the next call raises the error.
        if self._error is not None and not events:
            raise self._error
        return events

    def end(self) -> list[Event]:
        """Interrupt all workers, each of which ends its guest, and kill those that take too long.

        Returns: Results that were complete by then and not yet returned.
        """
        events: list[Event] = []
        # All workers are interrupted first, so that they end at the same time and not one after the other.
        for worker in self._workers:
            worker.interrupt()
        end_patiently((worker.child for worker in self._workers), PATIENCE_S)
        for worker in self._workers:
            messages = [message for message in worker.lines() if "progress" not in message]
            events += [event for message in messages for event in _event(worker, message)]
            worker.close()
        self._workers = []
        self._selector.close()
        # Runs completed before the interruption count. The interruption itself is not a failure of the tasks.
        return [event for event in events if isinstance(event, RunMade)]

    def _start(self) -> _Process:
        self._started += 1
        worker = _Process(self._scratch / f"worker-{self._started}")
        self._workers.append(worker)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)
        return worker

    def _replace_dead(self, worker: _Process, events: list[Event]) -> None:
        """Remove a worker that has ended, and start another. The dead worker's task counts a loss.

        A worker that was killed during its start has lost nothing: its successor gets its task. If a worker ended by
        itself during its start, the machine is at fault: the next worker would end in the same way.
        """
        self._selector.unregister(worker.stdout)
        self._workers.remove(worker)
        end_patiently([worker.child], PATIENCE_S)
        worker.close()
        how, words = worker.how_it_ended(), worker.last_words()
        if not worker.was_ready:
            self._replace_unready(worker, f"{self._name} {how} before it could begin", words)
            return
        if worker.batch is not None:
            events.append(BatchEnded(worker.batch, lost=1, death=f"{how}; its last words: {words or 'none'}"))
        self._start()

    def _replace_unready(self, worker: _Process, what: str, words: str) -> None:
        """Start a worker to replace one that was killed during its start, and pass on its task."""
        self._killed_at_start += 1
        most = MOST_KILLED_AT_START * self.size
        if not worker.was_killed():
            raise HostError(f"{what}: {words or 'no word'}")
        if self._killed_at_start >= most:
            raise HostError(
                f"{what}, and so did each of the last {most}: {words or 'no word'}",
                hint="is memory short? dmesg | grep -i 'out of memory'; run fewer at a time (--jobs 1)",
            )
        successor = self._start()
        if worker.batch is not None:
            successor.begin(worker.batch)
            successor.give(worker.given)


class _Process:
    """One worker process."""

    def __init__(self, scratch: Path) -> None:
        self.batch: int | None = None
        self.given = ""
        self.was_ready = False
        self.is_over = False
        # A read may end within a message; this buffer holds the incomplete part.
        self._partial = b""
        self._words_before_bytes = 0
        scratch.parent.mkdir(parents=True, exist_ok=True)
        # stderr goes to a file instead of a pipe, because nothing reads it while the worker lives, and a full pipe
        # would block the worker.
        self._words = scratch.with_suffix(".stderr")
        command = [sys.executable, "-m", "leowarp.running.worker", str(os.getpid()), str(scratch)]
        with self._words.open("wb") as words:
            # The worker has its own session, so that Ctrl-C reaches only the parent, which then interrupts each worker
            # once.
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, start_new_session=True
            )
        assert self.child.stdout is not None
        self.stdout = self.child.stdout
        # Reads must not block: `lines` takes the available data, even if it ends with an incomplete message.
        os.set_blocking(self.stdout.fileno(), False)

    def begin(self, number: int) -> None:
        """Record that the worker has a task; its last output counts from here on."""
        self.batch = number
        self._words_before_bytes = self._words.stat().st_size

    def give(self, line: str) -> None:
        """Write a line to the worker's standard input."""
        assert self.child.stdin is not None
        self.given = line
        # A dead worker is detected by the end of its output.
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()

    def lines(self) -> list[dict[str, Any]]:
        """Messages completed since the last call; sets `is_over` at the end of the output."""
        while True:
            try:
                piece = os.read(self.stdout.fileno(), 1 << 20)
            except BlockingIOError:
                break
            if not piece:
                self.is_over = True
                break
            # A single read may contain the end of one message and the beginning of the next.
            self._partial += piece
        *whole, self._partial = self._partial.split(b"\n")
        return [json.loads(line) for line in whole]

    def interrupt(self) -> None:
        """Send SIGINT. The worker then marks its run directory and ends its guest, as after Ctrl-C."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)

    def how_it_ended(self) -> str:
        """Signal or exit status of the worker as text."""
        status = self.child.wait()
        return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"

    def was_killed(self) -> bool:
        """Whether a signal ended the worker."""
        return self.child.wait() < 0

    def close(self) -> None:
        """Close both pipes."""
        self.stdout.close()
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()

    def last_words(self) -> str:
        """The worker's last output on stderr since it received its task, at most 2,000 characters."""
        words = self._words.read_bytes()[self._words_before_bytes :]
        return words.decode(errors="replace").strip()[-2000:]


def _event(worker: _Process, message: Mapping[str, Any]) -> list[Event]:
    """Events of a message: none, a run, or the end of the batch, after which the worker is free."""
    if "ready" in message:
        worker.was_ready = True
        return []
    if "place" in message:
        return [RunMade(message["batch"], message["place"], message["result"])]
    worker.batch = None
    return [BatchEnded(message["batch"], message["fault"])]
