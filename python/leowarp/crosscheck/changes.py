# SPDX-License-Identifier: Apache-2.0
"""The actions that `[cures]` requires at each route change, computed from plan and timeline alone
(docs/concepts/cures.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from leowarp.base.nodes import host_node
from leowarp.base.streams import stream
from leowarp.crosscheck.network import Instant, Link, State, instants, station_of_host, talking

if TYPE_CHECKING:
    from leowarp.results.run import Run
    from leowarp.scenario import Plan


@dataclass(frozen=True)
class Rests:
    """The travel times from the far ends of a node's old and new link to the host's station.

    old_ns: The longest time on the old path, with the transmission of one full packet at each further link. If a link's
        delay changes at the switch, the larger delay is used.
    new_ns: The shortest time on the new path.
    old, new: The links of the two paths.
    """

    old_ns: int
    new_ns: int
    old: tuple[Link, ...]
    new: tuple[Link, ...]


@dataclass(frozen=True)
class Switch:
    """A change of a node's route to a host from one link to another.

    old, new: The first link after the node, on the old path and on the new path.
    rests: The remaining travel times of packets. None means that packets on the old link never arrive.
    copies_refused, marker_refused: The reason why the node does not send copies or a marker, as written in the column
        `refused`. None means that it sends them.
    met: The last links of the old path and of the new path before the node at which they meet. None means that there is
        no marker.
    old_delay_ns, new_delay_ns: The delays of the node's old link and new link from this instant on.
    """

    t_ns: int
    old: Link
    new: Link
    host: str
    rests: Rests | None
    copies_refused: str | None
    marker_refused: str | None
    met: tuple[Link, Link] | None
    old_delay_ns: int
    new_delay_ns: int


@dataclass(frozen=True)
class Notice:
    """A notice that a host must receive according to the run's cures.

    told, destination: The node of the host that gets the notice, and of the host to which its packets go.
    link: The link over which the notice's node sends: the old link if the notice precedes the change, or the new link.
    wait_ns: The waiting time in a false notice. For a true notice, `switch` and `answer_ns` give the waiting time.
    switch: The switch that a true notice announces.
    answer_ns: The travel time from the destination to the host, minus the travel time of the notice, in ns. None means
        that there is no path.
    """

    t_ns: int
    told: str
    destination: str
    link: Link
    is_false: bool
    old_delay_ns: int
    new_delay_ns: int
    wait_ns: int | None
    switch: Switch | None
    answer_ns: int | None


@dataclass(frozen=True)
class Changes:
    """All switches and notices of a run, in chronological order."""

    switches: tuple[Switch, ...]
    notices: tuple[Notice, ...]


def changes(run: Run) -> Changes:
    """Return the actions that a run's cures require."""
    plan, pairs = run.plan, talking(run)
    lead_ns = max(-plan.cures.notify_delay_ns, 0) if plan.cures.notify else 0
    switches: list[Switch] = []
    notices: list[Notice] = []
    untrue = _false_instants(plan, run.tables.hosts, pairs)
    overhead_bytes = {
        frozenset((row.a, row.b)): 0 if pd.isna(row.overhead_bytes) else int(row.overhead_bytes)
        for row in run.timeline().query("event == 'link' and up").itertuples(index=False)
    }
    full_bytes = {link: plan.network.mtu_bytes + bytes_ for link, bytes_ in overhead_bytes.items()}
    former: State | None = None
    for instant in instants(run.timeline()):
        # Reading an instant modifies the state in place. A false notice before this instant uses `former`, a copy of
        # the earlier state.
        while former is not None and untrue and untrue[0][0] < instant.t_ns:
            notices += _false_notice(former, *untrue.pop(0))
        if untrue:
            former = State(dict(instant.state.entries), dict(instant.state.delays_ns))
        # A notice may be sent before the run's end although its change comes after the end.
        if instant.t_ns - lead_ns > run.end_ns:
            break
        mine = [_switch(instant, entry, old, full_bytes) for entry, old in sorted(instant.switched.items())]
        switches += mine if instant.t_ns <= run.end_ns else []
        if instant.t_ns >= lead_ns:
            notices += _true_notices(instant, pairs, mine, is_ahead=lead_ns > 0)
    while former is not None and untrue:
        notices += _false_notice(former, *untrue.pop(0))
    notices = [each for each in notices if each.t_ns - (0 if each.is_false else lead_ns) <= run.end_ns]
    return Changes(tuple(switches), tuple(sorted(notices, key=lambda each: each.t_ns)))


