# SPDX-License-Identifier: Apache-2.0
"""Tests how leowarp finds the longest queues of many station pairs. It must not compute all queues."""

from types import SimpleNamespace

import numpy as np
import pytest

from leowarp.report.figures import queues


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_queues_are_those_of_a_look_at_all_pairs(seed, monkeypatch):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 12, 100)
    views = [SimpleNamespace(run=None, length=int(length), slack=float(draw.integers(0, 3))) for length in lengths]
    looked_at = []

    def queue_map(view, known):
        looked_at.append(view)
        return np.zeros(2), np.array([[view.length if view.length else np.nan, 0.0 if view.length else np.nan]])

    monkeypatch.setattr(queues, "queue_map", queue_map)
    monkeypatch.setattr(queues, "_at_most", lambda view: view.length + view.slack)
    everything = sorted(sorted(range(100), key=lambda place: -lengths[place])[: queues.MOST_QUEUES])
    assert list(queues._longest(views)) == everything
    assert len(looked_at) < 60


def test_no_queue_is_longer_than_the_bound(run_dir):
    view = queues.Run(run_dir, complete=False)
    _, waiting = queues.queue_map(view)
    assert 0 < np.nanmax(waiting) <= queues._at_most(view)
