# SPDX-License-Identifier: Apache-2.0
"""Starts worker processes on this machine. A worker receives tasks, makes runs and reports the result of each run.

If a worker dies, another worker replaces it, and all others continue. A worker makes one run at a time, because the
processor time of each run is measured.
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
"""A worker that was asked to end may still use this much processor time (`OwnTime`), in s. If it uses more, it is
killed."""

MOST_KILLED_AT_START = 3
"""For each worker that runs in parallel, this number of workers may be killed one after another during their start. If
the limit is reached, the machine is the cause, and not a run. A study has an equal limit (`MOST_LOST_WORKERS`): it
gives up a run after this number of worker deaths."""


class Tell(Protocol):
    """The function with which a task in a worker reports to the parent. All arguments must be serialisable as JSON."""

    def __call__(self, *, place: int = ..., result: Mapping[str, Any] = ..., progress: Mapping[str, Any] = ...) -> None:
        """Report the `result` of a run, or the `progress` of the current run. `place` is the index of the run in the
        task."""


class Task(Protocol):
    """The runs that one worker makes together. A task is pickled and sent to the worker through a pipe. The worker must
    be able to import the task's class."""

    @property
    def number(self) -> int:
        """The number of the task. Events about the task contain this number."""

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the runs. This method is called in the worker's process. An exception ends the task, and the parent
        receives the exception as the task's fault."""


@dataclass(frozen=True)
class RunMade:
    """The event at the end of one run of a task, whether the run succeeded or not. `batch` is the number of the task,
    and `place` the index of the run in the task."""

    batch: int
    place: int
    result: Mapping[str, Any]


@dataclass(frozen=True)
class BatchEnded:
    """The event that a task has ended. If a run of the task had no event `RunMade` before, it was not finished.

    fault: The exception that ended the task early, in the form of `errors.encode_error`, or None.
    lost: The number of workers that died while they worked on the task.
    death: A text about the worker that died last, with its last output.
    """

    batch: int
    fault: Mapping[str, Any] | None = None
    lost: int = 0
    death: str = ""


Event = RunMade | BatchEnded


class LocalWorkers:
    """The worker processes on this machine.

    scratch: The directory for the workers' temporary files.
    name: The word for a worker in error messages.
    on_progress: A function that `wait` calls with the number of a task and the progress of its run.
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
        # Error that the next call of `wait` raises, because the current call still returns messages of other workers.
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
        """The number of workers that have no task."""
        return sum(worker.batch is None for worker in self._workers)

    def give(self, task: Task) -> None:
        """Give a task to a free worker. The caller first checks with `free` that a worker is free."""
        worker = next(worker for worker in self._workers if worker.batch is None)
        worker.begin(task.number)
        # A task is pickled, because it may contain objects of any class. Pickling is safe here, because only the
        # process itself writes what its children read.
        worker.give(json.dumps({"number": task.number, "task": base64.b64encode(pickle.dumps(task)).decode()}))

    def wait(self, timeout_s: float) -> list[Event]:
        """Wait at most `timeout_s` until workers send messages or die, and return these events. Dead workers are
        replaced.

        Raises HostError if a worker exited by itself during its start, or if `MOST_KILLED_AT_START` workers were killed
            during their start, one after another. Earlier calls return the messages that arrived before this error.
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
        # If there are messages, this call of `wait` returns them, and the next call raises the error.
        if self._error is not None and not events:
            raise self._error
        return events

    def end(self) -> list[Event]:
        """Interrupt all workers, which end their guests. Kill workers that need longer than `PATIENCE_S`. Return the
        results of the runs that were complete before the interruption, except results that `wait` has returned."""
        events: list[Event] = []
        # All workers are interrupted first and then waited for, so that they end at the same time.
        for worker in self._workers:
            worker.interrupt()
        end_patiently((worker.child for worker in self._workers), PATIENCE_S)
        for worker in self._workers:
            messages = [message for message in worker.lines() if "progress" not in message]
            events += [event for message in messages for event in _event(worker, message)]
            worker.close()
        self._workers = []
        self._selector.close()
        # Events for the end of a task are not returned, because the interruption is not a failure of the task.
        return [event for event in events if isinstance(event, RunMade)]

    def _start(self) -> _Process:
        self._started += 1
        worker = _Process(self._scratch / f"worker-{self._started}")
        self._workers.append(worker)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)
        return worker

    def _replace_dead(self, worker: _Process, events: list[Event]) -> None:
        """Remove a dead worker and start another. The count of deaths for the worker's task increases by one.

        If a worker was killed during its start, no run is lost, and the next worker gets its task. If a worker exited
        by itself during its start, an error is raised, because the next worker would exit too.
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
        """Replace a worker that was killed during its start, and give the new worker the same task."""
        self._killed_at_start += 1
        most = MOST_KILLED_AT_START * self.size
        # A negative status is the number of the signal that ended the worker.
        if worker.child.wait() >= 0:
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
    def __init__(self, scratch: Path) -> None:
        self.batch: int | None = None
        self.given = ""
        self.was_ready = False
        self.is_over = False
        # A read may end in the middle of a message; this buffer contains the incomplete message.
        self._partial = b""
        self._words_before_bytes = 0
        scratch.parent.mkdir(parents=True, exist_ok=True)
        # stderr goes to a file instead of a pipe, because the parent reads it only after the worker has died. A full
        # pipe would block the worker.
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
        # Reads must not block, because `lines` reads the available data even if they end with an incomplete message.
        os.set_blocking(self.stdout.fileno(), False)

    def begin(self, number: int) -> None:
        """Record that the worker has a task. `last_words` returns only output after this call."""
        self.batch = number
        self._words_before_bytes = self._words.stat().st_size

    def give(self, line: str) -> None:
        assert self.child.stdin is not None
        self.given = line
        # If the worker has died, this is detected later by the end of its output.
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()

    def lines(self) -> list[dict[str, Any]]:
        """Return the messages that have arrived completely since the last call. Set `is_over` if the worker has closed
        its output."""
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
        """Send SIGINT to the worker. On SIGINT, a worker marks its run directory as incomplete and ends its guest."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)

    def how_it_ended(self) -> str:
        """Return text that names the signal that ended the worker, or the worker's exit status."""
        status = self.child.wait()
        return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"

    def close(self) -> None:
        self.stdout.close()
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()

    def last_words(self) -> str:
        """Return what the worker wrote to stderr since it received its task. At most the last 2,000 characters are
        returned."""
        words = self._words.read_bytes()[self._words_before_bytes :]
        return words.decode(errors="replace").strip()[-2000:]


def _event(worker: _Process, message: Mapping[str, Any]) -> list[Event]:
    """Return the events in a worker's message: nothing, the end of a run, or the end of the task. At the end of the
    task, the worker becomes free."""
    if "ready" in message:
        worker.was_ready = True
        return []
    if "place" in message:
        return [RunMade(message["batch"], message["place"], message["result"])]
    worker.batch = None
    return [BatchEnded(message["batch"], message["fault"])]
