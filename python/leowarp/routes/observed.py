# SPDX-License-Identifier: Apache-2.0
"""Computes how paths change between two route updates. The delays change at each delay update, and links can leave
their range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leowarp.ephemeris import EcefMetres, Ephemeris
from leowarp.routes.dishes import Dish
from leowarp.routes.last_hop import LastHop
from leowarp.routes.links import INSTANTS_AT_ONCE, IslRule, Pairs, delays_ns, in_view, lengths_m
from leowarp.routes.paths import Path
from leowarp.routes.table import Leaving
from leowarp.scenario.schema import Plan


class PathDelays:
    """Computes the lengths and delays of paths at any instant, and their extremes over a run.

    last_hop: The last hop of the medium. The delay of this last hop replaces the delay of the ground link.
    dishes: The dishes. Their ground links have a fixed delay in addition to propagation.
    """

    def __init__(
        self, plan: Plan, ephemeris: Ephemeris, last_hop: LastHop | None = None, dishes: Sequence[Dish] = ()
    ) -> None:
        self._plan, self._ephemeris, self._last_hop = plan, ephemeris, last_hop
        self._satellites = len(ephemeris.names)
        self._fixed_ns = {self._satellites + dish.station: dish.fixed_ns for dish in dishes}

    def at(self, t_ns: int, paths: Sequence[Path | None]) -> list[tuple[float, int] | tuple[None, None]]:
        """Return the length (m) and one-way delay (ns) of each path at an instant. A pair without a path has (None,
        None)."""
        found: list[tuple[float, int] | tuple[None, None]] = [(None, None)] * len(paths)
        for places, length_m, delay_ns in self._by_length(node_positions_m(self._ephemeris, t_ns), paths):
            for place, *values in zip(places, length_m.tolist(), delay_ns.tolist(), strict=True):
                found[place] = values[0], values[1]
        return found

    def forward_ns(self, t_ns: NDArray[np.int64], path: Path) -> NDArray[np.int64]:
        """Return the one-way delay between gateway and last satellite at each instant, (k,). The result is the path's
        delay minus the delay of the medium's last hop. The routes must have such a hop."""
        assert self._last_hop is not None
        _, last_hop_ns = self._last_hop.link_of(self._satellites, path)
        parts = []
        for begin in range(0, len(t_ns), INSTANTS_AT_ONCE):
            nodes_m = node_positions_m(self._ephemeris, t_ns[begin : begin + INSTANTS_AT_ONCE])
            parts += [delay_ns[:, 0] for _, _, delay_ns in self._by_length(nodes_m, [path])]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts]) - last_hop_ns

    def over_run(self, t_ns: NDArray[np.int64], paths: Sequence[Sequence[Path | None]]) -> dict[str, int | float]:
        """Return the extremes and the mean of the forward paths' delays. Also return the extremes of the number of ISL
        hops. The delays are computed at each delay update.

        t_ns: The times of the route updates, int64 array of shape (k,).
        paths: The paths of each update.
        Returns: `path_delay_min_ns`, `path_delay_mean_ns`, `path_delay_max_ns`, `isl_hops_min`, `isl_hops_max`. The
            dict is empty if there never is a path.
        """
        samples: list[NDArray[np.int64]] = []
        isl_hops: list[int] = []
        clock_ns = l2_instants_ns(self._plan)
        # The paths of a route update are valid from the instant of the update on.
        in_force = np.searchsorted(t_ns, clock_ns, side="right") - 1
        for begin in range(0, len(clock_ns), INSTANTS_AT_ONCE):
            nodes_m = node_positions_m(self._ephemeris, clock_ns[begin : begin + INSTANTS_AT_ONCE])
            updates = in_force[begin : begin + INSTANTS_AT_ONCE]
            for update in np.unique(updates).tolist():
                here_m = EcefMetres(nodes_m[updates == update])
                samples += [delay_ns.ravel() for _, _, delay_ns in self._by_length(here_m, paths[update][::2])]
        # A path consists of two stations and its satellites; the number of links between satellites is the number of
        # nodes minus 3.
        isl_hops = [len(path) - 3 for now in paths for path in now[::2] if path is not None]
        if not samples:
            return {}
        delay_ns = np.concatenate(samples)
        return {
            "path_delay_min_ns": int(delay_ns.min()),
            "path_delay_mean_ns": float(delay_ns.mean()),
            "path_delay_max_ns": int(delay_ns.max()),
            "isl_hops_min": min(isl_hops),
            "isl_hops_max": max(isl_hops),
        }

    def _by_length(
        self, nodes_m: EcefMetres, paths: Sequence[Path | None]
    ) -> Iterator[tuple[list[int], NDArray[np.float64], NDArray[np.int64]]]:
        """Yield the lengths (m) and delays (ns) of paths. To save time, paths with the same number of links are
        computed together. For example, a hundred stations have thousands of paths.

        The delay of a path is the sum of the delays of its links. Each link's delay is rounded as in the guest.

        nodes_m: A float64 array of shape (n, 3) or (k, n, 3), m
        Yields: One item for each number of links. It has the indexes in `paths` of the paths with this number, and
            these paths' lengths and delays. Lengths and delays are arrays of shape (places,) or (k, places). Entries of
            `paths` that are None are left out.
        """
        alike: dict[int, dict[int, Path]] = {}
        for place, path in enumerate(paths):
            if path is not None:
                alike.setdefault(len(path), {})[place] = path
        for nodes, mine in alike.items():
            ids = np.array(list(mine.values()), dtype=np.intp)
            links = np.stack([ids[:, :-1], ids[:, 1:]], axis=-1).reshape(-1, 2)
            length_m = lengths_m(nodes_m, links)
            delay_ns = delays_ns(self._plan, length_m, links.max(axis=1) >= self._satellites)
            shape = (*length_m.shape[:-1], len(mine), nodes - 1)
            length_m, delay_ns = length_m.reshape(shape), delay_ns.reshape(shape)
            if self._last_hop is not None:
                for row, path in enumerate(mine.values()):
                    # Only the delay of the last hop is replaced; the sum of lengths still includes the length of the
                    # link.
                    link, delay_ns[..., row, link] = self._last_hop.link_of(self._satellites, path)
            if self._fixed_ns:
                for row, path in enumerate(mine.values()):
                    delay_ns[..., row, 0] += self._fixed_ns.get(path[0], 0)
                    delay_ns[..., row, -1] += self._fixed_ns.get(path[-1], 0)
            yield list(mine), length_m.sum(axis=-1), delay_ns.sum(axis=-1)


