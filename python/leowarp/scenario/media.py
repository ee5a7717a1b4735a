# SPDX-License-Identifier: Apache-2.0
"""`[constellation]`, `[chain]` and `[jittered]`: what a scenario's packets go through."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp import units
from leowarp.scenario.key import InputFile, count, file, instant, quantity, queue, text, word
from leowarp.scenario.queues import QueueKeys


@dataclass(frozen=True, kw_only=True)
class Constellation:
    """Where the satellites are: a Walker pattern, or a file of orbital elements."""

    preset: str | None = text("Name of a built-in constellation; fills the keys below, each can be overridden.", "none")
    pattern: str | None = word("Ascending nodes over 180 deg (star) or over 360 deg (delta).", ("star", "delta"), None)
    planes: int | None = count("Number of orbital planes.", None, 1, 1000)
    satellites_per_plane: int | None = count("Number of satellites in each plane.", None, 1, 1000)
    altitude_m: float | None = quantity(
        units.LENGTH, "Height of the circular orbits above `earth_radius`.", None, low="100 km", high="50000 km"
    )
    inclination_deg: float | None = quantity(
        units.ANGLE, "Inclination of every plane.", None, low="0 deg", high="180 deg"
    )
    phasing: int | None = count(
        "Walker's F: satellite s of plane p starts at argument of latitude 360 s/S + 360 F p/(P S) deg.", 0, 0, 10**6
    )
    node_offset_deg: float | None = quantity(
        units.ANGLE, "Right ascension of plane 0's ascending node.", "0 deg", low="-360 deg", high="360 deg"
    )
    tle: InputFile | None = file(  # noqa: RUF009
        "A TLE, 3LE or OMM file in place of the Walker keys; SGP4 propagates it."
    )
    epoch: str = instant(
        "The instant (UTC) at which the constellation's clock is 0; to be given with `tle`.", "2000-01-01T00:00:00Z"
    )
    earth: str = word(
        "The figure that stations stand on: a sphere of `earth_radius`, or the WGS84 ellipsoid (default with `tle`).",
        ("sphere", "wgs84"),
        "sphere",
    )
    earth_radius_m: float = quantity(
        units.LENGTH, "Radius of the sphere; altitudes count from it.", "6378.137 km", low="6000 km", high="7000 km"
    )
    mu_m3_per_s2: float = quantity(
        units.GRAVITY, "The Earth's gravitational parameter; sets the orbits' period.", "398600.4418 km3/s2",
        low="300000 km3/s2", high="500000 km3/s2",
    )  # fmt: skip
    earth_rotation_rad_per_s: float = quantity(
        units.ANGULAR_RATE, "How fast the Earth turns.", "7.2921158553e-5 rad/s", low="-1 rad/s", high="1 rad/s"
    )
    greenwich_deg: float | None = quantity(
        units.ANGLE,
        'Angle of Greenwich from the vernal equinox at constellation clock 0; "gmst": sidereal time at `epoch` '
        "(always so with `tle`).",
        "0 deg",
        low="-360 deg",
        high="360 deg",
        none="gmst",
    )


@dataclass(frozen=True, kw_only=True)
class Chain(QueueKeys):
    """Routers r0 to rN in a row between hosts A and B, with one fixed path."""

    hops: int = count("Number of links between routers.", 1, 1, 200)
    delay_ns: int = quantity(units.TIME, "One-way delay of each link.", "10 ms", low="0 s", high="60 s")
    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    overhead_bytes: int = quantity(units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B",
                                   low="0 B", high="1000 B")  # fmt: skip
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that each link loses at random.", "0 %", low="0 %", high="100 %"
    )


@dataclass(frozen=True, kw_only=True)
class Jittered:
    """Hosts A and B and one router: each packet to B has a random delay of its own, so packets overtake each other."""

    delay_ns: int = quantity(units.TIME, "Mean one-way delay, A to B.", "100 ms", low="0 s", high="60 s")
    delay_up_ns: int = quantity(units.TIME, "One-way delay, B to A; never jittered.", "0 s", low="0 s", high="60 s")
    jitter_ns: int = quantity(
        units.TIME, "Standard deviation of a packet's delay, A to B, whatever the distribution.", "1 ms", low="0 s",
        high="2 s",
    )  # fmt: skip
    distribution: str = word(
        "Of the delays: uniform (mean +- sqrt(3) jitter), normal, exponential (on top of delay - jitter), or that of "
        "the samples in `table`.",
        ("uniform", "normal", "exponential", "table"),
        "normal",
    )
    table: InputFile | None = file(  # noqa: RUF009
        'distribution = "table": a text file of samples, one number a line, in any unit; brought to the mean `delay` '
        "and the standard deviation `jitter`."
    )
    rate_bps: int | None = quantity(
        units.RATE, "Rate of the link, A to B; packets are serialised in the order in which their delays end.",
        "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s", none="unshaped",
    )  # fmt: skip
    rate_up_bps: int | None = quantity(
        units.RATE, "The same, B to A.", "unshaped", low="8 kbit/s", high="1000 Gbit/s", none="unshaped"
    )
    queue_pkts: int | None = queue(
        "netem's own limit in each direction: packets waiting and flying. Not in bytes:", "5000 pkts"
    )
    queue_bytes: int | None = None
    overhead_bytes: int = quantity(units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B",
                                   low="0 B", high="1000 B")  # fmt: skip
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that are lost at random, A to B.", "0 %", low="0 %", high="100 %"
    )
