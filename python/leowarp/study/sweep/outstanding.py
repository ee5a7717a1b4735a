# SPDX-License-Identifier: Apache-2.0
"""Runs that remain to be made, and the size of the next batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from leowarp.study.sweep.plans import StudyRun
from leowarp.study.sweep.rows import Origin

FIRST_BATCH = 4
"""Batch size while the duration of a run is unknown."""
LARGEST_BATCH = 60
"""Upper limit, however quick the runs are."""
BATCH_S = 20.0
"""Target duration of a batch. If a worker dies, no more than this is lost."""


class Outstanding:
    """Remaining runs in the order of the study; all runs of a batch share kernel and origin.

    A run waits in the queue of its kernel and origin. Runs that were returned to be made alone wait in a separate
    queue.
    """

    def __init__(self, runs: Iterable[StudyRun]) -> None:
        self._alone: deque[StudyRun] = deque()
        self._others: dict[tuple[str, Origin], deque[StudyRun]] = {}
        for run in runs:
            self._queue(run).append(run)

    def __len__(self) -> int:
        """Runs that have not been given out."""
        return len(self._alone) + sum(len(queue) for queue in self._others.values())

    def take(self, most: int) -> list[StudyRun]:
        """The next run and further runs of its queue, at most `most`.

        most: 1 or more, see `batch_size`.
        Returns: A single run if it is to be made alone. The caller has checked that at least one run is left.
        """
        # Runs are ordered over all queues, so that the first seeds of all combinations are done if a study is stopped
        # early.
        queue = min((queue for queue in (self._alone, *self._others.values()) if queue), key=lambda q: q[0].number)
        return [queue.popleft() for _ in range(1 if queue is self._alone else min(most, len(queue)))]

    def give_back(self, runs: Iterable[StudyRun]) -> None:
        """Put back runs that were taken but not made; they come first again."""
        # Each run is put at the front, so the list is traversed in reverse.
        for run in sorted(runs, key=lambda run: run.number, reverse=True):
            self._queue(run).appendleft(run)

    def give_back_alone(self, run: StudyRun) -> None:
        """Queue a run that must be alone in its batch."""
        self._alone.appendleft(run)

    def _queue(self, run: StudyRun) -> deque[StudyRun]:
        """The queue in which a run waits."""
        return self._others.setdefault((run.kernel, run.origin), deque())


def batch_size(left: int, workers: int, run_s: float | None) -> int:
    """Number of runs in the next batch.

    left: Runs that have not been given out.
    workers: Number of parallel workers.
    run_s: Real time per run, as far as known.
    Returns: 1 to `LARGEST_BATCH`.

    >>> batch_size(left=1000, workers=2, run_s=0.5), batch_size(left=6, workers=2, run_s=0.5)
    (40, 2)
    """
    wanted = FIRST_BATCH if run_s is None else round(BATCH_S / run_s) if run_s > 0 else LARGEST_BATCH
    # Batches shrink towards the end, so that all workers finish at about the same time.
    fair = math.ceil(left / (2 * workers))
    return max(1, min(wanted, fair, LARGEST_BATCH))
