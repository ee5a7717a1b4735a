# SPDX-License-Identifier: Apache-2.0
"""The sections `[[stations]]`, `[isl]`, `[ground]`, `[routing]` and `[network]`: a constellation's links and their
properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.base import units
from leowarp.scenario.network.queues import RateKeys
from leowarp.scenario.text.key import InputFile, count, file, flag, overhead, quantity, share, text, time, word

IP_HEADER_BYTES = {"ipv4": 20, "ipv6": 40}
"""The length of the IP header for each `network.family`. The IPv4 header is without options (RFC 791, 3.1). The IPv6
header is without extension headers (RFC 8200, 3)."""
SMALLEST_MTU_BYTES, LARGEST_MTU_BYTES = 256, 1500
"""The smallest and largest value of `network.mtu`."""
UPDATE_KEYS = ("update_order", "update_delay", "update_spread")
"""The keys of `[routing]` that only `update = "staggered"` uses."""
SKY_KEYS = ("geostationary_separation", "obstructions")
"""The keys of a station that limit its view. A plan contains them only if they limit the directions that the station
may use."""
ACQUISITION_KEYS = ("acquisition", "acquisition_between_planes", "acquiring")
GAP_KEYS = ("handover_gap", "handover_gap_spread", "in_gap")
"""A link may be usable only some time after it comes up. These keys of `[isl]` and `[ground]` describe such links. A
plan without such links has none of these keys."""


def latitude(doc: str, default: str | None) -> Any:
    """Declare a key whose value is a latitude."""
    return quantity(units.ANGLE, doc, default, low="-90 deg", high="90 deg")


def longitude(doc: str, default: str | None) -> Any:
    """Declare a key whose value is a longitude."""
    return quantity(units.ANGLE, doc, default, low="-180 deg", high="360 deg")


@dataclass(frozen=True, kw_only=True)
class Station:
    """A place on the ground with a host."""

    name: str = text(
        "Name of the station: a name of the gazetteer, or any other name with latitude and longitude.", required=True
    )
    latitude_deg: float | None = latitude("Geodetic latitude, north positive.", None)
    longitude_deg: float | None = longitude("Longitude, east positive.", None)
    height_m: float | None = quantity(
        units.LENGTH,
        "Height above the Earth's surface (the constellation's figure of the Earth).",
        "0 m",
        low="-1 km",
        high="100 km",
    )
    # SpaceX's filing SAT-MOD-20200417-00037 with the FCC gives a separation of 22 deg.
    geostationary_separation_deg: float | None = quantity(
        units.ANGLE, "The station uses no satellite nearer than this to the geostationary arc, as seen from the "
        "station; 22 deg is Starlink's value in its filings.", "none", low="0 deg", high="90 deg", none="none",
    )  # fmt: skip
    obstructions: InputFile | None = file(  # noqa: RUF009
        "Smallest usable elevation by azimuth: a CSV table with the columns `azimuth_deg, elevation_deg`, interpolated "
        "linearly between rows, also across north."
    )
    # The study's emulator does not shape the receiver's ground links, because it looks up the wrong node of the path
    # (main.go at 34e333e).
    shaped: bool = flag(
        "Whether rate, queue and loss of `[ground]` apply to the station's links; false: its links have none of these.",
        True,
    )


@dataclass(frozen=True, kw_only=True)
class Isl(RateKeys):
    """The links between satellites.

    The key `rule` determines the links at each instant.
    """

    rule: str = word(
        "Rule for links between satellites: any two within `max_range`; the four neighbours in a grid; or none. The "
        "planes of a grid over `constellation.tle` are found from its elements.",
        ("range", "plus-grid", "none"),
        "range",
    )
    max_range_m: float = quantity(
        units.LENGTH, "Longest link of the rule `range`.", "3000 km", low="1 km", high="100000 km"
    )
    grazing_height_m: float | None = quantity(
        units.LENGTH, "Smallest height of the line of sight above the sphere.", "none", low="0 km", high="1000 km",
        none="none",
    )  # fmt: skip
    terminals: int | None = count(
        "Largest number of links per satellite, nearest first.", "unlimited", 1, 1000, none="unlimited"
    )
    # Neighbouring planes on the two sides of a star's seam move in opposite directions. Across the seam, a satellite is
    # linked to the satellite with the smallest mean distance (docs/limitations.md, constellations).
    seam: bool = flag("plus-grid: whether links cross the seam of a star constellation.", True)
    polar_cutoff_deg: float | None = quantity(
        units.ANGLE, "plus-grid: latitude above which no planes are linked.", "none", low="0 deg", high="90 deg",
        none="none",
    )  # fmt: skip
    across_shells: bool = flag(
        "range, with `[[constellation.shells]]`: whether satellites of two shells are linked; otherwise no link "
        "connects two shells.",
        False,
    )
    acquisition_ns: int = time("Time to point the lasers of a link that the rule has just added.", "0 s", "1 h")
    # Links that exist only for some time are mostly those between crossing planes (Chaudhry and Yanikomeroglu, "Laser
    # Intersatellite Links in a Starlink Constellation: A Classification and Analysis", 2021). We found no source that
    # gives different times for different classes of links.
    acquisition_between_planes_ns: int | None = quantity(
        units.TIME, "acquisition: time to point the lasers between satellites of two orbital planes; `acquisition` is "
        "then the time within a plane.", "the same", low="0 s", high="1 h", none="the same",
    )  # fmt: skip
    acquiring: str = word(
        "acquisition: routes use a new link only when it is ready (wait), or at once; until it is ready, its packets "
        "are then lost (lost) or wait in its queue (buffered).",
        ("wait", "lost", "buffered"),
        "wait",
    )
    overhead_bytes: int = quantity(
        units.BYTES, "Bytes that each packet occupies on the link in addition to its IP length; the kernel's qdiscs "
        "count 14.",
        "14 B", low="0 B", high="1000 B",
    )  # fmt: skip
    loss_ratio: float = share("Share of packets that each link loses at random.", "0 %")

    @property
    def longest_acquisition_ns(self) -> int:
        """The acquisition time within a plane, or between planes, whichever is longer. If the result is 0, every new
        link is usable at once."""
        return max(self.acquisition_ns, self.acquisition_between_planes_ns or 0)


@dataclass(frozen=True, kw_only=True)
class Ground(RateKeys):
    """The links between stations and satellites."""

    rule: str = word(
        "Rule for the satellites that a station reaches: by great-circle distance to the sub-satellite point, or by "
        "elevation.",
        ("ground-range", "min-elevation"),
        "ground-range",
    )
    max_ground_range_m: float = quantity(
        units.LENGTH, "Largest distance on the ground of the rule `ground-range`.", "1500 km", low="1 km",
        high="20040 km",
    )  # fmt: skip
    min_elevation_deg: float = quantity(
        units.ANGLE, "Smallest elevation of the rule `min-elevation`.", "25 deg", low="0 deg", high="90 deg"
    )
    delay: str = word(
        "Delay of a ground link: its slant range divided by c, or zero.", ("slant-range", "zero"), "slant-range"
    )
    handover_gap_ns: int = time(
        "Time for which a station has no link when it changes to another satellite.", "0 s", "1 h"
    )
    handover_gap_spread_ns: int = time("handover_gap: each gap is uniform within this distance of it.", "0 s", "1 h")
    in_gap: str = word(
        "handover_gap: during a gap, packets for the link are lost (lost), wait in its queue (buffered), or take the "
        "previous path (old: make before break).",
        ("lost", "buffered", "old"),
        "lost",
    )
    overhead_bytes: int = overhead()
    loss_ratio: float = share("Share of packets that each link loses at random.", "0 %")


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Determines how the paths of packets are chosen. Also determines what happens to packets in flight when a path
    changes.

    All nodes apply a route update at the same instant or, with ``update = "staggered"``, one after another. No routing
    protocol is simulated.
    """

    metric: str = word("What a path's cost adds up.", ("distance", "delay", "hops"), "distance")
    ground_cost: str = word(
        "Weight of a ground link in routes: its slant range, or the distance on the ground to the sub-satellite point.",
        ("slant-range", "ground-distance"),
        "slant-range",
    )
    # The values are those of the study's emulator (Frederiksen et al.), which computes paths every 30 s and delays
    # every 15 s.
    interval_ns: int = quantity(
        units.TIME, "Time between two route updates (the study's L3 interval).", "30 s", low="1 ms", high="1 d"
    )
    link_interval_ns: int = quantity(
        units.TIME, "Time between two updates of the links' delays (the study's L2 interval).", "15 s", low="1 ms",
        high="1 d",
    )  # fmt: skip
    in_flight: str = word(
        "Packets in flight at a route change. drain: old links continue and nodes forward by the new table; source: "
        "packets keep the path of their departure; drop: a link that goes down loses its packets.",
        ("drain", "source", "drop"),
        "drain",
    )
    leaving_links: str = word(
        "A link in use that leaves the range of its rule stays up until the next route update (keep), or goes down "
        "(strict).",
        ("keep", "strict"),
        "keep",
    )
    reverse: str = word(
        "Path of the opposite direction: the same path reversed, or a shortest path of its own.",
        ("mirror", "own"),
        "mirror",
    )
    margin_ratio: float | None = quantity(
        units.RATIO,
        "A path remains until it breaks, or until it costs more than the shortest by this share. 0 %: always the "
        "shortest path; unlimited: until it breaks.",
        "0 %", low="0 %", high="1000 %", none="unlimited",
    )  # fmt: skip
    update: str = word(
        "Order of changes at a route update. atomic: all nodes of a new path change at once; staggered: one node after "
        "another, first those of the forward path, then those of the reverse path.",
        ("atomic", "staggered"),
        "atomic",
    )
    # The study's emulator uses the order of a Go map, which is random (main.go at 34e333e).
    update_order: str = word(
        "staggered: order of the nodes: as packets pass them, the reverse, or random.",
        ("source-first", "destination-first", "random"),
        "source-first",
    )
    update_delay_ns: int = quantity(
        units.TIME, "staggered: mean time that a node takes after the previous one.", "100 ms", low="0 ms",
        high="1 h",
    )  # fmt: skip
    update_spread: str = word(
        "staggered: each node takes `update_delay`, or a random time with this mean: uniform from 0 to twice the mean, "
        "or exponential.",
        ("constant", "uniform", "exponential"),
        "constant",
    )


