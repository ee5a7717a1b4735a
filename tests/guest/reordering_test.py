# SPDX-License-Identifier: Apache-2.0
"""Tests reordering metrics of runs against closed forms for a known swap, and against the stored packets."""

import numpy as np
import pandas as pd
import pytest

import leowarp as lw
from leowarp import guest, reordering, scenario, trace
from leowarp.base import layout
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata

pytestmark = pytest.mark.guest

RD, RBD, N_REORDERING, EXTENT = range(4)
WHOLE, WINDOW, CHANGE = range(3)
MS = 1_000_000

SWAP = """
name = "swap"
[run]
duration = "10 s"
ends = "flows"
linger = "500 ms"
[chain]
rate = "unshaped"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
start = "1 s"
packets = 100
interval = "1 ms"
replies = false
"""


def plan_of(tmp_path, text: str, *changes: str):
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return scenario.resolve(scenario.load(path, changes))


def bars(densities: pd.DataFrame, kind: int, scope: int = WHOLE, number: int = 0) -> dict[int, int]:
    mine = densities[(densities.kind == kind) & (densities.scope == scope) & (densities.number == number)]
    return dict(zip(mine["index"], mine["pkts"], strict=True))


def three_paths(plan, delays_ms: list[int], switches_ms: list[int]):
    """Return a timeline of routers s and t with three paths in between. Packets from A to B switch to the next path at
    each instant in `switches_ms`."""
    names = ["s", "t", "via0", "via1", "via2", "host:A", "host:B"]
    s, t, *via, host_a, host_b = range(len(names))
    events = Events(names)
    for node in range(len(names)):
        events.node(node, "host" if node >= host_a else "router")
    events.link_up(0, host_a, s, LinkKind.ideal(plan, "wire"))
    events.link_up(0, t, host_b, LinkKind.ideal(plan, "wire"))
    for middle, delay_ms in zip(via, delays_ms, strict=True):
        for ends in ((s, middle), (middle, t)):
            events.link_up(0, *ends, LinkKind.shaped(plan, "isl", plan.medium, "drain"))
        events.delays(0, np.array([s]), np.array([middle]), np.array([delay_ms * MS]))
        events.route(0, middle, host_b, t, None)
    for path_id, (t_ms, middle) in enumerate(zip([0, *switches_ms], via, strict=True)):
        events.route(t_ms * MS, s, host_b, middle, path_id)
        events.path(t_ms * MS, host_a, host_b, path_id, path_id - 1 if path_id else None)
    return events.table(TimelineMetadata(warnings=[]))


# Tests RFC 4737, 5.4 (histogram of n-reordering).
# Tests RFC 4737, 5.4 (three duplicate acknowledgements).
def test_a_probe_over_a_known_swap_gives_the_closed_form_exactly(tmp_path):
    # 30 packets, one per millisecond, take a path of 100 ms, and the next 50 packets take a path of 10 ms. Counted from
    # the sending of the first packet, the 50 packets arrive after 40 to 89 ms, and the 30 packets after 100 to 129 ms.
    # The last 20 packets take a path of 200 ms.
    old, new = 30, 50
    plan = plan_of(tmp_path, SWAP)
    # each switch is half a millisecond before the first packet of the new path, so no packet is sent at the instant of
    # a switch
    events = three_paths(plan, [100, 10, 200], [1030, 1080])
    done = guest.run(guest.guest_image(plan.guest.kernel), plan, events, tmp_path)
    tables = trace.read_output(done.out_dir, tmp_path / layout.GUEST / "in" / "setup.json")
    whole = tables["reordering"].to_pandas().query("scope == 0").iloc[0]
    densities = tables["densities"].to_pandas()
    assert (whole.sent_pkts, whole.received_pkts, whole.lost_pkts, whole.reordered_pkts) == (100, 100, 0, old)
    assert bars(densities, RD) == {-old: new, 0: 20, new: old}
    assert whole.density_pkts == 100
    assert whole.mean_displacement_pkts == 2 * old * new / 100
    shares = np.array([old, new, 20]) / 100
    assert whole.entropy_nats == pytest.approx(-(shares * np.log(shares)).sum())
    # the first late packet comes directly after all 50 packets of the other block; each further late packet comes
    # directly after a packet of its own block
    assert bars(densities, N_REORDERING) == dict.fromkeys(range(1, 11), 1)
    assert whole.reordered3_pkts == 1
    # the extent of the i-th late packet is the number of packets in the other block, plus the number of late packets
    # before it
    assert bars(densities, EXTENT) == dict.fromkeys(range(new, new + old), 1)
    # 50 arrivals fill the buffer. The buffer is full when the first late packet arrives, and empty only after the last
    # late packet
    assert bars(densities, RBD) == {0: 21, **dict.fromkeys(range(1, new), 1), new: old}
    assert (whole.discontinuities, whole.runs, whole.byte_offset_max_bytes) == (1, old, 56 * new)
    # the first packet was sent 30 ms before the block, over a path that is 90 ms longer, so it is 60 ms late. Each
    # following packet is 1 ms later than the packet before it
    assert whole.late_time_max_ns == pytest.approx((60 + old - 1) * MS, abs=2000)
    assert tables["echoes"].to_pandas()["received_ns"].notna().all()


