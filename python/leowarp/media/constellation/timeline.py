# SPDX-License-Identifier: Apache-2.0
"""The timeline of a constellation: changing links and routes.

These rules say when a link exists. A link is created when a path first uses it. With ``instantiate = "all"``, a link is
created when the key `rule` first includes it at a route update. Other keys say when a link ends:

- ``drain``, ``source``: the link stays up until the end of the run, so that packets on the old path still arrive. Nodes
  that are not on the new path keep their entries for the old path. The link's delay follows the satellites while a path
  uses the link, and for one route interval after that. After this route interval, the link contains no packets. Its
  delay is constant until a path uses it again.
- ``drop``: the link goes down at the first route update after which no path uses it. Packets on the link are lost.
- ``neighbours = "arp"``: a link goes down 5 s after a path last used it. If a path uses the link later, the link counts
  as new, and its neighbours must be resolved. The emulator of Frederiksen et al. (2024) also waits 5 s before it
  removes a link.
- ``leaving_links = "strict"``: a link goes down at the first delay update that finds it out of range.
- ``routing.update = "staggered"``: nodes get their entries one after another (`switching`). Before the first node
  switches, every link is up and its delay is set. Until the last node has switched, packets may reach a node without an
  entry, or may loop.
- ``instantiate = "all"``: all links that the rule includes are up, whether or not a path uses them. With drop, an
  unused link goes down at the first route update at which it is out of range. With drain and source, the link goes down
  at the second such update.

The delay of a link is set when a path begins to use the link, and at each delay update: at 0,
``routing.link_interval``, and so on. A link whose delay has not changed gets no event. The rule `range` with
``instantiate = "all"`` is costly. For example, 648 satellites with a range of 3000 km have some 6,000 links at a time.
Each link is a pair of network interfaces in the guest.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.base.nodes import dish_node, host_node
from leowarp.ephemeris import Ephemeris
from leowarp.media.constellation.dishes import dishes_of, link_dish
from leowarp.media.constellation.interruptions import Interruptions
from leowarp.media.constellation.switching import Switching
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Leaving, Routes, constellation_routes
from leowarp.routes.links import delays_ns, lengths_m
from leowarp.routes.observed import l2_instants_ns, links_of, node_positions_m
from leowarp.scenario.schema import Constellation, Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.forwarding import Forwarding
from leowarp.timeline.metadata import TimelineMetadata

TEARDOWN_AFTER_NS = 5_000_000_000
"""The study's emulator removes a link if no path has used it for this time (satellite_tcp_emulator, main.go:
``time.Sleep(5 * time.Second)``)."""

Codes = NDArray[np.int64]
"""The links, each encoded as one number ``a * nodes + b`` with a < b, in ascending order."""


class PlannedConstellation(PlannedMedium[Constellation]):
    """A constellation. The stations communicate over its satellites."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Return the shortest paths at each route update."""
        assert ephemeris is not None
        return constellation_routes(self.plan, ephemeris, dishes=dishes_of(self.plan, ephemeris))

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        assert ephemeris is not None
        return _Builder(self.plan, ephemeris, routes).build()

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        return self.plan.isl, self.plan.ground

    def likely_rate_bps(self) -> float | None:
        """Return the lowest of two kinds of rates: the links' rates, and the dishes' downlink capacities."""
        dishes_bps = [dish.capacity_bps or dish.schedule_median_bps for dish in self.plan.dishes.values()]
        return min(filter(None, [*dishes_bps, super().likely_rate_bps()]), default=None)

    def likely_hops(self) -> int:
        # The paths of examples/madrid-tokyo.toml have 6 or 7 links; the estimate is higher, because underestimating the
        # cost is worse.
        return 8


