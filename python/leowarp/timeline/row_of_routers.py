# SPDX-License-Identifier: Apache-2.0
"""The routers in a row between hosts A and B, for chains and measured paths."""

from __future__ import annotations

from leowarp.base.nodes import host_node
from leowarp.routes import Routes, fixed_routes
from leowarp.scenario.schema import Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.forwarding import Forwarding

ENDS = ("A", "B")
"""The stations at the ends of the row: A at the first router, B at the last one."""


def routers(hops: int) -> list[str]:
    """Return the names of the routers, one more than the number of links."""
    return [f"r{i}" for i in range(hops + 1)]


def row_routes(hops: int, delay_ns: int | None) -> Routes:
    """Return the path from the first router to the last one, and the path back. `delay_ns` is the sum of the delays of
    all links. None means that the sum is unknown."""
    there = tuple(range(hops + 1))
    return fixed_routes(routers(hops), ENDS, (there, there[::-1]), (delay_ns, delay_ns))


def row_events(plan: Plan, routes: Routes, link: LinkKind) -> Events:
    """Return the events of the row at time 0, except for the delays of its links. `routes` is the result of
    `row_routes`.

    The nodes are the routers, followed by the hosts of A and B. Wires connect the hosts to the first and the last
    router.
    """
    events = Events([*routes.nodes, *(host_node(station) for station in ENDS)])
    hops = len(routes.nodes) - 1
    host_of = {0: hops + 1, hops: hops + 2}
    for router in range(hops + 1):
        events.node(router, "router")
    for router, host in host_of.items():
        events.node(host, "host")
        # The wire has no rate limit, so that no queue forms at a host's own interface, where TCP would delay packets
        # (docs/concepts/links.md).
        events.link_up(0, host, router, LinkKind.ideal(plan, "wire"))
    for router in range(hops):
        events.link_up(0, router, router + 1, link)
    forwarding = Forwarding(events, host_of, by_path=plan.routing.in_flight == "source")
    forwarding.attach_hosts(routes.pairs)
    for i, pair in enumerate(routes.pairs):
        forwarding.follow(0, pair, routes.paths[0][i], routes.numbers.path_ids[0][i])
        events.paths(routes, i, *(host_of[router] for router in pair))
    return events