def measured(packets: pd.DataFrame, from_ns: float, to_ns: float, threshold_pkts: int) -> reordering.Reordering:
    """Compute the metrics from the stored packets. A packet counts if it is a first transmission, has payload, and was
    sent from `from_ns` to before `to_ns`."""
    mine = packets[(packets.sent_ns >= from_ns) & (packets.sent_ns < to_ns)].reset_index(drop=True)
    arrived = mine[mine.received_ns.notna()].sort_values("received_ns", kind="stable")
    times_ns, lengths = (arrived[name].to_numpy("int64") for name in ("received_ns", "len_bytes"))
    assert (np.diff(times_ns) > 0).all(), "the table does not say which of two came first"
    return reordering.measure(
        arrived.index.to_numpy(), t_ns=times_ns, len_bytes=lengths, sent_pkts=len(mine), first_seq=0,
        threshold_pkts=threshold_pkts,
    )  # fmt: skip


def check_against_packets(run: lw.Run) -> pd.DataFrame:
    """Compute the rows and histograms of flow 0 from the table of packets, and compare them with the recorded ones.
    Return the recorded rows."""
    packets = run.packets()
    packets = packets[(packets.flow == 0) & (packets.direction == "data") & ~packets.is_retransmission.astype(bool)]
    packets = packets.sort_values("sent_ns", kind="stable")
    packets = packets[packets.len_bytes > 0]
    rows, densities = (trace.read(run.path / "30-trace", name).to_pandas() for name in ("reordering", "densities"))
    rows = rows[rows.flow == 0]
    for row in rows.itertuples():
        again = measured(packets, row.t_ns, row.end_ns, run.plan.observe.reordering_threshold_pkts)
        assert (row.sent_pkts, row.received_pkts, row.lost_pkts, row.reordered_pkts) == (
            again.expected_pkts, again.received_pkts, again.lost_pkts, again.reordered_pkts)  # fmt: skip
        values = [
            (row.extent_mean_pkts, again.extents.mean_pkts),
            (row.extent_max_pkts, again.extents.max_pkts),
            (row.late_time_mean_ns, again.extents.late_time_mean_ns),
            (row.late_time_max_ns, again.extents.late_time_max_ns),
            (row.byte_offset_mean_bytes, again.extents.byte_offset_mean_bytes),
            (row.byte_offset_max_bytes, again.extents.byte_offset_max_bytes),
            (row.discontinuities, again.gaps.reordering_discontinuities),
            (row.gap_mean_pkts, again.gaps.mean_pkts),
            (row.gap_mean_ns, again.gaps.mean_ns),
            (row.runs, again.runs.runs),
            (row.run_mean_pkts, again.runs.mean_pkts),
            (row.run_variability_ratio, again.runs.variability_ratio),
            (row.density_pkts, again.density.counted_pkts),
            (row.density_beyond_pkts, again.density.early_beyond_pkts + again.density.late_beyond_pkts),
            (row.mean_displacement_pkts, again.mean_displacement_pkts),
            (row.entropy_nats, again.entropy_nats),
            (row.buffer_mean_pkts, again.buffer_mean_pkts),
            (row.reordered3_pkts, again.n_reordering.pkts[2]),
        ]
        for value, expected in values:
            assert pd.isna(value) if expected is None else value == expected, (value, expected, row)
        histograms = {
            RD: (again.density.displacement_pkts, again.density.pkts),
            RBD: (again.buffer_density.occupancy_pkts, again.buffer_density.pkts),
            N_REORDERING: (again.n_reordering.n, again.n_reordering.pkts),
            EXTENT: (again.extents.extent_pkts, again.extents.pkts),
        }
        for kind, (index, pkts) in histograms.items():
            found = {i: n for i, n in zip(index.tolist(), pkts.tolist(), strict=True) if n > 0}
            assert bars(densities[densities.flow == 0], kind, row.scope, row.number) == found, row
        assert sum(bars(densities[densities.flow == 0], RD, row.scope, row.number).values()) == row.density_pkts
    return rows


