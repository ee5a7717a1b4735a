# SPDX-License-Identifier: Apache-2.0
"""The size of a plan, with upper bounds on the memory and time of its run. The size is known before anything is
computed.

Each cost per unit was measured on one machine (docs/performance.md, "Limits"). The estimate is never below the true
cost, and at most about twice the true cost. A plan whose estimate is too large is rejected. The estimates never change
a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leowarp.base.errors import ScenarioError
from leowarp.base.machine.memory import usable_memory_bytes
from leowarp.base.plainfiles import MOST_TOML_BYTES
from leowarp.scenario.schema import Access, Chain, Constellation, Measured, Mobile, Plan
from leowarp.scenario.text.counts import MOST_FLOWS, MOST_STATIONS

MOST_SATELLITES = 200_000
"""The largest number of satellites in a plan, seven times the number in any operator's filing. A route update for 10^6
satellites took 7.3 s of processor time per pair, and 1.3 GiB before anything was sent."""

MOST_CPU_S = 30 * 86_400
"""The largest estimated processor time of a run, s: one month on a single processor."""

LONG_CPU_S = 3_600
"""If the estimated processor time exceeds this value, in s, `leowarp plan` reports how long the run may take."""

_BASE_BYTES = 200 << 20
"""The memory of Python and its libraries in an empty run."""
_ROW_BYTES = 600
"""The memory per row while the timeline is made. 378 MiB were measured for 689,798 rows (10,000 satellites with all
links). 129 MiB were measured for 227,021 rows (an access link of 1,000 s)."""
_SATELLITE_BYTES = 1_500
"""The memory in bytes per satellite for positions, links and the path search. 10^6 satellites took 1,326 MiB."""
_SAMPLE_BYTES = 700
"""The memory per sample of a socket, a counter or a queue while metrics are computed. The value was measured with
examples/chain.toml (100 s, sampled every 1 ms)."""
_PACKET_BYTES = 200
"""The memory that a stored packet takes during its conversion."""
_GUEST_SATELLITE_BYTES = 130 << 10
"""The guest's memory per satellite, including its links: 4,408 satellites took 463 MiB more than 648
(docs/performance.md)."""
_GUEST_BASE_BYTES = 64 << 20
"""The memory of a guest without nodes: kernel, agent and capture buffers."""

_SEARCH_S = 7e-6
"""The time in s of the path search for one satellite, one route update and one pair. The search over 10^6 satellites
took 7.3 s."""
_ROW_S = 1.5e-6
"""The time in s per row of the timeline. In the Python library, 689,798 rows took 0.74 s. The guest takes about the
same time for these rows."""
_SAMPLE_S = 25e-6
"""The time in s per sample. A run of 100 s of examples/chain.toml took 1.5 s with a sample every 1 s, and 11.5 s with a
sample every 1 ms."""
_PACKET_S, _HOP_S = 1.2e-6, 0.55e-6
"""Two times: per packet, and per packet on each link that it crosses (docs/performance.md)."""
_UNSHAPED_BPS = 1e9
"""The assumed rate of a flow that nothing limits."""
_SEGMENT_BYTES = 1448
"""The payload of a full segment with timestamps."""


@dataclass(frozen=True)
class Part:
    """One cause of the memory and time that a run needs.

    what: A description of the cause, with the number of rows, packets or satellites.
    hint: The option with which the user reduces the cost.
    """

    what: str
    memory_bytes: float
    cpu_s: float
    hint: str


def check_extent(plan: Plan, usable_bytes: int | None = None) -> None:
    """Reject a plan that is too large for this machine. The check reads no file and computes nothing.

    usable_bytes: The memory that the run may use. The default is the memory that this process may use.
    Raises ScenarioError if the plan is too large. The message names the limit, the largest cause, and a value to type
    instead.
    """
    _check_counts(plan)
    parts = parts_of(plan)
    needed_bytes = _BASE_BYTES + sum(part.memory_bytes for part in parts)
    usable_bytes = usable_memory_bytes() if usable_bytes is None else usable_bytes
    if needed_bytes > usable_bytes:
        part = max(parts, key=lambda part: part.memory_bytes)
        raise ScenarioError(
            f"{plan.name} needs about {_size(needed_bytes)} of memory, and {_size(usable_bytes)} are usable here: "
            f"{part.what}",
            part.hint,
        )
    needed_s = sum(part.cpu_s for part in parts)
    if needed_s > MOST_CPU_S:
        part = max(parts, key=lambda part: part.cpu_s)
        raise ScenarioError(
            f"{plan.name} needs about {needed_s / 86_400:,.0f} days of a processor, and at most "
            f"{MOST_CPU_S // 86_400} are possible: {part.what}",
            part.hint,
        )


def long_run(plan: Plan) -> str | None:
    """Return a sentence that says why the run takes hours, or None for a shorter run."""
    parts = parts_of(plan)
    needed_s = sum(part.cpu_s for part in parts)
    if needed_s < LONG_CPU_S:
        return None
    most = max(parts, key=lambda part: part.cpu_s)
    return f"a run takes up to {needed_s / 3600:,.0f} hours of a processor: {most.what} (for less, {most.hint})"


def satellites_of(plan: Plan) -> int:
    """Return the number of satellites in a plan's Walker patterns. A file of elements counts as 0, because its size is
    limited."""
    sky = plan.constellation
    return 0 if sky is None else sum(shell.satellites for shell in sky.patterns)


def parts_of(plan: Plan) -> list[Part]:
    """Return the causes of a run's memory and time. Each cause has an estimate."""
    parts = [_samples(plan), _packets(plan)]
    if plan.constellation is not None:
        parts += [_routes(plan), _events(plan)]
    more = _TABLES.get(type(plan.medium))
    return parts if more is None else [*parts, more(plan)]