class _Builder:
    """The timeline under construction, to which route updates are added one after another.

    Links are sorted codes (`Codes`), so that numpy can compare sets of links. With ``instantiate = "all"``, thousands
    of links are up at a time.
    """

    def __init__(self, plan: Plan, ephemeris: Ephemeris, routes: Routes) -> None:
        self._plan, self._ephemeris, self._routes = plan, ephemeris, routes
        self._satellites, self._nodes = len(ephemeris.names), len(routes.nodes)
        hosts = [host_node(name) for name in ephemeris.stations.names]
        self._dishes = {self._satellites + dish.station: dish for dish in dishes_of(plan, ephemeris)}
        self._fixed_ns = np.zeros(self._nodes, dtype=np.int64)
        for station, dish in self._dishes.items():
            self._fixed_ns[station] = dish.fixed_ns
        routers = [dish_node(routes.nodes[station]) for station in self._dishes]
        self._events = Events([*routes.nodes, *hosts, *routers])
        first = self._nodes + len(hosts)
        self._router_of = {station: first + i for i, station in enumerate(self._dishes)}
        stations = range(self._satellites, self._nodes)
        self._host_of = {station: self._nodes + i for i, station in enumerate(stations)}
        self._switching = Switching(plan)
        self._interruptions = Interruptions(plan, routes, self._satellites, list(self._dishes))
        self._forwarding = Forwarding(self._events, self._host_of, by_path=plan.routing.in_flight == "source")
        # With `drop`, a link already goes down at the route update itself, so it need not be removed 5 s later.
        self._torn_down_later = plan.network.neighbours == "arp" and plan.routing.in_flight != "drop"
        # The study's emulator removes the interfaces of a link that is no longer used, and the packets on it are lost.
        on_down = "drop" if plan.routing.in_flight == "drop" or plan.network.neighbours == "arp" else "drain"
        self._isl = LinkKind.shaped(plan, "isl", plan.isl, on_down)
        ideal = LinkKind.ideal(plan, "gsl", on_down, plan.ground.overhead_bytes)
        shaped = LinkKind.shaped(plan, "gsl", plan.ground, on_down)
        between_satellites = plan.network.endpoints == "satellites"
        # A dish has its capacity in the tables of its access link, so its ground links have no rate.
        self._gsl = [
            ideal if between_satellites or not station.shaped or station.name in plan.dishes else shaped
            for station in plan.stations
        ]
        self._up: set[int] = set()
        self._teardown_ns: dict[int, int] = {}
        self._delays = _Delays()

    def build(self) -> pa.Table:
        """Return the timeline with all events.

        Each route update is processed in this order: remove links that are due, create new links, set delays, set
        routes, take links down. Each step needs the link states and delays that result from the earlier steps. `Events`
        later sorts events of the same instant.
        """
        routes, plan = self._routes, self._plan
        self._build_nodes()
        needed = live = np.empty(0, dtype=np.int64)
        clock_ns = l2_instants_ns(plan)
        until_ns = np.append(routes.t_ns[1:], plan.run.duration_ns)
        for k, (t_ns, end_ns) in enumerate(zip(routes.t_ns.tolist(), until_ns.tolist(), strict=True)):
            before, needed = needed, self._needed(k)
            fresh, live = live, np.union1d(before, needed)
            # Old links are removed before new links come up. A link whose removal is due (after 5 s) is removed. If
            # this update uses the link again, it becomes a new link.
            self._tear_down(t_ns, needed)
            for code in needed.tolist():
                if code not in self._up:
                    self._take_up(t_ns, code)
            # Delays change only at delay updates. At any other route update, only links that come into use need a
            # delay.
            refreshed = live if t_ns % plan.routing.link_interval_ns == 0 else np.setdiff1d(live, fresh)
            self._set_delays(t_ns, refreshed)
            self._follow(k, t_ns, end_ns)
            # Links go down after the routes have changed, when no entry uses them any more.
            self._abandon(t_ns, needed, before)
            self._between_updates(clock_ns[(clock_ns > t_ns) & (clock_ns < end_ns)], t_ns, end_ns, live)
        # Links whose removal is due before the end of the run are removed; later removals are omitted.
        self._tear_down(plan.run.duration_ns, np.empty(0, dtype=np.int64))
        self._interruptions.tell(self._events, self._kind)
        self._make_room_for_flying()
        return self._events.table(TimelineMetadata(warnings=[]))

    def _build_nodes(self) -> None:
        """Add the nodes at time 0, the hosts' wires, and the entries that never change. Also add the `path` events.

        Each node is a network namespace in the guest. Without ``instantiate = "all"``, only satellites that are on a
        path are therefore added.
        """
        plan, routes = self._plan, self._routes
        if plan.network.instantiate == "all":
            # All nodes exist from time 0, because a link that comes up later may lead to any satellite.
            satellites = list(range(self._satellites))
        else:
            used = {node for now in routes.paths for path in now if path is not None for node in path[1:-1]}
            satellites = sorted(used)
        for node in satellites:
            self._events.node(node, "satellite")
        for station, host in self._host_of.items():
            self._events.node(station, "ground")
            self._events.node(host, "host")
            if station in self._dishes:
                router = self._router_of[station]
                self._events.node(router, "router")
                self._events.link_up(0, host, router, LinkKind.ideal(plan, "wire"))
                link_dish(plan, self._events, self._dishes[station], (router, station))
            else:
                self._events.link_up(0, host, station, LinkKind.ideal(plan, "wire"))
        self._forwarding.attach_hosts(routes.pairs, self._router_of)
        for i, (source, destination) in enumerate(routes.pairs):
            self._events.paths(routes, i, self._host_of[source], self._host_of[destination])

    def _follow(self, k: int, t_ns: int, end_ns: int) -> None:
        routes = self._routes
        # A switch that belongs to the last update may come after the end of the run.
        until_ns = end_ns if k + 1 < len(routes.t_ns) else sys.maxsize
        if self._torn_down_later:
            # If an update no longer uses a link, the link may be removed before the next update.
            until_ns = min(until_ns, t_ns + TEARDOWN_AFTER_NS)
        for i, (pair, path) in enumerate(zip(routes.pairs, routes.paths[k], strict=True)):
            after_ns = None
            if path is not None and routes.numbers.change_ids[k][i] is not None:
                after_ns = self._switching.after_ns(k, i, path, is_way_back=i % 2 == 1)
                self._switching.check(t_ns, after_ns, until_ns)
                delayed_ns = self._interruptions.delayed_ns(t_ns, path, until_ns)
                after_ns = [at_ns + delayed_ns for at_ns in after_ns]
            self._forwarding.follow(t_ns, pair, path, routes.numbers.path_ids[k][i], after_ns)

    def _needed(self, k: int) -> Codes:
        """Return the links that must be up from route update k on. With ``instantiate = "all"``, they are the links on
        paths and all links of the rule. Otherwise, they are the links on paths."""
        links = links_of(self._routes.paths[k])
        if self._routes.isl is not None:
            links = np.concatenate([links, self._routes.isl[k]])
        return np.unique(links[:, 0] * self._nodes + links[:, 1])

    def _between_updates(self, clock_ns: NDArray[np.int64], t_ns: int, end_ns: int, live: Codes) -> None:
        """Add the delays of all delay updates before the next route update. Take down links that leave their range."""
        leaving: dict[int, list[Leaving]] = {}
        if self._plan.routing.leaving_links == "strict":
            for left in self._routes.leavings:
                if t_ns < left.t_ns < end_ns:
                    leaving.setdefault(left.t_ns, []).append(left)
        for at_ns in clock_ns.tolist():
            for left in leaving.get(at_ns, ()):
                code = left.a * self._nodes + left.b
                self._forwarding.link_went_down(at_ns, left.a, left.b)
                self._take_down(at_ns, code)
                live = live[live != code]
            self._set_delays(at_ns, live)

    def _abandon(self, t_ns: int, needed: Codes, before: Codes) -> None:
        """Take down, or mark for removal, the links that no path uses after a route update."""
        if self._plan.routing.in_flight == "drop":
            kept = needed
        elif self._torn_down_later:
            for code in sorted(self._up.difference(needed.tolist())):
                # The 5 s before a link's removal begin at the first update without a path over this link.
                self._teardown_ns.setdefault(code, t_ns + TEARDOWN_AFTER_NS)
            return
        elif self._routes.isl is not None:
            # A link stays up for one more update after it leaves the rule's range, for packets in flight.
            kept = np.union1d(needed, before)
        else:
            return
        for code in sorted(self._up.difference(kept.tolist())):
            self._forwarding.link_went_down(t_ns, *divmod(code, self._nodes))
            self._take_down(t_ns, code)

    def _tear_down(self, until_ns: int, needed: Codes) -> None:
        """Take down links that are due for removal before `until_ns`. If a link in `needed` is not due yet, its removal
        is cancelled."""
        for code in [code for code, at_ns in self._teardown_ns.items() if at_ns < until_ns]:
            at_ns = self._teardown_ns.pop(code)
            if code in self._up:
                self._forwarding.link_went_down(at_ns, *divmod(code, self._nodes))
                self._take_down(at_ns, code)
        for code in needed.tolist():
            self._teardown_ns.pop(code, None)

    def _take_up(self, t_ns: int, code: int) -> None:
        a, b = divmod(code, self._nodes)
        self._up.add(code)
        # In the guest a new link has no delay, so its delay must be set even if it is the same as before.
        self._delays.forget(code)
        link = self._kind(b)
        if self._interruptions.is_buffered(a, b):
            self._events.link_up(t_ns, a, b, dataclasses.replace(link, has_own_rate=False))
            self._interruptions.tables(self._events, a, b, link)
        else:
            self._events.link_up(t_ns, a, b, link)

    def _take_down(self, t_ns: int, code: int) -> None:
        a, b = divmod(code, self._nodes)
        self._up.discard(code)
        self._events.link_down(t_ns, a, b, self._kind(b))

    def _kind(self, b: int) -> LinkKind:
        """Return the kind of a link whose larger node number is `b`. In a ground link, the station has the larger node
        number."""
        return self._gsl[b - self._satellites] if b >= self._satellites else self._isl

    def _set_delays(self, t_ns: int, links: Codes) -> None:
        """Compute the delays of `links` at `t_ns`. Add an event for each link whose delay has changed."""
        if not len(links):
            return
        a, b = np.divmod(links, self._nodes)
        length_m = lengths_m(node_positions_m(self._ephemeris, t_ns), np.column_stack([a, b]))
        delay_ns = delays_ns(self._plan, length_m, b >= self._satellites) + self._fixed_ns[b]
        changed = self._delays.changed(links, delay_ns)
        # With `drop`, `live` may contain links that have just gone down. The delays of such links are not set now, but
        # when the links come up again.
        if len(self._up) < len(links) or not self._up.issuperset(links.tolist()):
            changed &= np.array([code in self._up for code in links.tolist()])
        self._delays.set(links[changed], delay_ns[changed])
        self._events.delays(t_ns, a[changed], b[changed], delay_ns[changed])

    def _make_room_for_flying(self) -> None:
        """Raise netem's limit on each link by the number of packets that are in flight at the link's longest delay."""
        if self._isl.limit_counts_flying:
            longest = self._delays.longest_ns()
            self._events.make_room_for_flying({divmod(code, self._nodes): ns for code, ns in longest.items()})


