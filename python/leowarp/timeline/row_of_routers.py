# SPDX-License-Identifier: Apache-2.0
"""Routers in a row between hosts A and B: what a chain and a measured path have in common."""

from __future__ import annotations

from leowarp.nodes import host_node
from leowarp.scenario.schema import Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.forwarding import Forwarding


def row_of_routers(plan: Plan, hops: int, link: LinkKind) -> tuple[Events, dict[str, int]]:
    """Events of the row at 0, links without delay so far; and the number of each node.

    Routers ``r0`` to ``r<hops>``; the hosts of A and B hang on the first and the last by wires.
    """
    hosts = (host_node("A"), host_node("B"))
    names = [*(f"r{i}" for i in range(hops + 1)), *hosts]
    number = {name: i for i, name in enumerate(names)}
    events = Events(names)
    host_of = dict(zip((0, hops), (number[host] for host in hosts), strict=True))
    for router in range(hops + 1):
        events.node(router, "router")
    for router, host in host_of.items():
        events.node(host, "host")
        events.link_up(0, host, router, LinkKind.ideal(plan, "wire"))
    for router in range(hops):
        events.link_up(0, router, router + 1, link)
    forwarding = Forwarding(events, host_of, by_path=plan.routing.in_flight == "source")
    there = tuple(range(hops + 1))
    pairs = [(0, hops), (hops, 0)]
    forwarding.attach_hosts(pairs)
    for pair, path in zip(pairs, (there, there[::-1]), strict=True):
        forwarding.follow(0, pair, path, 0)
    return events, number