def _switch(instant: Instant, entry: tuple[str, str], before: str, full_bytes: dict[frozenset[str], int]) -> Switch:
    node, host = entry
    state = instant.state
    old, new = (node, before), (node, state.entries[entry])
    rests = _rests(instant, old, new, host, full_bytes)
    copies_refused = marker_refused = None
    met = None
    if rests is None or old in state.down:
        copies_refused = marker_refused = "no_old_path"
    elif any(b == node for _, b in rests.old):
        copies_refused = marker_refused = "same_path"
    else:
        by_old, by_new = (old, *rests.old), (new, *rests.new)
        enters = {link[1]: link for link in reversed(by_old)}
        met = next(((enters[link[1]], link) for link in by_new if link[1] in enters), None)
        if met is None:
            marker_refused = "no_old_path"
        elif not all(state.delays_ns.get(link, 0) > 0 or link in state.rates_bps for link in met):
            met, marker_refused = None, "no_time"
    return Switch(
        instant.t_ns, old, new, host, rests, copies_refused, marker_refused, met,
        state.delays_ns.get(old, 0), state.delays_ns.get(new, 0),
    )  # fmt: skip


def _rests(instant: Instant, old: Link, new: Link, host: str, full_bytes: dict[frozenset[str], int]) -> Rests | None:
    state = instant.state
    by_old, by_new = state.way(old[1], host), state.way(new[1], host)
    if by_old is None or by_new is None or old in state.lost:
        return None

    def longest_ns(link: Link) -> int:
        now_ns = state.delays_ns.get(link, 0)
        rate_bps = state.rates_bps.get(link)
        full_ns = 0 if rate_bps is None else full_bytes[frozenset(link)] * 8 * 1_000_000_000 // rate_bps + 1
        return max(now_ns, instant.former_ns.get(link, 0)) + full_ns

    return Rests(sum(map(longest_ns, by_old)), state.delay_ns(by_new), tuple(by_old), tuple(by_new))


def _true_notices(
    instant: Instant, pairs: list[tuple[str, str]], switches: list[Switch], *, is_ahead: bool
) -> Iterator[Notice]:
    state = instant.state
    of_entry = {(switch.old[0], switch.host): switch for switch in switches}
    for told, destination in pairs:
        station = station_of_host(state, told)
        old = station and instant.old_way(station, destination)
        first = next((link[0] for link in old or () if (link[0], destination) in of_entry), None)
        new = station and state.way(station, destination)
        if station is None or not old or not new or first is None:
            continue
        switch = of_entry[first, destination]
        yield Notice(
            instant.t_ns, told, destination, switch.old if is_ahead else switch.new, False, instant.old_delay_ns(old),
            state.delay_ns(new), None, switch, _answer_ns(state, first, told, destination),
        )  # fmt: skip


def _answer_ns(state: State, node: str, told: str, destination: str) -> int | None:
    far = station_of_host(state, destination)
    back = far and state.way(far, told)
    notice = state.way(node, told)
    return None if not back or notice is None else state.delay_ns(back) - state.delay_ns(notice)


def _false_notice(state: State, t_ns: int, told: str, destination: str) -> Iterator[Notice]:
    station, far = station_of_host(state, told), station_of_host(state, destination)
    there = station and state.way(station, destination)
    back = far and state.way(far, told)
    if there and back:
        there_ns = state.delay_ns(there)
        yield Notice(
            t_ns, told, destination, there[0], True, there_ns, there_ns, there_ns + state.delay_ns(back), None, None
        )


def _false_instants(plan: Plan, hosts: tuple[str, ...], pairs: list[tuple[str, str]]) -> list[tuple[int, str, str]]:
    """Return the false notices. Those of each pair of hosts are a Poisson process with its own random stream."""
    mean_ns = plan.cures.notify_false_interval_ns if plan.cures.notify else None
    out: list[tuple[int, str, str]] = []
    if mean_ns is None:
        return out
    for told, destination in pairs:
        rng = stream(plan.run.seed, "cures.notices", hosts.index(told), hosts.index(destination))
        t_ns = 0
        while (t_ns := t_ns + round(rng.exponential(mean_ns))) < plan.run.duration_ns:
            out.append((t_ns, told, destination))
    return sorted(out)


def hosts_of_flow(plan: Plan, flow: int, direction: int) -> tuple[str, str]:
    """Return the nodes of the sending host and the receiving host in one direction of a flow (0 is data)."""
    ends = host_node(plan.flows[flow].source), host_node(plan.flows[flow].destination)
    return ends if direction == 0 else ends[::-1]
