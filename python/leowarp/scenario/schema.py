# SPDX-License-Identifier: Apache-2.0
"""The plan as a tree of frozen dataclasses. It is also the schema: every key of a scenario is declared here, once.

A field is named after its TOML key plus the suffix of its unit: ``altitude = "1200 km"`` is ``altitude_m``. The
loader, the writer and the reference page all read the declarations; nothing else lists the keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp import units
from leowarp.scenario.key import InputFile, count, file, flag, instant, quantity, queue, sysctl, text, word

SCHEMA_VERSION = 1

CONGESTION_CONTROLS = (
    "reno", "cubic", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""The congestion controls that are built into the default guest kernel."""

PROFILES = ("linux", "norack", "classic", "newreno")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How long, from when, and which dice."""

    duration_ns: int = quantity(units.TIME, "How long the run lasts.", low="1 ms", high="30 d", default="1000 s")
    ends: str = word(
        "What ends it: `duration`, or `linger` after the last flow that has a size or a number of packets (at the "
        "latest `duration`).",
        ("duration", "flows"),
        "duration",
    )
    linger_ns: int = quantity(
        units.TIME, 'ends = "flows": how long it goes on after the last of them.', "1 s", low="0 s", high="1 h"
    )
    start_ns: int = quantity(
        units.TIME, "What the constellation's clock shows when the run's clock is 0.", "0 s", low="0 s", high="3650 d"
    )
    seed: int = count("Seed of every random choice; each component draws from a stream of its own.", 1, 0, 2**63 - 1)


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
class Measured:
    """One link between hosts A and B that follows a measured table."""

    file: InputFile = file(  # noqa: RUF009
        "CSV with the columns `t_s, delay_ms, rate_mbps, loss_ratio`; "
        "`delay_up_ms, rate_up_mbps, loss_up_ratio` if B to A differs. Each row holds from its time on.",
        required=True,
    )
    queue_pkts: int | None = queue("Waiting packets that a direction of the link holds.", "500 pkts")
    queue_bytes: int | None = None
    overhead_bytes: int = quantity(units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B",
                                   low="0 B", high="1000 B")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Routers r0 to rN in a row between hosts A and B, with one fixed path."""

    hops: int = count("Number of links between routers.", 1, 1, 200)
    delay_ns: int = quantity(units.TIME, "One-way delay of each link.", "10 ms", low="0 s", high="60 s")
    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    queue_pkts: int | None = queue("Waiting packets that each direction of a link holds.", "500 pkts")
    queue_bytes: int | None = None
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
class Isl:
    """Links between satellites."""

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
    queue_pkts: int | None = queue("Waiting packets that each direction of a link holds.", "500 pkts")
    queue_bytes: int | None = None
    overhead_bytes: int = quantity(
        units.BYTES, "Bytes on the link per packet on top of its IP length; 14 is what the kernel's qdiscs count.",
        "14 B", low="0 B", high="1000 B",
    )  # fmt: skip
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that each link loses at random.", "0 %", low="0 %", high="100 %"
    )


@dataclass(frozen=True, kw_only=True)
class Ground:
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
    queue_pkts: int | None = queue("Waiting packets that each direction of a link holds.", "500 pkts")
    queue_bytes: int | None = None
    overhead_bytes: int = quantity(
        units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B", low="0 B", high="1000 B"
    )
    loss_ratio: float = quantity(
        units.RATIO, "Share of packets that each link loses at random.", "0 %", low="0 %", high="100 %"
    )


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Which way packets go, and what happens to those under way when that changes."""

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
    neighbours: str = word("Neighbours are set, or asked for by ARP on every new link.", ("static", "arp"), "static")


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One transfer or probe between two stations."""

    kind: str = word("Bulk TCP, ICMP echo, or constant-rate UDP.", ("tcp", "ping", "udp"), "tcp")
    source: str = text("Station that sends.", required=True)
    destination: str = text("Station that receives.", required=True)
    congestion_control: str | None = text(
        "tcp: one that the guest kernel has (any name with a kernel of your own).", "cubic"
    )
    start_ns: int = quantity(units.TIME, "When it starts, on the run's clock.", "0 s", low="0 s", high="30 d")
    stop_ns: int = quantity(units.TIME, "When it stops, on the run's clock.", "end", low="0 s", high="30 d", none="end")
    size_bytes: int | None = quantity(
        units.BYTES, "tcp: bytes to transfer; the completion time is then recorded.", "unlimited", low="1 B",
        high="1000000 GB", none="unlimited",
    )  # fmt: skip
    rate_bps: int | None = quantity(
        units.RATE, "Payload that the application offers per second; udp needs it.", "unlimited", low="1 bit/s",
        high="1000 Gbit/s", none="unlimited",
    )  # fmt: skip
    interval_ns: int | None = quantity(units.TIME, "ping: time between two probes.", "1 s", low="100 us", high="1 h")
    packet_rate_pkts_per_s: float | None = quantity(
        units.PACKET_RATE, "ping, udp: probes per second, in place of `interval` or `rate`.", "none",
        low="0.0001 pkts/s", high="10000000 pkts/s", none="none",
    )  # fmt: skip
    packets: int | None = count("ping, udp: how many probes at most.", "unlimited", 1, 10**12, none="unlimited")
    replies: bool | None = flag("ping: the destination answers.", True)
    payload_bytes: int | None = quantity(
        units.BYTES, "ping, udp: payload of a packet (default of udp: 1200 B).", "56 B", low="16 B", high="1472 B"
    )


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """TCP of a host: a profile, buffers, and free sysctls on top."""

    profile: str = word(
        "linux: 6.12's defaults; norack: no RACK, duplicate-ACK threshold 3; classic: norack without timestamps and "
        "DSACK, so that nothing is undone; newreno: classic without SACK.",
        PROFILES,
        "linux",
    )
    buffer_max_bytes: int = quantity(
        units.BYTES, "Largest send and receive buffer (tcp_wmem, tcp_rmem).", "16 MiB", low="64 KiB", high="1 GiB"
    )
    sysctl: Mapping[str, str] = sysctl("Sysctls of the host, names and values as strings; they win over the profile.")