def _check_counts(plan: Plan) -> None:
    """Check the sizes of a plan whose limits are the same on every machine."""
    satellites = satellites_of(plan)
    if satellites > MOST_SATELLITES:
        raise ScenarioError(
            f"{plan.name} has {satellites:,} satellites, and at most {MOST_SATELLITES:,} are possible",
            "write fewer planes, or fewer satellites_per_plane",
        )
    if len(plan.flows) > MOST_FLOWS:
        raise ScenarioError(
            f"{plan.name} has {len(plan.flows):,} flows, and at most {MOST_FLOWS:,} are possible: each has two ports",
            "make several runs, each of a part of the flows (--seeds 1..10 makes ten of [traffic])",
        )
    if len(plan.stations) > MOST_STATIONS:
        raise ScenarioError(
            f"{plan.name} has {len(plan.stations):,} stations, and at most {MOST_STATIONS:,} are possible: a plan "
            f"writes out each host, and has at most {MOST_TOML_BYTES >> 20} MiB",
            "write fewer [[stations]]",
        )
    if isinstance(plan.medium, Constellation) and plan.network.instantiate == "all":
        needed_bytes = _GUEST_BASE_BYTES + satellites * _GUEST_SATELLITE_BYTES
        if needed_bytes > plan.guest.memory_bytes:
            raise ScenarioError(
                f"{plan.name}: {satellites:,} satellites as routers need about {_size(needed_bytes)} of the guest's "
                f"memory, and guest.memory is {_size(plan.guest.memory_bytes)}",
                f"--set 'guest.memory=\"{-(-needed_bytes >> 30) + 1} GiB\"', or --set network.instantiate=used",
            )


def _routes(plan: Plan) -> Part:
    satellites, updates, pairs = satellites_of(plan), _times(plan, plan.routing.interval_ns), _pairs(plan)
    return Part(
        f"paths over {satellites:,} satellites at {updates:,} route updates for {pairs:,} pairs of stations",
        # For each pair of stations, each route update gives two rows of routes. Each row contains its path.
        satellites * _SATELLITE_BYTES + updates * pairs * 2 * _ROW_BYTES,
        updates * pairs * satellites * _SEARCH_S,
        'a shorter run (--set "run.duration=60 s"), or a longer routing.interval',
    )


