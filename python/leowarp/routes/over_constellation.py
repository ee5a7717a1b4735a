# SPDX-License-Identifier: Apache-2.0
"""The routes over a constellation. At each route update, rules determine which links exist, and the shortest paths over
these links are computed.

The updates are at 0, ``routing.interval``, 2 ``routing.interval``, ... before the end of the run. A route update uses
the satellites' positions at its own instant, even if no delay update is at that instant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import EcefMetres, Ephemeris
from leowarp.ephemeris.frames import SPEED_OF_LIGHT_M_PER_S
from leowarp.routes.acquisition import Acquired, Acquisition
from leowarp.routes.dishes import Dish
from leowarp.routes.last_hop import TERMINAL, LastHop, LastSatellite
from leowarp.routes.links import INSTANTS_AT_ONCE, IslRule, RangeRule, delays_ns, in_view, isl_rule, lengths_m
from leowarp.routes.observed import PathDelays, leavings, links_of
from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Graph, Path, as_forwarded
from leowarp.routes.sightings import Sightings
from leowarp.routes.table import PathValues, Routes
from leowarp.scenario.schema import Plan


def constellation_routes(
    plan: Plan, ephemeris: Ephemeris, last_hop: LastHop | None = None, dishes: Sequence[Dish] = ()
) -> Routes:
    """Compute the paths of packets at each route update.

    last_hop: The link of the medium that replaces the ground link to station `TERMINAL`.
    dishes: The stations that use one satellite at a time. If a dish is reconfigured between two route updates, only its
        own paths are computed again.
    Returns: The routes with one row for each route update and each ordered pair with flows. `isl` has links only if the
        plan instantiates every link.
    Raises ScenarioError if a station with flows sees no satellite in the whole run, or if two
        stations that communicate never have a path. Raises ScenarioError if the routing has a margin and two pairs
        share a destination (`_check_margin`).
    """
    rule = isl_rule(plan, ephemeris)
    network = _Network(
        plan=plan, ephemeris=ephemeris, rule=rule, forward=_talking(plan), last_hop=last_hop, dishes=dishes
    )
    _check_margin(plan, network)
    # Routes and delays have different update intervals: in the study, routes were updated every 30 s and delays every
    # 15 s.
    t_ns = network.updates_ns()
    pairs = network.ordered_pairs()
    paths: list[list[Path | None]] = []
    isl: list[NDArray[np.intp]] | None = [] if plan.network.instantiate == "all" else None
    watch = Sightings(plan, ephemeris, network.talking_stations(), dishes)
    acquired = Acquired(plan, ephemeris) if plan.isl.longest_acquisition_ns else None
    late: list[Acquisition] = []
    last = None if last_hop is None else LastSatellite(last_hop.rule, ephemeris.stations)
    # Positions are computed in blocks. Paths are computed one update after another, because the tie rule and the last
    # satellite depend on the previous update.
    for begin in range(0, len(t_ns), INSTANTS_AT_ONCE):
        instants = t_ns[begin : begin + INSTANTS_AT_ONCE]
        satellites_m = ephemeris.positions_ecef_m(instants)
        in_sight = watch.views(satellites_m, instants)
        for at, here_m in enumerate(satellites_m):
            links = network.links(EcefMetres(here_m), paths[-1] if paths else None)
            if isl is not None:
                isl.append(links)
            t_now_ns = int(instants[at])
            if acquired is not None:
                ready_ns = acquired.ready_ns(t_now_ns, links)
                if plan.isl.acquiring == "wait":
                    links = links[ready_ns <= t_now_ns]
            seen = {s: views[at] for s, views in in_sight.items()}
            if last is not None:
                seen[TERMINAL] = last.of(seen[TERMINAL], EcefMetres(here_m))
            graph = network.graph(EcefMetres(here_m), links, seen)
            paths.append(network.paths(graph, paths[-1] if paths else None, network.kept(t_now_ns)))
            if acquired is not None and plan.isl.acquiring != "wait":
                late += acquired.late(t_now_ns, links_of(paths[-1]))
    # If a station sees no satellite, its paths are missing. The station is therefore reported before the missing paths.
    watch.raise_if_blind()
    return dataclasses.replace(_described(network, t_ns, pairs, paths, isl, watch), acquisitions=tuple(late))


def _check_margin(plan: Plan, network: _Network) -> None:
    """If routes have a margin, check that nodes can distinguish the packets of any two paths. A node chooses the next
    link of a packet only by the packet's destination. If a path is not the shortest, it can form a loop with another
    path to the same destination.

    Raises ScenarioError if a margin is set and two pairs have the same destination.
    """
    if plan.routing.margin_ratio == 0.0 or plan.routing.in_flight == "source":
        return
    ends = [destination for _, destination in network.ordered_pairs()]
    shared = next((end for end in ends if ends.count(end) > 1), None)
    if shared is not None:
        name = network.ephemeris.stations.names[shared - network.satellites]
        raise ScenarioError(
            f"finding routes with routing.margin: more than one station talks with {name}, and two paths to it of "
            "which one is not the shortest may lead packets in circles",
            'write routing.in_flight = "source", by which packets keep their path, or take routing.margin out',
        )


def _talking(plan: Plan) -> list[tuple[int, int]]:
    """Return the pairs of stations that have flows. Each pair occurs once, in the direction of its first flow. If the
    plan has no flows, return all pairs."""
    index = {station.name: i for i, station in enumerate(plan.stations)}
    if not plan.flows:
        return [(a, b) for a in range(len(index)) for b in range(a + 1, len(index))]
    # A pair with flows in both directions is listed once, because `ordered_pairs` adds the return direction. A dict
    # keeps the order of insertion, and is fast even for thousands of pairs.
    pairs: dict[tuple[int, int], None] = {}
    for flow in plan.flows:
        pair = index[flow.source], index[flow.destination]
        if pair[::-1] not in pairs:
            pairs.setdefault(pair)
    return list(pairs)


@dataclass(frozen=True, kw_only=True)
class _Network:
    """The rules of a plan for links and paths, with the ephemeris.

    forward: The pairs of stations between which there are flows, as pairs of indexes (int, int). Each pair is listed
        once.
    last_hop: The link of the medium that replaces the ground link to station `TERMINAL`.
    """

    plan: Plan
    ephemeris: Ephemeris
    rule: IslRule
    forward: list[tuple[int, int]]
    last_hop: LastHop | None
    dishes: Sequence[Dish]

    def updates_ns(self) -> NDArray[np.int64]:
        """Return the times at which paths are computed. These are the route updates, and the reconfigurations of dishes
        that have flows."""
        run, interval_ns = self.plan.run, self.plan.routing.interval_ns
        t_ns = np.arange(0, run.duration_ns, interval_ns, dtype=np.int64)
        talking = self.talking_stations()
        for dish in self.dishes:
            if dish.station in talking:
                inside = (dish.begin_ns > 0) & (dish.begin_ns < run.duration_ns)
                t_ns = np.union1d(t_ns, dish.begin_ns[inside])
        return t_ns

    def kept(self, t_ns: int) -> frozenset[int]:
        """Some dishes are reconfigured at `t_ns`. Return the indexes of the pairs that use none of these dishes. Their
        paths do not change."""
        if t_ns % self.plan.routing.interval_ns == 0:
            return frozenset()
        moved = {self.satellites + dish.station for dish in self.dishes if t_ns in dish.begin_ns}
        return frozenset(i for i, pair in enumerate(self.ordered_pairs()) if moved.isdisjoint(pair))

    @property
    def satellites(self) -> int:
        """The number of satellites. Nodes with this number or a larger one are stations."""
        return len(self.ephemeris.names)

    def ordered_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of nodes (source, destination). Each pair is followed by the pair of its return
        direction."""
        n = self.satellites
        return [pair for a, b in self.forward for pair in ((n + a, n + b), (n + b, n + a))]

    def talking_stations(self) -> list[int]:
        """Return the indexes of the stations with flows. Visible satellites are computed only for stations with
        flows."""
        return sorted({station for pair in self.forward for station in pair})

    def links(self, satellites_m: EcefMetres, before: list[Path | None] | None) -> NDArray[np.intp]:
        """Return the links between satellites at an instant. The result has all links of the rule, or only the links
        that a shortest path may use.

        For example, for 1584 satellites, the rule `range` gives up to 65,000 links. The shortest path is not longer
        than the current path, if the current path still exists. The shortest path can use only satellites inside an
        ellipsoid around the two stations.

        before: None, or the current paths as a list of (Path or None), two per pair of stations.
        Returns: An int array of shape (m, 2). The rows have the same order as in `IslRule.pairs`.
        """
        plan = self.plan
        # With a rule for the last hop, the current path may end at a satellite that is no longer allowed. The length of
        # a path that is no longer allowed does not limit the search.
        bounded = isinstance(self.rule, RangeRule) and plan.routing.metric == "distance" and self.last_hop is None
        # To find new links (for acquisition or for instantiation), all links are needed.
        if (
            not bounded
            or self.dishes
            or plan.isl.longest_acquisition_ns
            or plan.routing.ground_cost != "slant-range"
            or plan.network.instantiate == "all"
        ):
            return self.rule.pairs(satellites_m)
        inside = np.zeros(self.satellites, dtype=bool)
        for (a, b), path in zip(self.forward, (before or [None] * 2 * len(self.forward))[::2], strict=True):
            # If one pair has no limit on its path's length, all links must be computed, whatever the limits of other
            # pairs.
            if path is None or not self._exists(satellites_m, path):
                return self.rule.pairs(satellites_m)
            to_a_m, to_b_m = (self.ephemeris.stations.slant_ranges_m(s, satellites_m) for s in (a, b))
            length_m = to_a_m[path[1]] + to_b_m[path[-2]] + lengths_m(satellites_m, _isl_of(path)).sum()
            # The factor 1 + 1e-6 and the added 1 m allow for the tie rule and for rounding. Every satellite of a path
            # that is short enough lies inside an ellipsoid whose foci are the two stations: the sum of its distances to
            # them is at most `length_m`.
            inside |= to_a_m + to_b_m <= length_m * (1 + 1e-6) + 1.0
        some = np.flatnonzero(inside)
        return some[self.rule.pairs(EcefMetres(satellites_m[some]))]

    def _exists(self, satellites_m: EcefMetres, path: Path) -> bool:
        """Return whether all links of a path still satisfy their rules."""
        for station, satellite in ((path[0], path[1]), (path[-1], path[-2])):
            here_m = EcefMetres(satellites_m[satellite])
            if not in_view(self.plan.ground, self.ephemeris.stations, station - self.satellites, here_m):
                return False
        return bool(self.rule.holds(satellites_m, _isl_of(path)).all())

    def graph(self, satellites_m: EcefMetres, links: NDArray[np.intp], in_sight: dict[int, NDArray[np.bool_]]) -> Graph:
        """Return the network at an instant: its nodes, its links, and the cost of each link in the metric of the plan.

        in_sight: The mask of the satellites that each station with flows sees, as a dict of int to bool array of shape
            (n,).
        """
        routing, stations = self.plan.routing, self.ephemeris.stations
        ground: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = [
            (np.empty(0, dtype=np.intp), np.empty(0)) for _ in stations.names
        ]
        for station, seen in in_sight.items():
            visible = np.flatnonzero(seen)
            if routing.ground_cost == "ground-distance":
                length_m = stations.ground_distances_m(station, EcefMetres(satellites_m[visible]))
            else:
                length_m = stations.slant_ranges_m(station, EcefMetres(satellites_m[visible]))
            ground[station] = (visible, self._ground_cost(length_m))
        isl_m = lengths_m(satellites_m, links)
        if routing.metric == "hops":
            cost = np.ones(len(isl_m))
        elif routing.metric == "delay":
            cost = delays_ns(self.plan, isl_m, False).astype(np.float64)
        else:
            cost = isl_m
        # Satellites of a polar star meet at the poles. Links of length 0 would allow paths of equal cost to form loops.
        # Such loops have occurred (design/routes-and-timeline.md, "Ties"). Each link therefore has a minimum cost.
        return Graph.of_links(self.satellites, links, np.maximum(cost, 2.0 * _TOLERANCES[routing.metric]), ground)

    def _ground_cost(self, length_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cost of ground links in the plan's metric (m, ns or links). The result has the shape of
        `length_m`."""
        if self.plan.routing.metric == "hops":
            return np.ones(len(length_m))
        if self.plan.routing.metric == "distance":
            return length_m
        # `delays_ns` would return 0 with ground.delay = "zero", but the cost of the link must still be its distance.
        if self.plan.routing.ground_cost == "ground-distance":
            return length_m / SPEED_OF_LIGHT_M_PER_S * 1e9
        return delays_ns(self.plan, length_m, True).astype(np.float64)

    def paths(
        self, graph: Graph, before: list[Path | None] | None, kept: frozenset[int] = frozenset()
    ) -> list[Path | None]:
        """Return the new path of each ordered pair. `before` is the list of the current paths. A pair keeps its current
        path if its index is in `kept`.

        Returns: A list of (Path or None) in the order of `ordered_pairs`. With ``routing.reverse = "mirror"``, each
            return path is the reversed forward path.
        """
        n, mirrored = self.satellites, self.plan.routing.reverse == "mirror"
        pairs = self.ordered_pairs()
        # With "mirror", only forward paths are searched.
        wanted = [i for i in range(len(pairs)) if (not mirrored or i % 2 == 0) and i not in kept]
        current = before if before is not None else [None] * len(pairs)
        tolerance = _TOLERANCES[self.plan.routing.metric]
        # The current path's cost is an upper limit of the minimum cost. The search therefore need not continue beyond
        # this cost.
        limits: dict[int, float] = {}
        for i in wanted:
            path, end = current[i], pairs[i][1] - n
            # If a link of the current path is gone, the cost is inf, and the search is not limited.
            cost = np.inf if path is None else graph.cost_of(path)
            # One search serves all pairs with the same destination, so its limit is the highest cost among these pairs.
            limits[end] = max(limits.get(end, 0.0), cost + tolerance)
        ends = list(limits)
        costs = graph.costs_to(ends, list(limits.values()))
        paths = list(current)
        for i in wanted:
            source, destination = pairs[i][0] - n, pairs[i][1] - n
            to_destination = costs[ends.index(destination)]
            path = graph.shortest(
                source, destination, to_destination, tolerance, current[i], self.plan.routing.margin_ratio
            )
            paths[i] = path
            if mirrored:
                paths[i + 1] = None if path is None else path[::-1]
        # With `routing.in_flight = "source"`, nodes distinguish packets by path, so two paths to a destination may
        # leave a node over different links.
        if self.plan.routing.in_flight == "source" or len(paths) == 2:
            return paths
        # Paths that must not change come before the other paths in `order`. If a path meets an earlier path to the same
        # destination at a node, it follows the earlier path from this node on.
        order = sorted(range(len(paths)), key=lambda i: i not in kept)
        forwarded = dict(zip(order, as_forwarded([paths[i] for i in order]), strict=True))
        return [forwarded[i] for i in range(len(paths))]


def _isl_of(path: Path) -> NDArray[np.intp]:
    """Return the links between satellites on a path, shape (m, 2), in the order of the path."""
    satellites = np.array(path[1:-1], dtype=np.intp)
    return np.column_stack([satellites[:-1], satellites[1:]])


# Light travels 0.2998 m in 1 ns. Paths whose delays are equal in the timeline's whole nanoseconds are treated as
# equally long. Costs in hops are whole numbers. A tolerance of one half of a hop makes floating-point errors harmless.
_TOLERANCES = {"distance": SPEED_OF_LIGHT_M_PER_S * 1e-9, "delay": 1.0, "hops": 0.5}
"""The largest difference between costs that the tie rule treats as equal, in the unit of the metric (m, ns, links)."""


def _described(
    network: _Network,
    t_ns: NDArray[np.int64],
    pairs: list[tuple[int, int]],
    paths: list[list[Path | None]],
    isl: list[NDArray[np.intp]] | None,
    watch: Sightings,
) -> Routes:
    """Return the `Routes` for paths that were already computed, with their delays, path numbers, summary and warnings.

    Raises ScenarioError if two stations that communicate never have a path.
    """
    plan, ephemeris = network.plan, network.ephemeris
    nodes = [*ephemeris.names, *ephemeris.stations.names]
    left = leavings(plan, ephemeris, network.rule, t_ns, paths, network.dishes)
    delays = PathDelays(plan, ephemeris, network.last_hop, network.dishes)
    numbers = PathNumbers.of_paths(paths)
    values: list[list[PathValues]] = []
    changes, shorter = 0, 0
    for k, (at_ns, now) in enumerate(zip(t_ns.tolist(), paths, strict=True)):
        row = []
        replaced = [paths[k - 1][i] if number is not None else None for i, number in enumerate(numbers.change_ids[k])]
        found = delays.at(at_ns, [*now, *replaced])
        values_of_both = zip(found[: len(now)], found[len(now) :], strict=True)
        for i, ((length_m, delay_ns), (_, old_delay_ns)) in enumerate(values_of_both):
            row.append(PathValues(delay_ns=delay_ns, length_m=length_m, old_delay_ns=old_delay_ns))
            # Only the forward direction of each pair is counted as a change. If a pair loses its path, or gets a path
            # again, the row has `is_change`. Such a change is not counted here, because it has only one delay.
            if i % 2 == 0 and delay_ns is not None and old_delay_ns is not None:
                changes += 1
                shorter += delay_ns < old_delay_ns
        values.append(row)
    warnings = list(ephemeris.warnings) + list(_outages(network, watch, t_ns, pairs, paths))
    summary: dict[str, int | float] = {
        "route_updates": len(t_ns),
        "route_changes": changes,
        "route_changes_shorter": shorter,
        "no_path_s": _without_path_ns(plan, t_ns, paths) / 1e9,
        "leaving_links": len(left),
        **delays.over_run(t_ns, paths),
    }
    summary |= _forward(network, paths, summary)
    return Routes.of(
        ends=[(nodes[source], nodes[destination]) for source, destination in pairs],
        values=values,
        nodes=nodes,
        t_ns=t_ns,
        pairs=pairs,
        paths=paths,
        numbers=numbers,
        isl=isl,
        leavings=tuple(left),
        summary=summary,
        warnings=warnings,
    )


def _forward(
    network: _Network, paths: Sequence[Sequence[Path | None]], summary: dict[str, int | float]
) -> dict[str, int | float]:
    """Return the minimum, maximum and mean delay between the gateway and the last satellite. If the medium has no last
    hop, the dict is empty."""
    path = next((now[0] for now in paths if now[0] is not None), None)
    if path is None or network.last_hop is None:
        return {}
    _, last_hop_ns = network.last_hop.link_of(network.satellites, path)
    # The last hop has the same delay for every last satellite. This delay is therefore subtracted from the three values
    # of the path.
    names = ("min_ns", "mean_ns", "max_ns")
    return {f"forward_delay_{name}": summary[f"path_delay_{name}"] - last_hop_ns for name in names}


def _without_path_ns(plan: Plan, t_ns: NDArray[np.int64], paths: Sequence[Sequence[Path | None]]) -> int:
    """Return the time during which at least one pair has no path, ns.

    If several pairs have no path at the same time, this time counts once.
    """
    until = np.append(t_ns[1:], plan.run.duration_ns)
    return int(sum(end - t for t, end, now in zip(t_ns, until, paths, strict=True) if None in now))


def _outages(
    network: _Network,
    watch: Sightings,
    t_ns: NDArray[np.int64],
    pairs: list[tuple[int, int]],
    paths: Sequence[Sequence[Path | None]],
) -> Iterator[str]:
    """Yield warnings about pairs that have no path after some of the updates.

    Raises ScenarioError if a pair never has a path.
    """
    plan, satellites = network.plan, network.satellites
    nodes = [*network.ephemeris.names, *network.ephemeris.stations.names]
    for i, (source, destination) in enumerate(pairs):
        # Links work in both directions. If the forward direction has a path, the return direction has one, too, so one
        # warning is enough.
        if i % 2:
            continue
        without = [k for k, now in enumerate(paths) if now[i] is None]
        if len(without) == len(paths):
            attempted = (
                f"there is no path from {nodes[source]} to {nodes[destination]} at any of {len(paths)} route updates"
            )
            if not watch.together(source - satellites, destination - satellites):
                raise ScenarioError(
                    f"{attempted}: each sees satellites, but never both at the same update",
                    "take more satellites, or let ground.rule reach further",
                )
            raise ScenarioError(
                f'{attempted}: both see satellites, but the links of isl.rule = "{plan.isl.rule}" join none of them',
                _no_path_hint(plan),
            )
        if without:
            first_s = int(t_ns[without[0]]) / 1e9
            yield (
                f"no path from {nodes[source]} to {nodes[destination]} after {len(without)} of {len(paths)} route "
                f"updates (one every {plan.routing.interval_ns / 1e9:g} s), the first at {first_s:g} s"
            )


def _no_path_hint(plan: Plan) -> str:
    if plan.isl.longest_acquisition_ns and plan.isl.acquiring == "wait":
        return "set isl.acquisition to less than a link lives: routes wait for each, and those of the start are gone"
    if plan.isl.rule == "range":
        range_km = plan.isl.max_range_m / 1e3
        return f"set isl.max_range above {range_km:g} km, or relax isl.grazing_height and isl.terminals"
    if plan.isl.rule == "none":
        return 'set isl.rule = "range" or "plus-grid": without links between satellites one must see both stations'
    return "set isl.seam = true, or relax isl.polar_cutoff and isl.grazing_height"