@dataclass(frozen=True, kw_only=True)
class Host:
    """A station's host, with every sysctl that it gets."""

    name: str
    tcp: Tcp
    sysctl: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Observe:
    """What is recorded, and how often."""

    sockets_ns: int | None = quantity(
        units.TIME, "Interval of the TCP_INFO samples.", "50 ms", low="1 ms", high="1 h", none="none"
    )
    counters_ns: int | None = quantity(
        units.TIME, "Interval of the kernel's TCP counters; none: at the end alone.", "1 s", low="1 ms", high="1 h",
        none="none",
    )  # fmt: skip
    queues_ns: int | None = quantity(
        units.TIME, "Interval of the queue samples.", "50 ms", low="1 ms", high="1 h", none="none"
    )
    truth: bool = flag(
        "Both ends of each flow are captured and matched; without, there are no packets, bins, drops of flows, echoes "
        "and no reordering.",
        True,
    )
    packets: str = word(
        "Packets stored one by one: none, those around route changes, all; late, lost and retransmitted ones always.",
        ("none", "changes", "all"),
        "changes",
    )
    packets_before_ns: int = quantity(
        units.TIME, "Storing begins this long before a route change.", "1 s", low="0 s", high="1 h"
    )
    packets_after_ns: int = quantity(
        units.TIME, "Storing ends this long after a route change.", "3 s", low="0 s", high="1 h"
    )
    reordering_threshold_pkts: int = quantity(
        units.PACKETS,
        "RFC 5236's thresholds of displacement and buffer (DT, BT); a route change displaces by a queue and more.",
        "1000 pkts", low="1 pkts", high="1000000 pkts",
    )  # fmt: skip
    reordering_window_ns: int | None = quantity(
        units.TIME,
        "Reordering is also measured in windows of this width; their borders lie half a window off its multiples.",
        "10 s", low="1 ms", high="30 d", none="none",
    )  # fmt: skip
    pcap: str = word("Hosts of which a pcapng file is written.", ("none", "source", "destination", "both"), "none")


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The guest kernel."""

    memory_bytes: int = quantity(units.BYTES, "The guest's memory.", "1 GiB", low="128 MiB", high="256 GiB")
    kernel: str = text('"default", or the path of a kernel tree or binary of your own.', "default")
    sysctl: Mapping[str, str] = sysctl(
        "Sysctls of the guest as a whole (those that Linux does not keep per network namespace)."
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A scenario with every default written out: all that a run depends on.

    Exactly one of `constellation`, `measured`, `chain` and `jittered` is not None. The three latter have the stations
    A and B, without coordinates, and their `isl`, `ground` and `routing` (of `jittered` also `network`) hold defaults
    that nothing uses. `sysctl` holds what the guest as a whole gets, `hosts[i].sysctl` what each host gets.
    """

    name: str
    run: Run = dataclasses.field(default_factory=Run)
    constellation: Constellation | None = None
    measured: Measured | None = None
    chain: Chain | None = None
    jittered: Jittered | None = None
    stations: tuple[Station, ...]
    isl: Isl = dataclasses.field(default_factory=Isl)
    ground: Ground = dataclasses.field(default_factory=Ground)
    routing: Routing = dataclasses.field(default_factory=Routing)
    network: Network = dataclasses.field(default_factory=Network)
    flows: tuple[Flow, ...]
    tcp: Tcp = dataclasses.field(default_factory=Tcp)
    hosts: tuple[Host, ...] = ()
    sysctl: Mapping[str, str] = dataclasses.field(default_factory=dict)
    observe: Observe = dataclasses.field(default_factory=Observe)
    guest: Guest = dataclasses.field(default_factory=Guest)

    def to_toml(self) -> str:
        """The plan as a scenario text; loading it gives this plan again."""
        from leowarp.scenario.write import plan_text

        return plan_text(self)

    def inputs(self) -> list[Path]:
        """Files that the plan names, to be copied into the run directory (`00-inputs/`)."""
        found: list[Any] = []
        if self.constellation is not None and self.constellation.tle is not None:
            found.append(self.constellation.tle)
        if self.measured is not None:
            found.append(self.measured.file)
        if self.jittered is not None and self.jittered.table is not None:
            found.append(self.jittered.table)
        return [entry.path for entry in found]