def _events(plan: Plan) -> Part:
    """Estimate the number of rows for link delays in the timeline. Each direction has one row at each instant of
    `routing.link_interval`."""
    satellites, instants = satellites_of(plan), _times(plan, plan.routing.link_interval_ns)
    is_all = isinstance(plan.medium, Constellation) and plan.network.instantiate == "all"
    # In a +Grid, a satellite has four links. Each link belongs to two satellites, so there are two links per satellite.
    # Without `instantiate = "all"`, only the links on paths have rows: up to a dozen per pair of stations.
    links = 2 * satellites if is_all else min(12 * _pairs(plan), 2 * satellites or 12 * _pairs(plan))
    rows = instants * links
    return Part(
        f"{rows:,} changes of links' delays (about {links:,} links, {instants:,} times)",
        rows * _ROW_BYTES,
        rows * _ROW_S,
        'a longer interval (--set "routing.link_interval=60 s"), a shorter run'
        + (", or --set network.instantiate=used" if is_all else ""),
    )


def _samples(plan: Plan) -> Part:
    observe, rows = plan.observe, 0
    if observe.sockets_ns is not None:
        # Flows with a size are not counted. In runs with thousands of such flows, each flow ends soon.
        lasting = [flow for flow in plan.flows if flow.kind in ("tcp", "program") and flow.size_bytes is None]
        rows += sum(flow.stop_ns - flow.start_ns for flow in lasting) // observe.sockets_ns
    if observe.counters_ns is not None:
        rows += len(plan.stations) * _times(plan, observe.counters_ns)
    if observe.queues_ns is not None:
        # Each sample of the queues has one row per link with a waiting packet. With a constellation, we count only the
        # links of one path per pair of stations.
        links = plan.medium.hops if isinstance(plan.medium, Chain) else 1
        links = 8 * _pairs(plan) if plan.constellation is not None else links
        rows += links * _times(plan, observe.queues_ns)
    taken = {"sockets": observe.sockets_ns, "counters": observe.counters_ns, "queues": observe.queues_ns}
    longer = [f'--set observe.{name}="1 s"' for name, every_ns in taken.items() if every_ns and every_ns < 10**9]
    return Part(
        f"{rows:,} samples of sockets, counters and queues",
        rows * _SAMPLE_BYTES,
        rows * _SAMPLE_S,
        f"longer intervals ({' '.join(longer)}), or a shorter run" if longer else "a shorter run",
    )


def _packets(plan: Plan) -> Part:
    count = packets_of(plan)
    hops = plan.medium.hops if isinstance(plan.medium, Chain) else 8 if plan.constellation is not None else 1
    stored = count if plan.observe.truth and plan.observe.packets == "all" else 0
    return Part(
        f"up to {count:.3g} packets" + (", each of them stored" if stored else ""),
        stored * _PACKET_BYTES,
        count * (_PACKET_S + hops * _HOP_S),
        "a shorter run, lower rates or a flow's size" + (", or --set observe.packets=changes" if stored else ""),
    )


def packets_of(plan: Plan) -> float:
    """Return an upper limit on the packets that all hosts send. ACKs and replies count, but retransmissions do not.

    If a TCP flow has a size, it sends exactly this size. Flows without a size are assumed to fill the narrowest link of
    their source together.
    """
    told, by_source = 0.0, dict[str, float]()
    shaped_bps = likely_rate_bps(plan)
    for flow in plan.flows:
        lasts_s = (flow.stop_ns - flow.start_ns) / 1e9
        if flow.kind in ("tcp", "program"):
            rates = [rate for rate in (flow.rate_bps, shaped_bps) if rate is not None]
            by_rate = min(rates, default=_UNSHAPED_BPS) * lasts_s / 8 / _SEGMENT_BYTES
            size = by_rate if flow.size_bytes is None else min(by_rate, flow.size_bytes / _SEGMENT_BYTES)
            by_source[flow.source] = by_source.get(flow.source, 0.0) + size
        else:
            most = flow.packets if flow.packets is not None else float("inf")
            # The estimate assumes that every probe has a reply. A flood without an interval sends as fast as replies
            # come: 10,000 per second.
            told += 2 * min(most, (flow.paced_pkts_per_s or 1e4) * lasts_s)
    link = (shaped_bps or _UNSHAPED_BPS) * plan.run.duration_ns / 1e9 / 8 / _SEGMENT_BYTES
    # TCP sends one ACK for every second segment.
    return told + 1.5 * sum(min(link, each) if shaped_bps else each for each in by_source.values())