class _Delays:
    """The current delay and the longest delay of each link."""

    def __init__(self) -> None:
        self._codes = np.empty(0, dtype=np.int64)
        self._now_ns = np.empty(0, dtype=np.int64)
        self._longest_ns = np.empty(0, dtype=np.int64)

    def changed(self, codes: Codes, delay_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each link whether its delay differs from `delay_ns`, or was never set. The shape is (m,)."""
        self._make_known(codes)
        return self._now_ns[np.searchsorted(self._codes, codes)] != delay_ns

    def set(self, codes: Codes, delay_ns: NDArray[np.int64]) -> None:
        """Store the links' present delays. The caller must have passed each of these links to `changed` before."""
        at = np.searchsorted(self._codes, codes)
        self._now_ns[at] = delay_ns
        self._longest_ns[at] = np.maximum(self._longest_ns[at], delay_ns)

    def forget(self, code: int) -> None:
        """Forget the delay of a link that comes up. In the guest, the new link has no delay yet."""
        at = np.searchsorted(self._codes, code)
        if at < len(self._codes) and self._codes[at] == code:
            self._now_ns[at] = _UNSET

    def longest_ns(self) -> dict[int, int]:
        """Return the longest delay of each link that ever had a delay, by code."""
        return dict(zip(self._codes.tolist(), self._longest_ns.tolist(), strict=True))

    def _make_known(self, codes: Codes) -> None:
        """Add new links to the list. Their delays are not set yet. The codes stay sorted for `searchsorted`."""
        new = np.setdiff1d(codes, self._codes)
        if len(new):
            at = np.searchsorted(self._codes, new)
            self._codes = np.insert(self._codes, at, new)
            self._now_ns = np.insert(self._now_ns, at, _UNSET)
            self._longest_ns = np.insert(self._longest_ns, at, 0)


_UNSET = -1
