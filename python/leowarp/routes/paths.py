# SPDX-License-Identifier: Apache-2.0
"""The shortest paths and the rule for ties.

**The tie rule.** Some paths cost at most 1 ns of delay more than the cheapest path (0.2998 m of length; hops: no
difference). All these paths are treated as equal. If the current path is one of these equal paths, it remains in use.
Otherwise, the equal path with the lexicographically smallest sequence of node ids is chosen. The ids of satellites are
their indexes. The ids of stations are larger. Walker patterns have many equal paths. Without the tie rule, rounding
errors would decide which of several equal paths is chosen, and could change the path. Each change of path reorders
packets.

A link between satellites costs at least 0.6 m or 2 ns, which is twice the tolerance. Satellites of a polar star meet at
the poles, so links between them can have length 0. Without this minimum, equal paths over such links would form loops.

**Stations do not forward.** A path touches the ground only at its two ends. A station is a gateway only for its own
host. Packets of all other hosts therefore do not pass through it.
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
"""The node ids of a path: source station, satellites, destination station."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The network at one instant: links and their costs.

    satellites: The number of satellites. Station j is node ``satellites + j``.
    isl: The costs of the links between satellites, as a symmetric csr_array of shape (satellites, satellites).
    ground: For each station, a pair (int array, float64 array). The first array has the satellites that the station
        sees, ascending. The second array has the costs of the ground links.
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
        """Return the graph of a list of links between satellites. Each link is listed once, with the smaller satellite
        first.

        pairs: An int array of shape (m, 2)
        cost: The costs of the links, float64 array of shape (m,). Each cost is above the tolerance of the tie rule (see
            `shortest`).
        ground: The ground links, as in the attribute `ground`.
        """
        # scipy.sparse is imported inside the function, because the import takes 0.1 s, and a chain needs no graph.
        from scipy.sparse import csr_array

        row, column = np.concatenate([pairs, pairs[:, ::-1]]).T
        isl = csr_array((np.concatenate([cost, cost]), (row, column)), shape=(satellites, satellites))
        return Graph(satellites=satellites, isl=isl, ground=ground)

    def costs_to(self, stations: Sequence[int], limits: Sequence[float]) -> NDArray[np.float64]:
        """Return the minimum cost from every satellite to each of the given stations. Paths never pass another station.

        stations: The indexes of the stations in `ground`.
        limits: For each station, the cost up to which the search must find paths. This limit is the cost of the current
            path, or inf.
        Returns: A float64 array of shape (len(stations), satellites). If a cost is above the station's limit, the array
            may contain inf instead.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        # Dijkstra's search starts at the destination. One search from the destination therefore serves all sources. The
        # search gives the cost d(v) from each node v to the destination, which the tie rule needs.
        seen = [self.ground[station] for station in stations]
        sizes = [len(satellites) for satellites, _ in seen]
        # In the search, stations have only outgoing links, so no path passes through a station.
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
        """Return the cost of a path, or inf if one of its links does not exist in this graph."""
        first, last = path[0] - self.satellites, path[-1] - self.satellites
        cost = self._of_stations[first].get(path[1], np.inf) + self._of_stations[last].get(path[-2], np.inf)
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
        """Return the path from one station to another that the tie rule chooses. The result is None if there is no
        path.

        to_destination: The row of `costs_to` for the destination, float64 array of shape (satellites,).
        tolerance: If a path's cost exceeds the lowest cost by at most this value, the two costs count as equal.
        margin_ratio: A share of the minimum cost. The current path stays if its cost exceeds the minimum by at most
            this share. With None, the current path stays until one of its links is gone.
        Raises ValueError if a link's cost is the tolerance or less. Paths of equal cost could then form loops.
        """
        # The cost to the destination must fall by more than the tolerance at each hop of a path.
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
        # Among paths of equal cost, the current one is preferred, because a change that gains nothing would reorder
        # packets.
        most = np.inf if margin_ratio is None else least * (1.0 + margin_ratio) + tolerance
        if current is not None and np.isfinite(cost := self.cost_of(current)) and cost <= most:
            return current
        # The walk starts at the source. At each node, the walk considers the neighbours from which the destination can
        # still be reached within the limit. The walk takes the neighbour with the smallest id. Among all paths within
        # the limit, the result is the lexicographically smallest one by node ids. `ground` lists satellites in
        # ascending order, so the first satellite within the limit is the smallest.
        at = int(np.argmax(totals <= limit))
        node, spent = int(satellites[at]), float(costs[at])
        path = [self.satellites + source, node]
        while True:
            neighbours = self._neighbours(node)
            # Dijkstra's predecessors are not enough: they give one path of minimum cost, but the tie rule needs all
            # paths within the tolerance.
            fits = (n for n, cost in neighbours.items() if spent + cost + to_destination[n] <= limit)
            after = next(fits, None)
            if after is None:
                return (*path, self.satellites + destination)
            node, spent = after, spent + neighbours[after]
            path.append(node)

    @cached_property
    def _least_cost(self) -> float:
        """The smallest cost of a link between satellites, or inf if there are no links."""
        return float(self.isl.data.min(initial=np.inf))

    def _neighbours(self, satellite: int) -> dict[int, float]:
        """Return a dict from each neighbour of a satellite to the cost of the link, in ascending order of ids.

        A satellite has four neighbours, and for four numbers numpy is slower than Python.
        """
        if satellite not in self._of_satellites:
            row = slice(self.isl.indptr[satellite], self.isl.indptr[satellite + 1])
            links = sorted(zip(self.isl.indices[row].tolist(), self.isl.data[row].tolist(), strict=True))
            self._of_satellites[satellite] = dict(links)
        return self._of_satellites[satellite]

    @cached_property
    def _of_satellites(self) -> dict[int, dict[int, float]]:
        return {}

    @cached_property
    def _of_stations(self) -> list[dict[int, float]]:
        return [dict(zip(satellites.tolist(), costs.tolist(), strict=True)) for satellites, costs in self.ground]


def as_forwarded(paths: Sequence[Path | None]) -> list[Path | None]:
    """Return the actual paths of packets if nodes forward packets by destination only.

    The tie rule can choose differently for two pairs of stations. Two paths to one destination may therefore share a
    node, but leave it over different links. A node has only one next hop for each destination: the next hop of the
    first path in `paths`. At each hop, the remaining cost to the destination falls by at least the link's cost minus
    the tolerance. Packets therefore always arrive.
    """
    # destination -> node -> next hop
    next_hops: dict[int, dict[int, int]] = {}
    walked: list[Path | None] = []
    for path in paths:
        if path is None:
            walked.append(None)
            continue
        hops = next_hops.setdefault(path[-1], {})
        # Later paths do not change the next hops of an earlier path, so a path that is found here is final.
        if [hops.setdefault(node, after) for node, after in pairwise(path)] == list(path[1:]):
            walked.append(path)
            continue
        walk = [path[0]]
        while walk[-1] != path[-1]:
            walk.append(hops[walk[-1]])
        walked.append(tuple(walk))
    return walked
