# SPDX-License-Identifier: Apache-2.0
"""Route changes that the study examines, in two constellations and for two pairs of cities. Some changes lead to
shorter paths, and some to longer ones.

The route changes are computed from the constellation, as a run does. The sample of changes is spread evenly over the
first hour.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from leowarp.ephemeris import ephemeris_of
from leowarp.media.registry import routes_of
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import example_file

SCENARIO = "one-change.toml"
"""The example scenario: a transfer, a ping and a call during one route change."""
BEFORE_S = 30
"""The time in s from the start of a run to its route change. This time equals the interval between route updates, so
the path before the change is the path of the previous update. In the first `QUIET_S` seconds, no packets are sent."""
QUIET_S = 22
AFTER_S = 5
HOUR_S = 3600
LONGER, SHORTER = "longer", "shorter"
DIRECTIONS = (LONGER, SHORTER)
IDENTITY = {"constellation.preset": "preset", "stations.0.name": "source_city", "run.start": "start"}
"""The scenario keys that identify a route change. Each value is the name of the key's column in the data sets."""


@dataclass(frozen=True)
class Pair:
    """Two cities connected by a constellation.

    Attributes
    ----------
    name, label : str
        The name in runs and in figures.
    preset : str
        The preset of the constellation.
    source, destination : str
        The names of the cities.
    """

    name: str
    label: str
    preset: str
    source: str
    destination: str

    def keys(self) -> dict[str, Any]:
        """Return the dotted scenario keys that select this pair."""
        stations = {"stations.0.name": self.source, "stations.1.name": self.destination}
        ends = {f"flows.{flow}.{end}": city for flow in range(3)
                for end, city in (("source", self.source), ("destination", self.destination))}  # fmt: skip
        return {"constellation.preset": self.preset} | stations | ends


PAIRS = (
    Pair("madrid-tokyo-18", "Madrid to Tokyo, 18 planes", "oneweb-study", "Madrid", "Tokyo"),
    Pair("madrid-tokyo-9", "Madrid to Tokyo, 9 planes", "oneweb-9x36", "Madrid", "Tokyo"),
    Pair("aalborg-cape-town-18", "Aalborg to Cape Town, 18 planes", "oneweb-study", "Aalborg", "Cape Town"),
    Pair("aalborg-cape-town-9", "Aalborg to Cape Town, 9 planes", "oneweb-9x36", "Aalborg", "Cape Town"),
)
"""The pairs of cities of `frederiksen2024`, each with both constellations."""


@dataclass(frozen=True)
class Change:
    """One route change of a pair of cities.

    Attributes
    ----------
    pair : Pair
    direction : str
        The direction, one of `DIRECTIONS`.
    number : int
        The index of the change in time order, from 0. Each pair and direction has its own numbers. Only selected
        changes have a number.
    at_s : int
        The time of the change on the constellation's clock, in s.
    step_ns : int
        The one-way delay of the new path minus the one-way delay of the old path, both at the instant of the change.
    node_place : int
        The position on the forward path of the first node whose route changes. Position 0 is the sender's station. If
        the value is 0, this station switches to another satellite.
    """

    pair: Pair
    direction: str
    number: int
    at_s: int
    step_ns: int
    node_place: int

    @property
    def name(self) -> str:
        """Return a name such as `madrid-tokyo-18-longer-0`."""
        return f"{self.pair.name}-{self.direction}-{self.number}"

    def keys(self) -> dict[str, Any]:
        """Return the scenario keys that select this change."""
        return self.pair.keys() | {"run.start": f"{self.at_s - BEFORE_S} s"}

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the values of the scenario keys in `IDENTITY`, which identify the change of a run or a row."""
        keys = self.keys()
        return tuple(keys[key] for key in IDENTITY)


@cache
def hour(pair: Pair, margin: str = "0 %") -> pd.DataFrame:
    """Return the route updates of the first hour, from a cache.

    Parameters
    ----------
    pair : Pair
    margin : str
        The value of the scenario key `routing.margin`.

    Returns
    -------
    DataFrame
        The columns `t_ns, delay_ns, is_change, step_ns, node_place` of the forward path, sorted by time. `step_ns` and
        `node_place` are defined as in `Change`, and are null if the update does not change the path.
    """
    plan = resolve(load(example_file(SCENARIO), pair.keys() | {
        "run.start": "0 s", "run.duration": f"{HOUR_S} s", "routing.margin": margin}))  # fmt: skip
    table = routes_of(plan, ephemeris_of(plan)).table.to_pandas()
    mine = table[table["source"] == pair.source].sort_values("t_ns").reset_index(drop=True)
    step_ns = (mine["delay_ns"] - mine["old_delay_ns"]).where(mine["is_change"])
    # The first route update has no previous path, so it is not a change.
    node_place = [None] + [_node_place(*paths) for paths in itertools.pairwise(mine["path"])]
    return mine[["t_ns", "delay_ns", "is_change"]].assign(
        step_ns=step_ns, node_place=pd.array(node_place, dtype="Int64")
    )


def _node_place(old: Sequence[str], new: Sequence[str]) -> int | None:
    """Return the index (from 0) of the last node that two paths have in common before they first differ. None means
    that the paths do not differ."""
    apart = (place for place, (before, after) in enumerate(zip(old, new, strict=False)) if before != after)
    place = next(apart, None)
    return None if place is None else place - 1


@cache
def changes(each: int) -> tuple[Change, ...]:
    """Return a sample of route changes. The argument `each` is the number of changes per pair and direction. The
    changes are spread evenly over the first hour.

    Raises
    ------
    ValueError
        If a pair has fewer than `each` path changes in a direction.
    """
    found = []
    for pair in PAIRS:
        updates = hour(pair)
        for direction in DIRECTIONS:
            of_sign = updates[updates["step_ns"] > 0] if direction == LONGER else updates[updates["step_ns"] < 0]
            # The first route update is at 0 and cannot be a change. Every later route update comes at least `BEFORE_S`
            # seconds after the start, so the interval before the update is complete.
            if len(of_sign) < each:
                raise ValueError(f"{pair.name} has {len(of_sign)} changes to a {direction} path in an hour, not {each}")
            places = np.linspace(0, len(of_sign) - 1, each).round().astype(int)
            for number, (_, row) in enumerate(of_sign.iloc[places].iterrows()):
                at_s = int(row["t_ns"]) // 1_000_000_000
                found.append(Change(pair, direction, number, at_s, int(row["step_ns"]), int(row["node_place"])))
    return tuple(found)


def per_hour(margin: str = "0 %") -> pd.DataFrame:
    """Return, for each pair of cities, the path's changes per hour and its mean delay.

    Returns
    -------
    DataFrame
        The columns `pair, longer, shorter`, `delay_ms` and `at_sender`. `at_sender` is the number of changes at which
        the sender's own station switches to another satellite.
    """
    rows: list[Mapping[str, Any]] = []
    for pair in PAIRS:
        updates = hour(pair, margin)
        longer, shorter = int((updates["step_ns"] > 0).sum()), int((updates["step_ns"] < 0).sum())
        rows.append({
            "pair": pair.name, LONGER: longer, SHORTER: shorter, "at_sender": int((updates["node_place"] == 0).sum()),
            "delay_ms": updates["delay_ns"].mean() / 1e6,
        })  # fmt: skip
    return pd.DataFrame(rows)
