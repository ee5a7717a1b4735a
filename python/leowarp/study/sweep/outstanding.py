# SPDX-License-Identifier: Apache-2.0
"""The runs that remain to be made, and the size of the next batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from leowarp.study.sweep.plans import StudyRun

FIRST_BATCH = 4
"""The number of runs in a batch until the duration of a run has been measured."""
LARGEST_BATCH = 60
"""The largest number of runs in a batch, however short the runs are."""
BATCH_S = 20.0
"""The intended duration of a batch, in s of real time. If a worker dies, at most one batch is lost."""


class Outstanding:
    """The remaining runs, in the order of the study. All runs of a batch must have the same kernel.

    Each kernel has its own queue. A further queue has the runs that each need a batch of their own.
    """

    def __init__(self, runs: Iterable[StudyRun]) -> None:
        self._alone: deque[StudyRun] = deque()
        self._others: dict[str, deque[StudyRun]] = {}
        for run in runs:
            self._queue(run).append(run)

    def __len__(self) -> int:
        return len(self._alone) + sum(len(queue) for queue in self._others.values())

    def take(self, most: int) -> list[StudyRun]:
        """Take at most `most` runs from the queue that contains the next run of the study, which must exist. A run that
        must be made alone is taken alone."""
        # A study that is stopped early has results of the first seeds for all combinations.
        queue = min((queue for queue in (self._alone, *self._others.values()) if queue), key=lambda q: q[0].number)
        return [queue.popleft() for _ in range(1 if queue is self._alone else min(most, len(queue)))]

    def give_back(self, runs: Iterable[StudyRun]) -> None:
        """Put `runs` back at the front of their queues."""
        for run in sorted(runs, key=lambda run: run.number, reverse=True):
            self._queue(run).appendleft(run)

    def give_back_alone(self, run: StudyRun) -> None:
        self._alone.appendleft(run)

    def _queue(self, run: StudyRun) -> deque[StudyRun]:
        return self._others.setdefault(run.kernel, deque())


def batch_size(left: int, workers: int, run_s: float | None) -> int:
    """Return the number of runs in the next batch.

    left: The number of runs that are in no batch yet.
    run_s: The real time of a run in s. None means unknown.
    Returns: A number from 1 to `LARGEST_BATCH`.

    >>> batch_size(left=1000, workers=2, run_s=0.5), batch_size(left=6, workers=2, run_s=0.5)
    (40, 2)
    """
    wanted = FIRST_BATCH if run_s is None else round(BATCH_S / run_s) if run_s > 0 else LARGEST_BATCH
    # Batches become smaller towards the end, so that all workers finish at about the same time.
    fair = math.ceil(left / (2 * workers))
    return max(1, min(wanted, fair, LARGEST_BATCH))
