# SPDX-License-Identifier: Apache-2.0
"""The runs that are still to be made, and how many of them go into the next batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from leowarp.study.sweep.plans import StudyRun
from leowarp.study.sweep.rows import Origin

FIRST_BATCH = 4
"""While nothing is known of what a run takes."""
LARGEST_BATCH = 60
"""However quick runs are."""
BATCH_S = 20.0
"""A batch is to take about this long: no more than this is lost with a worker."""


class Outstanding:
    """Runs in the order of the study; those of one batch have kernel and origin in common.

    A run waits in the queue of its kernel and origin; those that were given back to be made alone wait in one queue of
    their own.
    """

    def __init__(self, runs: Iterable[StudyRun]) -> None:
        self._alone: deque[StudyRun] = deque()
        self._others: dict[tuple[str, Origin], deque[StudyRun]] = {}
        for run in runs:
            self._queue(run).append(run)

    def __len__(self) -> int:
        """Runs that are not given out."""
        return len(self._alone) + sum(len(queue) for queue in self._others.values())

    def take(self, most: int) -> list[StudyRun]:
        """The next run, and others of its queue, `most` in all.

        most: 1 or more, see `batch_size`.
        Returns: One if it is to be made alone. The caller has asked whether any is left.
        """
        # By the study's order over all queues: with a study that is stopped early the first seeds of all combinations
        # are done.
        queue = min((queue for queue in (self._alone, *self._others.values()) if queue), key=lambda q: q[0].number)
        return [queue.popleft() for _ in range(1 if queue is self._alone else min(most, len(queue)))]

    def give_back(self, runs: Iterable[StudyRun]) -> None:
        """Runs that were taken and not made: they come first again."""
        # Put at the front one by one, so the last of them goes first.
        for run in sorted(runs, key=lambda run: run.number, reverse=True):
            self._queue(run).appendleft(run)

    def give_back_alone(self, run: StudyRun) -> None:
        """A run that is to be the only one of its batch."""
        self._alone.appendleft(run)

    def _queue(self, run: StudyRun) -> deque[StudyRun]:
        """The queue that a run waits in."""
        return self._others.setdefault((run.kernel, run.origin), deque())


def batch_size(left: int, workers: int, run_s: float | None) -> int:
    """Number of runs in the next batch.

    left: Runs that are not given out.
    workers: How many work at a time.
    run_s: What a run takes on the wall clock, as far as is known.
    Returns: 1 to `LARGEST_BATCH`.

    >>> batch_size(left=1000, workers=2, run_s=0.5), batch_size(left=6, workers=2, run_s=0.5)
    (40, 2)
    """
    wanted = FIRST_BATCH if run_s is None else round(BATCH_S / run_s) if run_s > 0 else LARGEST_BATCH
    # Towards the end smaller ones, so that all workers end at about the same time.
    fair = math.ceil(left / (2 * workers))
    return max(1, min(wanted, fair, LARGEST_BATCH))
