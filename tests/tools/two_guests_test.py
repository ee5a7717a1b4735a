# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of design/two-guests.py: a network cut in two, and how long two guests in lock-step take."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from leowarp import Run
from support.synthetic.run import LINK_DELAYS_NS, LINKS, write_synthetic_run

PARTS = ("cut", "windows", "work")


@pytest.fixture(scope="module")
def parts():
    """The modules of design/two-guests, which is no package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "design" / "two-guests")
        yield {name: importlib.import_module(name) for name in PARTS}
        for name in PARTS:
            del sys.modules[name]


def two_clusters():
    """Ten nodes: two rings of five, with one link between them."""
    ring = [(i, (i + 1) % 5) for i in range(5)]
    edges = np.array([*ring, *((a + 5, b + 5) for a, b in ring), (2, 7)])
    return np.ones(10), edges, np.array([100.0] * 10 + [1.0])


def test_a_network_is_cut_where_little_crosses(parts):
    side = parts["cut"].halves(*two_clusters())
    assert sorted([side[:5].tolist(), side[5:].tolist()]) == [[0] * 5, [1] * 5]


def test_the_sides_are_equal_even_if_more_crosses(parts):
    work, edges, traffic = two_clusters()
    work[:5] = 3.0  # 15 and 5: a node of the first ring has to go over
    side = parts["cut"].halves(work, edges, traffic, tolerance_ratio=0.1)
    of_side = np.bincount(side, weights=work)
    assert of_side.max() <= 12  # half of 20, and a tenth of it


def test_a_link_that_must_not_be_cut_is_not(parts):
    work, edges, traffic = two_clusters()
    traffic[-1] = np.inf
    side = parts["cut"].halves(work, edges, traffic)
    assert side[2] == side[7]
    assert len(set(side.tolist())) == 2


def test_a_network_whose_links_must_all_stay_is_not_cut(parts):
    work, edges, _ = two_clusters()
    assert len(set(parts["cut"].halves(work, edges, np.full(len(edges), np.inf)).tolist())) == 1


def test_work_is_summed_by_window_and_side(parts):
    t_ns, side = np.array([0, 9, 10, 25, 30]), np.array([0, 1, 1, 0, 0])
    table = parts["windows"].by_window(t_ns, side, np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 10, 30)
    assert table.tolist() == [[1, 2], [0, 4], [8, 0]]  # what is at the end is no longer of it


def test_with_meetings_the_slower_side_of_each_window_decides(parts):
    work_s = np.array([[3.0, 1.0], [1.0, 3.0]])
    assert parts["windows"].barrier_s(work_s, 0.5) == 7.0  # 3 + 3, and two meetings


def test_with_promises_a_side_that_was_late_may_catch_up(parts):
    """A look-ahead of two steps: side 1 begins its second while side 0 is still at its first."""
    work_s = np.array([[3.0, 1.0], [1.0, 3.0]])
    assert parts["windows"].promises_s(work_s, 2, 0.0) == 4.0
    assert parts["windows"].promises_s(work_s, 1, 0.0) == 6.0  # of one step: as with meetings


def test_promises_are_paid_for_by_both(parts):
    assert parts["windows"].promises_s(np.ones((4, 2)), 2, 0.25) == 5.0


def test_two_sides_are_never_faster_than_their_halves(parts):
    work_s = np.random.default_rng(7).random((200, 2))
    least = work_s.sum(axis=0).max()
    barrier = parts["windows"].barrier_s(work_s, 0.0)
    assert least <= parts["windows"].promises_s(work_s, 8, 0.0) <= parts["windows"].promises_s(work_s, 1, 0.0)
    assert parts["windows"].promises_s(work_s, 1, 0.0) == pytest.approx(barrier)


@pytest.mark.slow
def test_each_packet_is_at_each_node_of_its_path_between_its_hosts_times(parts, tmp_path):
    """The run of tests/support/synthetic, whose times and delays are known."""
    run = Run(write_synthetic_run(tmp_path / "run"), complete=False)
    work = parts["work"].work_of(run.plan, run.path, host_units=10.0)
    packets = run.packets()
    arrived = packets[packets["received_ns"].notna()]
    hops = arrived.merge(run.routes().drop_duplicates("path_id"), on="path_id")["hops"].sum()
    assert len(work.hop_t_ns) == hops
    assert work.units.sum() == hops + 2 * 10 * len(arrived)
    first, last = arrived["sent_ns"].min(), arrived["received_ns"].max()
    assert work.t_ns.min() == first
    assert work.t_ns.max() == last
    least_ns = {frozenset((work.nodes[a], work.nodes[b])): least
                for (a, b), least in zip(work.edges, work.least_delay_ns, strict=True)}  # fmt: skip
    assert least_ns == {frozenset(link): LINK_DELAYS_NS[link] for link in LINKS if frozenset(link) in least_ns}
    assert len(least_ns) == len(LINKS)
