# SPDX-License-Identifier: Apache-2.0
"""Tests of route changes between paths that share one link, as the paths of a mobile terminal over a constellation
do."""

import dataclasses
import itertools

import pandas as pd
import pytest

from leowarp.metrics.inputs.changes import path_delay, route_changes

S, MS = 1_000_000_000, 1_000_000
NODES = ("host:server", "gateway", "satellite", "terminal", "host:mobile")
FORWARD_MS = {0: 80, 5: 79, 10: 90, 15: 89, 20: 70}
UPDATES_S = (0, 10, 20)
PATHS = {0: ("server", "s-0", "mobile"), 10: ("server", "s-0", "s-1", "mobile"), 20: ("server", "s-1", "mobile")}


@pytest.fixture
def over_a_constellation(tables):
    """Return tables of a run whose path changes at 10 and 20 s. The delay of one link changes too."""
    events = [
        {"t_ns": 0, "event": "route", "node": node, "destination": NODES[-1], "next_hop": after}
        for node, after in itertools.pairwise(NODES)
    ]
    events += [{"t_ns": 0, "event": "link", "a": a, "b": b} for a, b in itertools.pairwise(NODES)]
    events += [
        {"t_ns": t_s * S, "event": "delay", "a": "gateway", "b": "satellite", "delay_ns": delay_ms * MS}
        for t_s, delay_ms in FORWARD_MS.items()
    ]
    events.append({"t_ns": 0, "event": "delay", "a": "satellite", "b": "terminal", "delay_ns": 10 * MS})
    timeline = pd.DataFrame(events).sort_values("t_ns", kind="stable").reset_index(drop=True)
    timeline["rate_bps"] = float("nan")
    rows = [
        {"t_ns": t_s * S, "source": "server", "destination": "mobile", "path_id": i, "path": PATHS[t_s],
         "change_id": i - 1 if i else None}
        for i, t_s in enumerate(UPDATES_S)
    ]  # fmt: skip
    directions = tuple((a, b, "gsl") for a, b in itertools.pairwise(NODES))
    return dataclasses.replace(tables, routes=pd.DataFrame(rows), timeline=timeline, directions=directions)


def test_the_delay_before_a_change_is_that_of_the_path_before(over_a_constellation):
    changes = route_changes(over_a_constellation, {("server", "mobile"): []}, 30 * S)
    assert changes["t_ns"].tolist() == [10 * S, 20 * S]
    assert changes["delay_before_ns"].tolist() == [89 * MS, 99 * MS]
    assert changes["delay_after_ns"].tolist() == [100 * MS, 80 * MS]
    assert changes["is_shorter"].tolist() == [False, True]
    assert changes["hops_after"].tolist() == [3, 2]


def test_the_delay_of_the_path_follows_the_link_between_changes_too(over_a_constellation):
    found = path_delay(over_a_constellation, ("server", "mobile"), 30 * S)
    assert dict(zip((found["t_ns"] // S).tolist(), found["delay_ns"].tolist(), strict=True)) == {
        t_s: (delay_ms + 10) * MS for t_s, delay_ms in FORWARD_MS.items()
    }
