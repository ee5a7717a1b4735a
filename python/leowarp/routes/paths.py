# SPDX-License-Identifier: Apache-2.0
"""Shortest paths and the rule for ties.

**The tie rule.** Paths whose cost is within 1 ns of delay of the minimum (0.2998 m of length; hops: exactly equal)
count as equal. If the path in force is among them, it stays. Otherwise the lexicographically smallest sequence of node
ids is chosen; satellites are numbered by index, stations after them. Without this rule, rounding would choose between
the many equal paths of Walker patterns, and each such change reorders packets.

A link between satellites has a cost of at least twice the tolerance (0.6 m, 2 ns). Satellites of a polar star meet at
the poles, and over links of length 0 the paths that count as equal would form loops.

**Stations do not forward.** A path touches the ground only at its two ends. A station is the gateway of one host and
has no second satellite link (no bent pipe in the middle of a path).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Path = tuple[int, ...]
"""Node ids: station, satellites, station."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The network at one instant.

    satellites: Number of satellites; station j is node ``satellites + j``.
    isl: csr_array of shape (satellites, satellites). Costs of the links between satellites, symmetric.
    ground: sequence of (int array, float64 array). For each station, the satellites that it sees, ascending, and the
        cost of each link.
    """

    satellites: int
    isl: csr_array
    ground: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]]

    @staticmethod
    def of_links(
        satellites: int,
        pairs: NDArray[np.intp],
        cost: NDArray[np.float64],
        ground: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]],
    ) -> Graph:
        """The graph from a list of links. Each link is listed once, with the smaller satellite first.

        pairs: int array of shape (m, 2)
        cost: float64 array of shape (m,). All costs are above the tolerance of the tie rule, see `shortest`.
        ground: sequence of (int array, float64 array). The same form as in the class.
        """
        # Imported here, because scipy takes 0.1 s to import, and a chain has no graph.
        from scipy.sparse import csr_array

        row, column = np.concatenate([pairs, pairs[:, ::-1]]).T
        isl = csr_array((np.concatenate([cost, cost]), (row, column)), shape=(satellites, satellites))
        return Graph(satellites=satellites, isl=isl, ground=ground)

    def costs_to(self, stations: Sequence[int], limits: Sequence[float]) -> NDArray[np.float64]:
        """Minimum cost from every satellite to each station, never through another station.

        stations: Indexes into `ground`.
        limits: Extent of the search for each station: the cost of the path in force if that path still exists.
        Returns: float64 array of shape (len(stations), satellites). Values above a station's limit may be inf.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        # Dijkstra's search starts at the destination, so one search serves all sources, and gives the d(v) that the tie
        # rule needs.
        seen = [self.ground[station] for station in stations]
        sizes = [len(satellites) for satellites, _ in seen]
        # Stations are roots with outgoing links only, so no path passes through one.
        starts = self.isl.indptr[-1] + np.cumsum([0, *sizes])[1:]
        graph = csr_array(
            (
                np.concatenate([self.isl.data, *(cost for _, cost in seen)]),
                np.concatenate([self.isl.indices, *(satellites for satellites, _ in seen)]),
                np.concatenate([self.isl.indptr, starts]),
            ),
            shape=(self.satellites + len(seen),) * 2,
        )
        costs = np.empty((len(seen), self.satellites))
        for root, limit in enumerate(limits):
            costs[root] = dijkstra(graph, indices=self.satellites + root, limit=limit)[: self.satellites]
        return costs

    def cost_of(self, path: Path) -> float:
        """Cost of a path; inf if one of its links does not exist at this instant."""
        first, last = path[0] - self.satellites, path[-1] - self.satellites
        cost = self._ground_cost(first, path[1]) + self._ground_cost(last, path[-2])
        for a, b in pairwise(path[1:-1]):
            cost += self._neighbours(a).get(b, np.inf)
        return cost

    def shortest(
        self,
        source: int,
        destination: int,
        to_destination: NDArray[np.float64],
        tolerance: float,
        current: Path | None,
        margin_ratio: float | None = 0.0,
    ) -> Path | None:
        """The path from one station to another by the tie rule; None if there is no path.

        to_destination: float64 array of shape (satellites,). The row of `costs_to` for the destination.
        tolerance: Largest excess over the minimum cost at which a path counts as equal to the cheapest path.
        current: The path in force.
        margin_ratio: The path in force is kept until its cost exceeds the minimum by more than this share. With None,
            it is kept until one of its links is gone.
        Raises ValueError if a link's cost is not above the tolerance: equal paths could form loops.
        """
        # Each step of the walk below must reduce the distance by more than the tolerance.
        if self._least_cost <= tolerance:
            raise ValueError(f"a link that costs no more than the tolerance {tolerance}: paths could go in circles")
        satellites, costs = self.ground[source]
        if not len(satellites):
            return None
        totals = costs + to_destination[satellites]
        least = float(totals.min())
        if not np.isfinite(least):
            return None
        limit = least + tolerance
        # The path in force takes precedence over any other of equal cost, because a change without a gain would reorder
        # packets.
        most = np.inf if margin_ratio is None else least * (1.0 + margin_ratio) + tolerance
        if current is not None and np.isfinite(cost := self.cost_of(current)) and cost <= most:
            return current
        # The walk starts at the source and always takes the smallest next node from which the rest still fits within
        # the limit; this gives the smallest of all such paths. The first node that fits is the smallest, because
        # `ground` lists satellites in ascending order.
        at = int(np.argmax(totals <= limit))
        node, spent = int(satellites[at]), float(costs[at])
        path = [self.satellites + source, node]
        while True:
            neighbours = self._neighbours(node)
            # Dijkstra's predecessors are not sufficient: they give only one path of minimum cost, but all paths within
            # the tolerance are needed.
            fits = (n for n, cost in neighbours.items() if spent + cost + to_destination[n] <= limit)
            after = next(fits, None)
            if after is None:
                return (*path, self.satellites + destination)
            node, spent = after, spent + neighbours[after]
            path.append(node)

    @cached_property
    def _least_cost(self) -> float:
        """Smallest cost of any link between satellites; inf if there are no links."""
        return float(self.isl.data.min(initial=np.inf))

    def _neighbours(self, satellite: int) -> dict[int, float]:
        """Cost of the links from a satellite, by neighbour, with the smallest id first.

        Dicts are created on first use. A satellite has four neighbours, and numpy is slower than Python for four
        numbers.
        """
        if satellite not in self._of_satellites:
            row = slice(self.isl.indptr[satellite], self.isl.indptr[satellite + 1])
            links = sorted(zip(self.isl.indices[row].tolist(), self.isl.data[row].tolist(), strict=True))
            self._of_satellites[satellite] = dict(links)
        return self._of_satellites[satellite]

    @cached_property
    def _of_satellites(self) -> dict[int, dict[int, float]]:
        return {}

    def _ground_cost(self, station: int, satellite: int) -> float:
        """Cost of the link between a station and a satellite; inf if there is no such link."""
        return self._of_stations[station].get(satellite, np.inf)

    @cached_property
    def _of_stations(self) -> list[dict[int, float]]:
        return [dict(zip(satellites.tolist(), costs.tolist(), strict=True)) for satellites, costs in self.ground]


def as_forwarded(paths: Sequence[Path | None]) -> list[Path | None]:
    """The paths that packets take when nodes forward by destination only.

    Two paths to one destination may leave a common node over different links, if both are equal by the tie rule. A node
    has one next hop for each destination: that of the first path. Each step of each path reduces the distance to the
    destination (by the link's cost minus the tolerance), so the walk ends.
    """
    # Keys are the destination, then the node.
    next_hops: dict[int, dict[int, int]] = {}
    walked: list[Path | None] = []
    for path in paths:
        if path is None:
            walked.append(None)
            continue
        hops = next_hops.setdefault(path[-1], {})
        # Later paths do not change these hops, so this path can be followed now.
        if [hops.setdefault(node, after) for node, after in pairwise(path)] == list(path[1:]):
            walked.append(path)
            continue
        walk = [path[0]]
        while walk[-1] != path[-1]:
            walk.append(hops[walk[-1]])
        walked.append(tuple(walk))
    return walked
