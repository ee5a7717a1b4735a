# SPDX-License-Identifier: Apache-2.0
"""The timeline of a mobile channel: hosts mobile and server; terminal, satellite and gateway between them.

The link from satellite to terminal is the one that fades. The terminal is a node of its own, for what a host's own link
holds back its capture takes for sent late.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.nodes import host_node
from leowarp.routes import Routes
from leowarp.routes.observed import PathDelays, l2_instants_ns
from leowarp.routes.table import PathIds
from leowarp.scenario.links import SMALLEST_MTU_BYTES
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import ChannelRows, Harq, LandMobile, Outcomes, Realisation, realisation
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import CodewordSummary, TimelineMetadata
from leowarp.timeline.rounding import rounded_ns

_NODES = ("terminal", "satellite", "gateway", host_node("mobile"), host_node("server"))
_TERMINAL, _SATELLITE, _GATEWAY, _MOBILE, _SERVER = range(5)
_ROW = (_MOBILE, _TERMINAL, _SATELLITE, _GATEWAY, _SERVER)


def fading_of(mobile: Mobile) -> LandMobile | None:
    """The channel's parameters; None: nothing fades."""
    if not mobile.fading:
        return None
    return LandMobile(
        environment=mobile.environment,
        elevation_deg=mobile.elevation_deg,
        environments_path=None if mobile.environments is None else mobile.environments.path,
        speed_m_per_s=mobile.speed_m_per_s,
        carrier_hz=mobile.carrier_hz,
        correlation_m=mobile.correlation_m,
        transition_m=mobile.transition_m,
        frames=mobile.frames,
        frame_m=mobile.frame_m,
        samples_per_wavelength=mobile.samples_per_wavelength,
    )


def harq_of(mobile: Mobile) -> Harq:
    """The link layer's parameters."""
    return Harq(
        kind=mobile.harq,
        modulation=mobile.modulation,
        data_bits=mobile.data_bits,
        codeword_bits=mobile.codeword_bits,
        rate_bps=mobile.rate_bps,
        retransmissions=mobile.retransmissions,
        first_delay_ns=mobile.first_delay_ns,
        retransmission_delay_ns=mobile.retransmission_delay_ns,
        threshold_kind=mobile.threshold_kind,
        threshold_ratio=mobile.threshold_ratio,
        rule=mobile.rule,
        first_target_ratio=mobile.first_target_ratio,
        target_ratio=mobile.target_ratio,
        last_sends_rest=mobile.last_sends_rest,
        first_bits=mobile.first_bits,
    )


def realisation_of(plan: Plan) -> Realisation:
    """Power, codewords and what became of them on the last hop, over the whole run: equal plans have equal ones."""
    mobile = plan.mobile
    if mobile is None:
        raise ValueError("the plan has no mobile channel")
    return realisation(fading_of(mobile), harq_of(mobile), mobile.snr_db, plan.run.duration_ns, plan.run.seed)


def rows_of(plan: Plan) -> tuple[ChannelRows, Outcomes]:
    """What the last hop does to packets, over the whole run."""
    found = realisation_of(plan)
    return found.rows(), found.outcomes


def from_mobile(plan: Plan, ephemeris: Ephemeris | None = None, routes: Routes | None = None) -> pa.Table:
    """The timeline of a plan's ``[mobile]``; columns as in `timeline.schema`.

    Parameters
    ----------
    plan : Plan
    ephemeris, routes : optional
        Of the same plan, if it has a constellation. Then the delay of the link between gateway and satellite is that of
        the path in force up to its last satellite, at each route update and each L2 instant.

    Metadata: `harq`, what became of all codewords of the run; `warnings`.

    Raises
    ------
    ScenarioError
        If there is no such environment, or its table lacks a length that the plan does not give.
    """
    mobile = plan.mobile
    if mobile is None:
        raise ValueError("the plan has no mobile channel")
    rows, found = rows_of(plan)
    last_hop = replace(LinkKind.shaped(plan, "gsl", mobile, "drain"), in_order=mobile.resequencing)
    events = Events(_NODES)
    for node, kind in enumerate(("router", "router", "router", "host", "host")):
        events.node(node, kind)
    events.link_up(0, _MOBILE, _TERMINAL, LinkKind.ideal(plan, "wire"))
    events.link_up(0, _TERMINAL, _SATELLITE, last_hop)
    events.link_up(0, _SATELLITE, _GATEWAY, LinkKind.ideal(plan, "isl"))
    events.link_up(0, _SERVER, _GATEWAY, LinkKind.ideal(plan, "wire"))
    events.rate(0, _SATELLITE, _TERMINAL, mobile.rate_bps)
    events.rate(0, _TERMINAL, _SATELLITE, mobile.return_rate_bps)
    events.channel(_SATELLITE, _TERMINAL, rows.t_ns, rounded_ns(plan, rows.delay_ns), rows.loss_ratio)
    _delay(plan, events, 0, _TERMINAL, _SATELLITE, mobile.return_delay_ns)
    for there in (_ROW, _ROW[::-1]):
        for node, next_hop in pairwise(there):
            events.route(0, node, there[-1], next_hop, None)
    if ephemeris is None or routes is None:
        for a, b in ((_GATEWAY, _SATELLITE), (_SATELLITE, _GATEWAY)):
            _delay(plan, events, 0, a, b, mobile.forward_delay_ns)
        for there in (_ROW, _ROW[::-1]):
            events.path(0, there[0], there[-1], 0)
    else:
        _follow(plan, events, ephemeris, routes)
    return events.table(TimelineMetadata(warnings=warnings_about(plan, mobile), harq=described(mobile, found)))


