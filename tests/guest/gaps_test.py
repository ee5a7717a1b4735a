# SPDX-License-Identifier: Apache-2.0
"""Tests which probes are lost, held or late. The expected result follows from the link's gap or acquisition time, and
from the path."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import leowarp as lw
from leowarp import view
from leowarp.view.clock import Names, tick_ns
from leowarp.view.container import Arrays
from leowarp.view.gaps import gaps_of
from support.hops import arrivals_ns

pytestmark = pytest.mark.guest

S, MS = 1_000_000_000, 1_000_000
UPDATE_NS, GAP_NS, STEP_NS = 30 * S, 40 * MS, 5 * MS
STAMP_NS = 2_000
"""The tolerance of the packets' timestamps. It is needed because the clock has steps of 256 ns, and because
simultaneous probes get successive timestamps."""
# At 30 s Madrid switches to another satellite. The new path contains a link between two satellites that were out of
# each other's range before.
SCENARIO = """
name = "gaps"
[run]
start = "90 s"
duration = "40 s"
[constellation]
preset = "oneweb-study"
node_offset = "180 deg"
greenwich = "46.98 deg"
[[stations]]
name = "Madrid"
[[stations]]
name = "Tokyo"
[isl]
max_range = "3000 km"
rate = "unshaped"
queue = "unlimited"
{isl}
[ground]
max_ground_range = "1500 km"
rate = "unshaped"
queue = "{queue}"
{ground}
[[flows]]
kind = "ping"
source = "Madrid"
destination = "Tokyo"
# Probes never leave at the instant of an event.
start = "2500 us"
interval = "5 ms"
flood = true
"""


class Recorded(Arrays):
    """An encoder of arrays. It returns the values instead of their encoding."""

    def instants(self, ticks):
        return super().instants(ticks) and ticks

    def integers(self, values):
        return super().integers(values) and values


class Made:
    """A run with the times of its probes: sending, arrival (nan if lost), and expected arrival."""

    def __init__(self, folder, *, ground="", isl="", queue="unlimited", until_s=40, **keys):
        (folder / "gaps.toml").write_text(SCENARIO.format(ground=ground, isl=isl, queue=queue))
        keys |= {"run.duration": f"{until_s} s"}
        self.run = lw.run(folder / "gaps.toml", set=keys, out=folder / "run", report=False, progress=False)
        sent = self.run.echoes().sort_values("sent_ns", kind="stable")
        # Records may lack packets that were in flight at the run's end.
        sent = sent[sent["sent_ns"] < (until_s - 1) * S]
        self.sent_ns = sent["sent_ns"].to_numpy()
        self.received_ns = sent["received_ns"].to_numpy(float, na_value=np.nan)
        self.unanswered = sent["reply_ns"].isna().to_numpy()
        timeline = pq.read_table(self.run.path / "20-timeline.parquet")
        self.expected_ns = arrivals_ns(timeline, self.sent_ns, "Madrid", "host:Tokyo")

    @property
    def lost(self):
        return np.isnan(self.received_ns)

    @property
    def drops_pkts(self):
        return self.run.summary["drops_by_cause_pkts"]

    def sent_in(self, begin_ns, end_ns):
        return (self.sent_ns >= begin_ns) & (self.sent_ns < end_ns)

    def gaps_on_the_page(self):
        """Return the gaps that the moving page shows, as (link, begin, end). A link is the sorted pair of its nodes'
        names."""
        arrays = Recorded()
        names = Names([])
        found = gaps_of(self.run, names, arrays)
        name = names.others
        ends = [tuple(sorted((name[a], name[b]))) for a, b in zip(found["a"], found["b"], strict=True)]
        begin_ns = [int(t) * tick_ns(self.run) for t in found["t"]]
        lasts_ns = [int(t) * tick_ns(self.run) for t in found["lasts"]]
        return [(link, t, t + lasts) for link, t, lasts in zip(ends, begin_ns, lasts_ns, strict=True)]

    def is_as_expected(self):
        arrived = ~self.lost
        same = (self.lost == np.isnan(self.expected_ns)).all()
        return bool(same and np.abs(self.received_ns - self.expected_ns)[arrived].max() < STAMP_NS)


def test_packets_of_a_gap_are_lost_and_counted_and_no_others(tmp_path):
    made = Made(tmp_path, ground='handover_gap = "40 ms"')
    assert made.is_as_expected()
    assert (made.lost == made.sent_in(UPDATE_NS, UPDATE_NS + GAP_NS)).all()
    assert made.lost.sum() == GAP_NS // STEP_NS
    # Replies are lost as well if they reach Madrid's new satellite during the gap.
    assert made.unanswered.sum() > made.lost.sum()
    assert made.drops_pkts["loss"] == made.unanswered.sum()
    ((link, *gap),) = made.gaps_on_the_page()
    assert "Madrid" in link
    assert gap == [UPDATE_NS, UPDATE_NS + GAP_NS]


def test_packets_that_are_held_leave_together_in_their_order(tmp_path):
    made = Made(tmp_path, ground='handover_gap = "40 ms"\nin_gap = "buffered"')
    assert made.is_as_expected()
    assert not made.lost.any()
    held = made.received_ns[made.sent_in(UPDATE_NS, UPDATE_NS + GAP_NS)]
    after = made.received_ns[made.sent_in(UPDATE_NS + GAP_NS, UPDATE_NS + GAP_NS + STEP_NS)]
    assert held.max() - held.min() < STAMP_NS
    assert (np.diff(held) >= 0).all()
    # The first packet that was sent after the gap left 2.5 ms after the gap's end.
    assert after[0] - held[-1] == pytest.approx(2.5 * MS, abs=STAMP_NS)
    assert [gap[1:] for gap in made.gaps_on_the_page()] == [(UPDATE_NS, UPDATE_NS + GAP_NS)]


def test_what_the_queue_does_not_hold_is_lost_and_counted(tmp_path):
    made = Made(tmp_path, ground='handover_gap = "40 ms"\nin_gap = "buffered"', queue="3 pkts")
    of_gap = made.lost[made.sent_in(UPDATE_NS, UPDATE_NS + GAP_NS)]
    assert of_gap.tolist() == [False] * 3 + [True] * 5
    assert made.lost.sum() == 5
    assert made.drops_pkts["queue"] == made.unanswered.sum()


def test_make_before_break_loses_nothing_and_changes_40_ms_later(tmp_path):
    made = Made(tmp_path, ground='handover_gap = "40 ms"\nin_gap = "old"')
    assert made.is_as_expected()
    assert not made.lost.any()
    trip_ns = made.received_ns - made.sent_ns
    before, new = trip_ns[made.sent_in(UPDATE_NS - STEP_NS, UPDATE_NS)], trip_ns[made.sent_in(31 * S, 31 * S + STEP_NS)]
    old = trip_ns[made.sent_in(UPDATE_NS, UPDATE_NS + GAP_NS)]
    # Before the update, the delay of the path is constant, because it is computed from the satellites' positions at a
    # single update.
    assert np.ptp(old) < STAMP_NS
    assert abs(old[0] - before[0]) < 1 * MS < abs(new[0] - before[0])
    ((link, *gap),) = made.gaps_on_the_page()
    assert "Madrid" in link
    assert gap == [UPDATE_NS, UPDATE_NS + GAP_NS]


def test_lasers_that_are_being_pointed_lose_or_hold(tmp_path):
    for mode in ("lost", "buffered"):
        (tmp_path / mode).mkdir()
        made = Made(tmp_path / mode, isl=f'acquisition = "2 s"\nacquiring = "{mode}"')
        assert made.is_as_expected()
        assert made.lost.any() == (mode == "lost")
        if mode == "lost":
            # A packet passes some hops before it reaches the link whose lasers are being pointed. The first packets
            # that the link lost were therefore sent before the update.
            assert 2 * S // STEP_NS - 20 <= made.lost.sum() <= 2 * S // STEP_NS
            assert made.drops_pkts["loss"] >= made.lost.sum()


# This constellation has six planes of 24 satellites, with three terminals per satellite. Near the poles, a satellite's
# nearest neighbours are in other planes; near the equator, they are in its own plane. At 870 s, the path gets two new
# links within planes; at 900 s, it gets one new link between planes.
FEW_PLANES = {
    "run.start": "840 s", "constellation.planes": 6, "constellation.satellites_per_plane": 24, "isl.terminals": 3,
    "isl.max_range": "6000 km", "ground.max_ground_range": "2500 km",
}  # fmt: skip


def test_lasers_within_a_plane_and_between_planes_take_their_own_times(tmp_path):
    isl = 'acquisition = "1 s"\nacquisition_between_planes = "3 s"\nacquiring = "lost"'
    made = Made(tmp_path, isl=isl, until_s=70, **FEW_PLANES)
    assert made.is_as_expected()
    within, between = (made.lost & made.sent_in(begin - S, begin + 4 * S) for begin in (UPDATE_NS, 2 * UPDATE_NS))
    # A packet reaches this link only after some hops; packets that were sent before the update take the old path.
    assert 3 * S // STEP_NS - 20 <= between.sum() <= 3 * S // STEP_NS
    assert 1 * S // STEP_NS - 20 <= within.sum() <= 1 * S // STEP_NS + 20
    assert made.lost.sum() == within.sum() + between.sum()
    # The path gets two new links within planes at the first update, and one new link between planes at the second.
    lasts_ns = [(begin, end - begin) for _, begin, end in made.gaps_on_the_page()]
    assert lasts_ns == [(UPDATE_NS, 1 * S)] * 2 + [(2 * UPDATE_NS, 3 * S)]


def test_the_globe_marks_a_link_in_its_gap_and_no_other_time(tmp_path, browser):
    made = Made(tmp_path, ground='handover_gap = "40 ms"')
    tab = browser.open(view.write_view([made.run], tmp_path / "view.html").as_uri())
    said = "leowarp.panes[0].run.gaps(%r).length + leowarp.side.boxes.now.textContent.split('is in a gap').length - 1"
    for t_s, expected in ((29.9, 0), (30.02, 2), (30.05, 0)):
        tab.run(f"leowarp.scrub({t_s}), leowarp.drawNow()")
        assert tab.run(said % t_s) == expected