def leavings(
    plan: Plan, ephemeris: Ephemeris, rule: IslRule, t_ns: NDArray[np.int64], paths: Sequence[Sequence[Path | None]],
    dishes: Sequence[Dish] = (),
) -> list[Leaving]:  # fmt: skip
    """Return the links that are in use but leave the range of their rule before the next route update. A link's range
    is checked at the delay updates.

    If a link leaves its range in several route intervals, the list contains it once for each interval.

    rule: The plan's rule for links between satellites.
    t_ns: The times of the route updates, int64 array of shape (k,).
    dishes: The dishes. A dish uses its ground link until the end of the slot, even if the link is out of range.
    Returns: The links in order of time. If `routing.leaving_links` is "keep", a link that leaves its range stays up and
        is only counted.
    """
    satellites = len(ephemeris.names)
    scheduled = [satellites + dish.station for dish in dishes]
    clock_ns = l2_instants_ns(plan)
    # At the instant of a route update, every link is in range. The paths have just been chosen from links that the
    # rules include.
    clock_ns = clock_ns[~np.isin(clock_ns, t_ns)]
    in_force = np.searchsorted(t_ns, clock_ns, side="right") - 1
    leaving: list[Leaving] = []
    left: set[tuple[int, int]] = set()
    update = -1
    for begin in range(0, len(clock_ns), INSTANTS_AT_ONCE):
        instants = clock_ns[begin : begin + INSTANTS_AT_ONCE]
        for here_m, at_ns, now in zip(
            ephemeris.positions_ecef_m(instants), instants.tolist(), in_force[begin:].tolist(), strict=False
        ):
            if now != update:
                update, left = now, set()
                links = links_of(paths[now])
                between = links[links[:, 1] < satellites]
                ground = links[(links[:, 1] >= satellites) & ~np.isin(links[:, 1], scheduled)]
            gone = between[~rule.holds(EcefMetres(here_m), between)].tolist() if len(between) else []
            for satellite, station in ground.tolist():
                seen = in_view(plan.ground, ephemeris.stations, station - satellites, EcefMetres(here_m[satellite]))
                if not seen:
                    gone.append([satellite, station])
            for a, b in gone:
                # A link is listed once per route interval. A link that comes back into range and leaves it again before
                # the next update is not listed a second time.
                if (a, b) not in left:
                    left.add((a, b))
                    leaving.append(Leaving(at_ns, a, b))
    return leaving


def links_of(paths: Sequence[Path | None]) -> Pairs:
    """Return the links that are on any of the paths. Each link is listed once, and its node with the smaller number
    comes first. The links are sorted, and the shape is (m, 2).

    >>> links_of([(5, 0, 1, 6), None]).tolist()
    [[0, 1], [0, 5], [1, 6]]
    """
    links = {(min(link), max(link)) for path in paths if path is not None for link in pairwise(path)}
    return np.array(sorted(links), dtype=np.intp).reshape(-1, 2)


def l2_instants_ns(plan: Plan) -> NDArray[np.int64]:
    """Return the times of the delay updates, ns: 0, ``routing.link_interval``, ... before the end of the run."""
    return np.arange(0, plan.run.duration_ns, plan.routing.link_interval_ns, dtype=np.int64)


def node_positions_m(ephemeris: Ephemeris, t_ns: int | NDArray[np.int64]) -> EcefMetres:
    """Return the positions in ECEF in m, first of the satellites and then of the stations. The shape is (n + m, 3), or
    (k, n + m, 3) for k instants."""
    satellites_m = ephemeris.positions_ecef_m(t_ns)
    stations_m = np.broadcast_to(
        ephemeris.stations.positions_ecef_m,
        (*satellites_m.shape[:-2], *ephemeris.stations.positions_ecef_m.shape),
    )
    return EcefMetres(np.concatenate([satellites_m, stations_m], axis=-2))
