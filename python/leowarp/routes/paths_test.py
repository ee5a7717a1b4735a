# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.routes.paths import Graph, Path, as_forwarded

Costs = dict[tuple[int, int], float]


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, Costs, list[dict[int, float]]]:
    """Draw a random number of satellites, and random costs of links. For each of three stations, draw the satellites
    that it sees. Only a few different costs are drawn, so that many paths have equal costs."""
    n = draw(st.integers(1, 7))
    cost = st.sampled_from([1.0, 1.0, 2.0, 2.0004, 3.0])
    every = [(a, b) for a in range(n) for b in range(a + 1, n)]
    links = draw(st.dictionaries(st.sampled_from(every), cost)) if every else {}
    seen = [draw(st.dictionaries(st.integers(0, n - 1), cost)) for _ in range(3)]
    return n, links, seen


def graph_of(n: int, links: Costs, seen: list[dict[int, float]]) -> Graph:
    pairs = np.array(sorted(links), dtype=np.intp).reshape(-1, 2)
    cost = np.array([links[a, b] for a, b in pairs.tolist()])
    ground = [
        (np.array(sorted(costs), dtype=np.intp), np.array([costs[s] for s in sorted(costs)], dtype=float))
        for costs in seen
    ]
    return Graph.of_links(n, pairs, cost, ground)


def every_path(n: int, links: Costs, seen: list[dict[int, float]], source: int, destination: int) -> dict[Path, float]:
    """Return the cost of every simple path between two stations over satellites. An exhaustive search finds the
    paths."""
    costs: dict[Path, float] = {}

    def go(path: tuple[int, ...], cost: float) -> None:
        here = path[-1]
        if here in seen[destination]:
            costs[n + source, *path, n + destination] = cost + seen[destination][here]
        for (a, b), more in links.items():
            if here in (a, b):
                after = b if here == a else a
                if after not in path:
                    go((*path, after), cost + more)

    for first, cost in seen[source].items():
        go((first,), cost)
    return costs


TOLERANCE = 0.001


@pytest.mark.slow
@given(networks())
def test_the_path_is_the_smallest_of_the_shortest(network: tuple[int, Costs, list[dict[int, float]]]) -> None:
    n, links, seen = network
    graph = graph_of(n, links, seen)
    every = every_path(n, links, seen, 0, 1)
    costs = graph.costs_to([1], [np.inf])[0]
    path = graph.shortest(0, 1, costs, TOLERANCE, None)
    if not every:
        assert path is None
        return
    least = min(every.values())
    equal = sorted(p for p, cost in every.items() if cost <= least + TOLERANCE + 1e-12)
    assert path == equal[0]
    assert abs(graph.cost_of(path) - every[path]) < 1e-9


@pytest.mark.slow
@given(networks(), st.data())
def test_a_path_in_force_stays_if_it_is_among_the_shortest(
    network: tuple[int, Costs, list[dict[int, float]]], data: st.DataObject
) -> None:
    n, links, seen = network
    graph = graph_of(n, links, seen)
    every = every_path(n, links, seen, 0, 1)
    if not every:
        return
    current = data.draw(st.sampled_from(sorted(every)))
    least = min(every.values())
    limit = graph.cost_of(current) + TOLERANCE
    costs = graph.costs_to([1], [limit])[0]
    path = graph.shortest(0, 1, costs, TOLERANCE, current)
    # The limit that follows from the current path shortens the search but does not change its result.
    assert path == graph.shortest(0, 1, graph.costs_to([1], [np.inf])[0], TOLERANCE, current)
    if every[current] <= least + TOLERANCE:
        assert path == current
    else:
        assert path is not None
        assert every[path] <= least + TOLERANCE


def test_a_path_in_force_stays_as_long_as_the_margin_says() -> None:
    # The path over link 0-1 costs 3, and the path over satellite 2 costs 4, which is a third more than 3.
    links = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    graph = graph_of(3, links, [{0: 1.0}, {1: 1.0}, {}])
    costs = graph.costs_to([1], [np.inf])[0]
    detour = (3, 0, 2, 1, 4)
    direct = (3, 0, 1, 4)
    for margin_ratio, path in [(0.0, direct), (0.3, direct), (0.34, detour), (None, detour)]:
        assert graph.shortest(0, 1, costs, TOLERANCE, detour, margin_ratio) == path
    # The current path no longer exists, because the source no longer sees satellite 0.
    broken = graph_of(3, links, [{2: 1.0}, {1: 1.0}, {}])
    assert broken.shortest(0, 1, costs, TOLERANCE, detour, None) == (3, 2, 1, 4)


def test_a_path_over_a_link_that_is_gone_costs_inf() -> None:
    graph = graph_of(3, {(0, 1): 1.0}, [{0: 1.0}, {1: 1.0}, {}])
    assert graph.cost_of((3, 0, 1, 4)) == 3.0
    assert graph.cost_of((3, 0, 2, 4)) == np.inf
    assert graph.cost_of((3, 2, 4)) == np.inf
    assert graph.cost_of((5, 0, 1, 4)) == np.inf


def test_stations_do_not_forward() -> None:
    # Satellites 0 and 1 have no link. Station 2 sees both satellites. If it forwarded packets, it would join the
    # satellites.
    graph = graph_of(2, {}, [{0: 1.0}, {1: 1.0}, {0: 1.0, 1: 1.0}])
    costs = graph.costs_to([1, 2], [np.inf, np.inf])
    assert graph.shortest(0, 1, costs[0], 0.0, None) is None
    assert graph.shortest(0, 2, costs[1], 0.0, None) == (2, 0, 4)


def test_free_ground_links_are_links() -> None:
    graph = graph_of(2, {(0, 1): 1.0}, [{0: 0.0}, {1: 0.0}, {}])
    assert graph.shortest(0, 1, graph.costs_to([1], [np.inf])[0], 0.0, None) == (2, 0, 1, 3)


def test_links_below_the_tolerance_are_refused() -> None:
    graph = graph_of(2, {(0, 1): 0.1}, [{0: 1.0}, {1: 1.0}, {}])
    with pytest.raises(ValueError, match="circles"):
        graph.shortest(0, 1, graph.costs_to([1], [np.inf])[0], 0.1, None)


@pytest.mark.slow
@given(networks(), st.permutations([(0, 1), (2, 1), (1, 0), (0, 2)]))
def test_forwarding_by_destination_takes_everybody_there(
    network: tuple[int, Costs, list[dict[int, float]]], pairs: list[tuple[int, int]]
) -> None:
    n, links, seen = network
    graph = graph_of(n, links, seen)
    costs = graph.costs_to([0, 1, 2], [np.inf] * 3)
    paths = [graph.shortest(a, b, costs[b], TOLERANCE, None) for a, b in pairs]
    walked = as_forwarded(paths)
    next_hop: dict[tuple[int, int], int] = {}
    for path, walk in zip(paths, walked, strict=True):
        assert (path is None) == (walk is None)
        if path is None or walk is None:
            continue
        assert (walk[0], walk[-1]) == (path[0], path[-1])
        # At each node that diverts a path, the path's cost grows by at most one tolerance.
        assert graph.cost_of(walk) <= graph.cost_of(path) + n * TOLERANCE
        for node, after in pairwise(walk):
            assert next_hop.setdefault((walk[-1], node), after) == after
