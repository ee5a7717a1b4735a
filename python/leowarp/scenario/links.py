# SPDX-License-Identifier: Apache-2.0
"""`[[stations]]`, `[isl]`, `[ground]`, `[routing]` and `[network]`: what a constellation's links are and do."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp import units
from leowarp.scenario.key import count, flag, quantity, text, word
from leowarp.scenario.queues import QueueKeys

SMALLEST_MTU_BYTES, LARGEST_MTU_BYTES = 256, 1500
"""What `network.mtu` may be."""


@dataclass(frozen=True, kw_only=True)
class Station:
    """A place on the ground with a host behind it."""

    name: str = text("A name of the gazetteer, or any other with latitude and longitude.", required=True)
    latitude_deg: float | None = quantity(
        units.ANGLE, "Geodetic latitude, north positive.", None, low="-90 deg", high="90 deg"
    )
    longitude_deg: float | None = quantity(
        units.ANGLE, "Longitude, east positive.", None, low="-180 deg", high="360 deg"
    )
    height_m: float | None = quantity(
        units.LENGTH, "Height above the figure of the Earth.", "0 m", low="-1 km", high="100 km"
    )


@dataclass(frozen=True, kw_only=True)
class Isl(QueueKeys):
    """Links between satellites.

    A rule sets them at each instant; no time to point a laser is in them (docs/limitations.md, links).
    """

    rule: str = word(
        "Which satellites are linked: any two within `max_range`; the four neighbours of a grid; none.",
        ("range", "plus-grid", "none"),
        "range",
    )
    max_range_m: float = quantity(
        units.LENGTH, "Longest link of the rule `range`.", "3000 km", low="1 km", high="100000 km"
    )
    grazing_height_m: float | None = quantity(
        units.LENGTH, "Height above the sphere that the line of sight must clear.", "none", low="0 km", high="1000 km",
        none="none",
    )  # fmt: skip
    terminals: int | None = count("Links per satellite at most, nearest first.", "unlimited", 1, 1000, none="unlimited")
    seam: bool = flag("plus-grid: links across the seam of a star.", True)
    polar_cutoff_deg: float | None = quantity(
        units.ANGLE, "plus-grid: no link between planes above this latitude.", "none", low="0 deg", high="90 deg",
        none="none",
    )  # fmt: skip
    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    overhead_bytes: int = quantity(
        units.BYTES, "Bytes on the link per packet on top of its IP length; 14 is what the kernel's qdiscs count.",
        "14 B", low="0 B", high="1000 B",
    )  # fmt: skip
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that each link loses at random.", "0 %", low="0 %", high="100 %"
    )


@dataclass(frozen=True, kw_only=True)
class Ground(QueueKeys):
    """Links between stations and satellites."""

    rule: str = word(
        "Which satellites a station reaches: by great-circle distance to the sub-satellite point, or by elevation.",
        ("ground-range", "min-elevation"),
        "ground-range",
    )
    max_ground_range_m: float = quantity(
        units.LENGTH, "Longest distance on the ground of the rule `ground-range`.", "1500 km", low="1 km",
        high="20040 km",
    )  # fmt: skip
    min_elevation_deg: float = quantity(
        units.ANGLE, "Lowest elevation of the rule `min-elevation`.", "25 deg", low="0 deg", high="90 deg"
    )
    delay: str = word("A ground link's delay: its slant range over c, or none.", ("slant-range", "zero"), "slant-range")
    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    overhead_bytes: int = quantity(
        units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B", low="0 B", high="1000 B"
    )
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that each link loses at random.", "0 %", low="0 %", high="100 %"
    )


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Which way packets go, and what happens to those under way when that changes.

    Routes are known to every node at once: there is no routing protocol and no convergence.
    """

    metric: str = word("What a path's cost adds up.", ("distance", "delay", "hops"), "distance")
    ground_cost: str = word(
        "What a ground link weighs: its slant range, or the distance on the ground to the sub-satellite point.",
        ("slant-range", "ground-distance"),
        "slant-range",
    )
    interval_ns: int = quantity(
        units.TIME, "How often routes are computed anew (the study's L3 interval).", "30 s", low="1 ms", high="1 d"
    )
    link_interval_ns: int = quantity(
        units.TIME, "How often the links' delays follow the satellites (the study's L2 interval).", "15 s", low="1 ms",
        high="1 d",
    )  # fmt: skip
    in_flight: str = word(
        "At a route change, packets under way: old links live on and nodes forward by the new table (drain); they keep "
        "the path they left with (source); a link that goes down loses what it holds (drop).",
        ("drain", "source", "drop"),
        "drain",
    )
    leaving_links: str = word(
        "A link in use that leaves its rule's range lives until the next route update (keep), or goes down (strict).",
        ("keep", "strict"),
        "keep",
    )
    reverse: str = word(
        "The way back: the way there reversed, or a shortest path of its own.", ("mirror", "own"), "mirror"
    )


@dataclass(frozen=True, kw_only=True)
class Network:
    """What is built in the guest kernel."""

    instantiate: str = word(
        "Satellites that become routers: those that some path uses, or all.", ("used", "all"), "used"
    )
    endpoints: str = word(
        "Where a connection's network begins: at the stations, or at the first and last satellite "
        "(ground links then have no delay and no rate).",
        ("stations", "satellites"),
        "stations",
    )
    link_model: str = word(
        "The queueing discipline of a link: ours (queue, serialiser and delay line apart), or Linux netem.",
        ("leolink", "netem"),
        "leolink",
    )
    delay_rounding: str = word("Delays as computed, or rounded up to whole milliseconds.", ("none", "ceil-ms"), "none")
    queue_counts: str = word(
        "What `queue` limits: the waiting packets, or those in the delay line too (netem's own limit).",
        ("waiting", "waiting-and-flying"),
        "waiting",
    )
    mtu_bytes: int = quantity(
        units.BYTES,
        "Longest IP packet of the hosts (MTU of their interfaces): a TCP segment carries 40 bytes less, 52 with "
        "timestamps. Delay lines and limits that are counted in full packets follow it.",
        "1500 B", low=f"{SMALLEST_MTU_BYTES} B", high=f"{LARGEST_MTU_BYTES} B",
    )  # fmt: skip
    neighbours: str = word("Neighbours are set, or asked for by ARP on every new link.", ("static", "arp"), "static")
