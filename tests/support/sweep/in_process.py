# SPDX-License-Identifier: Apache-2.0
"""Workers without processes, and a disk on which tests can simulate kills. The tests check which data survive a
kill."""

import json
import os
from pathlib import Path

from leowarp.base.errors import encode_error
from leowarp.running.workers import BatchEnded, RunMade
from leowarp.study.sweep.batch import Batch, results_of


class Kill(BaseException):
    """A stand-in for SIGKILL, which no code may catch."""


class InProcess:
    """A worker that makes one run each time the engine waits."""

    size = 1

    def __init__(self):
        self._batch, self._place = None, 0
        self.made = []

    @property
    def free(self):
        return 0 if self._batch else 1

    def give(self, batch):
        self._batch, self._place = batch, 0

    def wait(self, timeout_s):
        batch, place = self._batch, self._place
        if place == len(batch.orders):
            self._batch = None
            return [BatchEnded(batch.number)]
        self._place += 1
        return [self._made(batch, place)]

    def end(self):
        """Return the runs of the batch that are not made yet."""
        batch = self._batch
        return [] if batch is None else [self._made(batch, place) for place in range(self._place, len(batch.orders))]

    def _made(self, batch, place):
        self.made.append(batch.orders[place].plan)
        return RunMade(batch.number, place, result(place))


class Lost(BaseException):
    """A stand-in for the death of a worker."""


def lose_worker():
    raise Lost


class InThisProcess:
    """Two workers in the test's own process. Each time the engine waits, they make a whole batch, as `results_of`
    does."""

    size = 2

    def __init__(self, scratch):
        self._scratch = scratch
        self._batches = []
        self.sizes = []

    @property
    def free(self):
        return self.size - len(self._batches)

    def give(self, batch):
        # The result is pickled and unpickled, as it is when it passes through a pipe.
        self._batches.append(Batch.decode(json.loads(json.dumps(batch.encode()))))
        self.sizes.append(len(batch.orders))

    def wait(self, timeout_s):
        batch = self._batches.pop(0)
        events = []
        try:
            for place, told in results_of(batch, self._scratch):
                events.append(RunMade(batch.number, place, json.loads(json.dumps(told))))
        except Lost:
            return [*events, BatchEnded(batch.number, lost=1)]
        except Exception as error:
            return [*events, BatchEnded(batch.number, encode_error(error))]
        return [*events, BatchEnded(batch.number)]

    def end(self):
        return []


def result(place):
    """Return the results of a run. Some columns have different types in different runs, so the data set must sometimes
    be rewritten."""
    flow = {"flow": 0, "goodput_mean_bps": 1.5 if place % 2 else 7, "srtt_p50_us": None if place % 3 else 1.0}
    return {"summary": {"flows": [flow]}, "costs": {"cpu_s": 0.1}, "warnings": [], "error": None}


class Unsynced:
    """A module like `os`, without fsync. Tests are faster without fsync. After a simulated kill, no data are lost,
    because the kernel still has them in memory."""

    def __getattr__(self, name):
        return (lambda descriptor: None) if name in ("fsync", "fdatasync") else getattr(os, name)


class Disk(Unsynced):
    """A replacement of `os` in `disk`. It simulates a kill before, during or after the n-th call that changes the disk.
    It can also simulate a Ctrl-C before this call."""

    CHANGES = ("write", "fsync", "fdatasync", "replace", "rename", "ftruncate")

    def __init__(self, at, when):
        self._left, self._when = at, when

    def __getattr__(self, name):
        real = super().__getattr__(name)
        return self._struck(name, real) if name in self.CHANGES else real

    def _struck(self, name, real):
        def call(*given, **named):
            self._left -= 1
            if self._left != 0:
                return real(*given, **named)
            if self._when == "interrupt":
                raise KeyboardInterrupt
            if name == "write" and self._when == "half":
                real(given[0], given[1][: len(given[1]) // 2])
            elif self._when != "before":
                real(*given, **named)
            raise Kill

        return call


def made_so_far(folder: Path) -> int:
    """Return the lines that the stand-in maker has written so far."""
    log = folder / "made"
    return len(log.read_text().splitlines()) if log.exists() else 0