ECHOES = """
name = "echoes"
[run]
duration = "60 s"
ends = "flows"
[jittered]
rate = "100 Mbit/s"
delay = "100 ms"
jitter = "2 ms"
distribution = "exponential"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
payload = "1472 B"
packets = 70000
packet_rate = "8235 pkts/s"
replies = false
[observe]
packets = "all"
reordering_window = "3 s"
"""


def test_more_echoes_than_their_numbers_are_matched_and_measured(tmp_path):
    (tmp_path / "echoes.toml").write_text(ECHOES)
    run = lw.run(tmp_path / "echoes.toml", (), tmp_path / "run", report=False, progress=False)
    echoes = run.echoes()
    assert (echoes["index"] == np.arange(70_000)).all()
    due_ns = np.arange(70_000, dtype="int64") * 1_000_000_000 // 8235
    assert (echoes["sent_ns"] - due_ns).between(0, 2000).all()
    delays_ns = echoes["received_ns"] - echoes["sent_ns"]
    assert delays_ns.notna().all()
    assert delays_ns.min() == pytest.approx(98 * MS, abs=0.1 * MS)
    rows = check_against_packets(run)
    assert list(zip(rows.scope, rows.number, strict=True)) == [(1, 0), (1, 1), (1, 2), (1, 3), (0, 0)]
    assert rows[rows.scope == WINDOW].sent_pkts.sum() == 70_000
    densities = trace.read(run.path / "30-trace", "densities").to_pandas()
    whole = bars(densities, RD)
    # the longest of the 16384 random delays is 9.4 deviations, or 155 packets, so no displacement reaches the threshold
    # of 1000
    assert sum(whole.values()) == 70_000
    assert sum(displacement * pkts for displacement, pkts in whole.items()) == 0
    # The run ends one second after the last packet was sent.
    end_ns = run.summary["virtual_s"] * 1e9
    assert end_ns == pytest.approx(69_999 * 1e9 // 8235 + 1e9, abs=1)


# Tests RFC 4737, 5 (resemblance to TCP).
# Tests RFC 4737, 6 (TCP-like streams).
# Tests RFC 4737, 4.2.4 (part of a stream).
def test_of_a_transfer_over_route_changes_the_records_equal_the_packets(tmp_path):
    changes = {"run.start": "105 s", "run.duration": "65 s", "observe.packets": "all", "observe.packets_before": "4 s"}
    example = __file__.rsplit("/tests/", 1)[0] + "/examples/madrid-tokyo.toml"
    run = lw.run(example, changes, tmp_path / "run", report=False, progress=False)
    rows = check_against_packets(run)
    ways = run.routes()
    changes_ns = ways[(ways.source == "Madrid") & ways.is_change]["t_ns"].tolist()
    around = rows[rows.scope == CHANGE].sort_values("number")
    assert len(changes_ns) >= 1
    assert around.t_ns.tolist() == [max(t - 4_000 * MS, 0) for t in changes_ns]
    assert around.end_ns.tolist() == [min(t + 3_000 * MS, 65_000 * MS) for t in changes_ns]
    assert rows[rows.scope == WINDOW].t_ns.tolist() == [0, *(k * 10_000 * MS + 5000 * MS for k in range(6))]
    assert rows[rows.scope == WINDOW].sent_pkts.sum() == rows[rows.scope == WHOLE].sent_pkts.sum()
    assert rows[rows.scope == WHOLE].reordered_pkts.iloc[0] > 0
    assert rows.lost_pkts.sum() > 0