def _delay(plan: Plan, events: Events, t_ns: int, a: int, b: int, delay_ns: int) -> None:
    one = np.array([rounded_ns(plan, delay_ns)], dtype=np.int64)
    events.delays(t_ns, np.array([a]), np.array([b]), one, both_ways=False)


def _follow(plan: Plan, events: Events, ephemeris: Ephemeris, routes: Routes) -> None:
    """Paths and delays over the run; without a path the two routers at its ends know no next hop."""
    ends = {name: (_MOBILE, _TERMINAL) if name == "mobile" else (_SERVER, _GATEWAY) for name in ("mobile", "server")}
    delays, ids, clock_ns = PathDelays(plan, ephemeris), PathIds(), l2_instants_ns(plan)
    until_ns = [*routes.t_ns[1:].tolist(), plan.run.duration_ns]
    in_force: dict[tuple[int, int], int | None] = {}
    now_ns = -1
    for t_ns, end_ns, paths in zip(routes.t_ns.tolist(), until_ns, routes.paths, strict=True):
        for pair, path in zip(routes.pairs, paths, strict=True):
            (source, router), (destination, _) = (ends[routes.nodes[node]] for node in pair)
            path_id = None if path is None else ids(path)
            known = pair in in_force
            if not known or in_force[pair] != path_id:
                events.path(t_ns, source, destination, path_id)
            if path is None and (not known or in_force[pair] is not None):
                events.route(t_ns, router, destination, None, None)
            elif path is not None and known and in_force[pair] is None:
                events.route(t_ns, router, destination, _SATELLITE, None)
            in_force[pair] = path_id
        path = paths[0]
        if path is None:
            continue
        at_ns = np.unique(np.append(clock_ns[(clock_ns > t_ns) & (clock_ns < end_ns)], t_ns))
        forward_ns = delays.forward_ns(at_ns, path)
        changes = np.diff(forward_ns, prepend=now_ns) != 0
        for instant_ns, delay_ns in zip(at_ns[changes].tolist(), forward_ns[changes].tolist(), strict=True):
            ways = np.array([_GATEWAY]), np.array([_SATELLITE]), np.array([delay_ns], dtype=np.int64)
            events.delays(instant_ns, *ways)
        now_ns = int(forward_ns[-1])


def described(mobile: Mobile, found: Outcomes) -> CodewordSummary:
    """What became of the codewords, in a few numbers."""
    return CodewordSummary(
        codewords=len(found.lost),
        loss_ratio=found.loss_ratio,
        decoded_shares=found.decoded_shares(mobile.retransmissions),
        first_bits=found.first_bits,
        symbols_ratio=found.symbols_ratio,
    )


def warnings_about(plan: Plan, mobile: Mobile) -> list[str]:
    """What to know before trusting a run over the channel."""
    found = []
    packet_bytes = mobile.data_bits // 8
    if plan.network.mtu_bytes > packet_bytes:
        found.append(
            f"network.mtu = {plan.network.mtu_bytes} B is more than a codeword's {packet_bytes} B of data: a packet "
            "that takes several codewords meets what the one meets in which it begins"
            + (f'; write network.mtu = "{packet_bytes} B"' if packet_bytes >= SMALLEST_MTU_BYTES else "")
        )
    if mobile.fading and mobile.speed_m_per_s == 0:
        found.append("mobile.speed = 0 m/s: the channel is one draw for the whole run; another seed is another place")
    return found