@dataclass(frozen=True, kw_only=True)
class Network:
    """The settings of the network in the guest kernel."""

    # With the rule `range`, the value "all" is costly, because many links exist at the same time. For example, 18
    # planes of 36 satellites with links up to 3000 km have 22,334 different links in 1000 s, which cause 1.6 million
    # events (design/routes-and-timeline.md).
    instantiate: str = word("Satellites that become routers: those on some path, or all.", ("used", "all"), "used")
    endpoints: str = word(
        "First and last node of a connection's network: the stations, or the first and last satellite (ground links "
        "then have no delay and no rate).",
        ("stations", "satellites"),
        "stations",
    )
    # netem counts packets in its delay line: with a limit of 500 packets and 10 ms at 100 Mbit/s, only 417 packets can
    # wait (docs/concepts/links.md).
    link_model: str = word(
        "Model of a link: leolink (separate queue, serialiser and delay line), or Linux netem.",
        ("leolink", "netem"),
        "leolink",
    )
    forwarding: str = word(
        "Forwarding from one link of `leolink` to another: directly into its queue, or by the kernel's IP stack. Both "
        "give the same bytes, and `kernel` costs more. The kernel always forwards if TCP or a program's data may pass "
        "no rate limit at all.",
        ("direct", "kernel"),
        "direct",
    )
    delay_rounding: str = word("Delays as computed, or rounded up to whole milliseconds.", ("none", "ceil-ms"), "none")
    queue_counts: str = word(
        "Packets that `queue` limits: the waiting ones, or also those in the delay line (as netem's own limit).",
        ("waiting", "waiting-and-flying"),
        "waiting",
    )
    mtu_bytes: int = quantity(
        units.BYTES,
        "Largest IP packet of the hosts (MTU of their interfaces). A TCP segment carries 40 bytes less, 52 with "
        "timestamps, and 20 less over IPv6. Delay lines and limits in full packets follow from it.",
        "1500 B", low=f"{SMALLEST_MTU_BYTES} B", high=f"{LARGEST_MTU_BYTES} B",
    )  # fmt: skip
    neighbours: str = word(
        "Neighbour entries are set in advance, or resolved by ARP on each new link.", ("static", "arp"), "static"
    )
    family: str = word(
        "Address family of hosts and packets. With ipv6 the run uses the kernel `6.12+net`, unless guest.kernel names "
        "another with IPv6, and nodes forward by the kernel's IP stack.",
        ("ipv4", "ipv6"),
        "ipv4",
    )

    @property
    def ip_header_bytes(self) -> int:
        """The length of the IP header of a flow's packets, bytes."""
        return IP_HEADER_BYTES[self.family]