def likely_rate_bps(plan: Plan) -> float | None:
    """Return the approximate rate of the narrowest link. The result is None if this link is unshaped, or if a file
    gives its rate."""
    medium = plan.medium
    if isinstance(medium, Constellation):
        rates = [rate for rate in (plan.isl.left_bps, plan.ground.left_bps) if rate is not None]
        return min(rates, default=None)
    if isinstance(medium, Access):
        return medium.schedule_max_bps if medium.capacity_bps is None else 2 * medium.capacity_bps
    if isinstance(medium, Mobile | Measured):
        return medium.rate_bps
    return medium.left_bps


def _access_rows(plan: Plan) -> Part:
    medium = plan.medium
    assert isinstance(medium, Access)
    per_s = 1e9 / medium.jitter_step_ns + 1e9 / medium.jitter_up_step_ns + 4e9 / medium.modulation_time_ns + 20
    # Each value of the access link's tables lasts at least one frame of the radio link.
    rows = int(min(per_s, 4 * medium.frames_per_s + 20) * plan.run.duration_ns / 1e9)
    return Part(
        f"{rows:,} changes of the link's delay and capacity",
        rows * _ROW_BYTES,
        rows * _ROW_S,
        'a shorter run (--set "run.duration=1000 s"), or a longer access.jitter_step and access.jitter_up_step',
    )


def _fading_rows(plan: Plan) -> Part:
    medium = plan.medium
    assert isinstance(medium, Mobile)
    wavelength_m = 299_792_458.0 / medium.carrier_hz
    samples = plan.run.duration_ns / 1e9 * medium.speed_m_per_s / wavelength_m * medium.samples_per_wavelength
    # There is one row per codeword whose outcome differs from that of the previous codeword.
    codewords = plan.run.duration_ns / 1e9 * medium.rate_bps / medium.data_bits
    return Part(
        f"{samples:.3g} samples of fading and up to {codewords:.3g} codewords",
        (samples + codewords) * _FADING_BYTES,
        (samples + codewords) * _ROW_S,
        'a shorter run (--set "run.duration=600 s"), or fewer mobile.samples_per_wavelength',
    )


_FADING_BYTES = 100
"""The memory in bytes for one sample of fading or one codeword. It was measured with examples/mobile.toml over 1,000
s."""

_TABLES: dict[type, Callable[[Plan], Part]] = {Access: _access_rows, Mobile: _fading_rows}
"""The media whose timeline contains random tables. The function estimates the cost of these tables."""


def _times(plan: Plan, interval_ns: int) -> int:
    return -(-plan.run.duration_ns // interval_ns)


def _pairs(plan: Plan) -> int:
    """Count the pairs of stations that have flows. If there are no flows, all pairs count."""
    count = len({frozenset((flow.source, flow.destination)) for flow in plan.flows})
    return count or len(plan.stations) * (len(plan.stations) - 1) // 2


def _size(count_bytes: float) -> str:
    for unit in ("KiB", "MiB", "GiB"):
        count_bytes /= 1024
        if count_bytes < 1024 or unit == "GiB":
            return f"{count_bytes:,.3g} {unit}" if count_bytes < 1000 else f"{count_bytes:,.0f} {unit}"
    raise AssertionError
