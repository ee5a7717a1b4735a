# SPDX-License-Identifier: Apache-2.0
"""Plans for tests of ephemeris, routes and timeline."""

from __future__ import annotations

import dataclasses
from typing import Any

from leowarp.scenario.schema import Chain, Constellation, Flow, Plan, Run, Station

S = 1_000_000_000

PLACES = {
    "Madrid": (40.228732, -4.010844),
    "Tokyo": (35.678892, 139.768596),
    "Aalborg": (57.048, 9.919),
    "Cape Town": (-33.925, 18.424),
}
"""The stations of Frederiksen et al. 2024, at the positions of the project's example in degrees."""


def station(name: str, latitude_deg: float | None = None, longitude_deg: float | None = None) -> Station:
    if latitude_deg is None or longitude_deg is None:
        latitude_deg, longitude_deg = PLACES[name]
    return Station(name=name, latitude_deg=latitude_deg, longitude_deg=longitude_deg, height_m=0.0)


def star(planes: int = 18, satellites_per_plane: int = 36, **changes: Any) -> Constellation:
    """Return the Walker star of frederiksen2024."""
    return dataclasses.replace(
        Constellation(
            pattern="star",
            planes=planes,
            satellites_per_plane=satellites_per_plane,
            altitude_m=1_200e3,
            inclination_deg=86.4,
        ),
        **changes,
    )


def shell(planes: int = 72, satellites_per_plane: int = 22, **changes: Any) -> Constellation:
    """Return Starlink's first shell, a Walker delta."""
    return dataclasses.replace(
        Constellation(
            pattern="delta",
            planes=planes,
            satellites_per_plane=satellites_per_plane,
            altitude_m=550e3,
            inclination_deg=53.0,
            phasing=39,
        ),
        **changes,
    )


def plan(
    constellation: Constellation | None = None,
    stations: tuple[str | Station, ...] = ("Madrid", "Tokyo"),
    flows: tuple[tuple[str, str], ...] | None = None,
    *,
    duration_s: float = 1000,
    start_s: float = 0,
    **parts: Any,
) -> Plan:
    """Return a plan with the sections in `parts`, such as ``isl=Isl(...)`` and ``routing=Routing(...)``."""
    placed = tuple(station(s) if isinstance(s, str) else s for s in stations)
    duration_ns = round(duration_s * S)
    ends = flows if flows is not None else ((placed[0].name, placed[1].name),)
    return Plan(
        name="test",
        run=Run(duration_ns=duration_ns, start_ns=round(start_s * S)),
        medium=constellation if constellation is not None else star(),
        stations=placed,
        flows=tuple(Flow(source=a, destination=b, stop_ns=duration_ns) for a, b in ends),
        **parts,
    )


def chain(hops: int = 3, *, duration_s: float = 10, **changes: Any) -> Plan:
    """Return a chain between A and B."""
    duration_ns = round(duration_s * S)
    nowhere: dict[str, Any] = {"latitude_deg": None, "longitude_deg": None, "height_m": None}
    return Plan(
        name="chain",
        run=Run(duration_ns=duration_ns),
        medium=Chain(hops=hops, **changes),
        stations=(Station(name="A", **nowhere), Station(name="B", **nowhere)),
        flows=(Flow(source="A", destination="B", stop_ns=duration_ns),),
    )
