# SPDX-License-Identifier: Apache-2.0
"""Tests networks in which the kernel forwards the packets. It does so if some path between two hosts has no link with a
rate."""

import pytest

from leowarp.guest.setup.forwarding import joined_without_rate
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata

NAMES = ("host:A", "A", "r", "B", "host:B")
THERE = [("host:A", "host:B")]
BACK = [("host:B", "host:A")]


def link(kind, discipline):
    return LinkKind(kind=kind, discipline=discipline, on_down="drain", overhead_bytes=14, has_own_rate=False)


def timeline(there_bps, back_bps=None, *, discipline="leolink", later_bps=()):
    """Return the timeline of two hosts, their stations A and B, and a router between the stations. `there_bps` has the
    rate of each hop from A to B, `back_bps` the rate of each hop from B to A."""
    events = Events(list(NAMES))
    for number, kind in enumerate(("host", "ground", "router", "ground", "host")):
        events.node(number, kind)
    wire = link("wire", "leolink")
    events.link_up(0, 0, 1, wire)
    events.link_up(0, 4, 3, wire)
    for (a, b), there, back in zip(((1, 2), (2, 3)), there_bps, back_bps or there_bps, strict=True):
        events.link_up(0, a, b, link("isl", discipline))
        events.rate(0, a, b, there)
        events.rate(0, b, a, back)
    for t_ns, rate_bps in later_bps:
        events.rate(t_ns, 1, 2, rate_bps)
    return events.table(TimelineMetadata(warnings=[]))


@pytest.mark.parametrize(
    ("there_bps", "back_bps", "there", "back"),
    [
        ((None, None), None, True, True),
        ((10_000_000, None), None, False, False),
        ((None, 10_000_000), None, False, False),
        ((10_000_000, 10_000_000), (None, None), False, True),
        ((10_000_000, None), (None, 10_000_000), False, False),
    ],
)
def test_hosts_are_joined_if_no_hop_of_a_way_has_a_rate(there_bps, back_bps, there, back):
    made = timeline(there_bps, back_bps)
    assert joined_without_rate(made, THERE) is there
    assert joined_without_rate(made, BACK) is back
    assert joined_without_rate(made, [*THERE, *BACK]) is (there or back)
    assert not joined_without_rate(made, [])


def test_a_rate_that_ends_counts_as_none():
    assert not joined_without_rate(timeline((10_000_000, None), later_bps=[(5, 20_000_000)]), THERE)
    assert joined_without_rate(timeline((10_000_000, None), later_bps=[(5, None)]), THERE)


def test_links_of_the_kernel_s_disciplines_count_as_shaped():
    assert not joined_without_rate(timeline((None, None), discipline="netem"), THERE)
