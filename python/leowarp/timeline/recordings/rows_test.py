# SPDX-License-Identifier: Apache-2.0
"""Tests that a ping over the rows of a recording gets the recorded round trips. The tests compute the link as a FIFO,
packet by packet."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.scenario.schema import Measured
from leowarp.scenario.text.key import InputFile
from leowarp.timeline.recordings import Measurement, read
from leowarp.timeline.recordings.measurement import Delays, Flags, Times
from leowarp.timeline.recordings.rows import Rows, channel_rows
from support.synthetic.dish import MS

# Each pair contains two values: the time between probes in whole us, and the round trip in ns (None for a lost probe).
recordings = st.lists(
    st.tuples(st.integers(1, 30_000), st.one_of(st.none(), st.integers(0, 90 * MS))), min_size=1, max_size=40
).filter(lambda probes: any(rtt_ns is not None for _, rtt_ns in probes))
directions = st.booleans()
sharing = st.sampled_from(["halves", "down", "up"])
losses = st.sampled_from(["down", "up", "both", "none"])


def arrays(probes: list[tuple[int, int | None]]) -> tuple[Times, Delays]:
    t_ns = np.cumsum([0, *(step_us * 1_000 for step_us, _ in probes[1:])])
    return t_ns, np.array([np.nan if rtt_ns is None else rtt_ns for _, rtt_ns in probes], dtype=float)


def in_order(t_ns: Times, rtt_ns: Delays) -> Delays:
    """Return the round trips. If a reply arrives before the previous reply, its round trip is lengthened."""
    return np.where(np.isnan(rtt_ns), np.nan, np.fmax.accumulate(t_ns + rtt_ns) - t_ns)


def keys(**chosen: object) -> Measured:
    file = InputFile(name="x", sha256="0" * 64, path=Path("x"))
    return Measured(file=file, **{"gaps": "hold", **chosen})  # type: ignore[arg-type]


def passed(rows: Rows, enters_ns: Times) -> tuple[Times, Flags]:
    """Send packets over a FIFO link with the delays and losses in `rows`. Return the times at which packets leave the
    link, and whether each packet is lost."""
    row = np.searchsorted(rows.t_ns, enters_ns, side="right") - 1
    assert (row >= 0).all()
    return np.maximum.accumulate(enters_ns + rows.delay_ns[row]), rows.loss_ratio[row] == 1


def met(measurement: Measurement, chosen: Measured, sent_ns: Times, *, down_first: bool) -> Delays:
    """Send pings over the rows of a measurement, and return their round trips. nan marks a lost ping."""
    ways = channel_rows(measurement, chosen, 0, int(sent_ns[-1]) + 1, down_first=down_first)
    forward, back = ways if down_first else ways[::-1]
    there_ns, lost = passed(forward, sent_ns)
    back_ns, lost_back = passed(back, there_ns[~lost])
    rtt_ns = np.full(len(sent_ns), np.nan)
    rtt_ns[~lost] = np.where(lost_back, np.nan, back_ns - sent_ns[~lost])
    return rtt_ns


@given(recordings, directions, sharing, losses)
def test_a_ping_meets_the_recorded_round_trips_or_waits_for_the_reply_before_it(
    probes: list[tuple[int, int | None]], down_first: bool, rtt: str, lost_probes: str
) -> None:
    t_ns, rtt_ns = arrays(probes)
    measurement = Measurement.of_round_trips(t_ns, rtt_ns)
    again_ns = met(measurement, keys(rtt=rtt, lost_probes=lost_probes), t_ns, down_first=down_first)
    known = ~np.isnan(rtt_ns)
    assert np.array_equal(again_ns[known], in_order(t_ns, rtt_ns)[known])


@given(recordings, directions, st.sampled_from(["down", "up", "both"]))
def test_of_a_recording_in_order_each_round_trip_and_each_loss_comes_back(
    probes: list[tuple[int, int | None]], down_first: bool, lost_probes: str
) -> None:
    t_ns, rtt_ns = arrays(probes)
    rtt_ns = in_order(t_ns, rtt_ns)
    measurement = Measurement.of_round_trips(t_ns, rtt_ns)
    again_ns = met(measurement, keys(lost_probes=lost_probes), t_ns, down_first=down_first)
    assert np.array_equal(again_ns, rtt_ns, equal_nan=True)


@given(recordings, directions)
def test_the_same_holds_of_a_table_of_round_trips(probes: list[tuple[int, int | None]], down_first: bool) -> None:
    t_ns, rtt_ns = arrays(probes)
    rtt_ns = in_order(t_ns, rtt_ns)
    trips = Measurement.of_round_trips(t_ns, rtt_ns).round_trip
    table = Measurement(source="table", format="csv", round_trip=trips, probes=False)
    assert np.array_equal(met(table, keys(), t_ns, down_first=down_first), rtt_ns, equal_nan=True)


@given(recordings, st.floats(0, 1))
def test_one_way_delays_of_round_trips_come_back_as_round_trips(
    probes: list[tuple[int, int | None]], share: float
) -> None:
    """No packet overtakes another in either direction. The reply enters the downlink when the probe has left the
    uplink."""
    t_ns, rtt_ns = arrays(probes)
    up_ns = in_order(t_ns, np.round(rtt_ns * share))
    # The instants must differ, because the rows cannot have two delays for the same instant.
    up_ns += np.arange(len(up_ns))
    down_ns = in_order(t_ns + np.nan_to_num(up_ns), rtt_ns - np.round(rtt_ns * share))
    of = Measurement.of_round_trips(t_ns, up_ns + down_ns)
    ways = {"up": Measurement.of_one_way(t_ns, up_ns).down, "down": Measurement.of_one_way(t_ns, down_ns).down}
    measurement = Measurement(source="x", format="irtt", round_trip=of.round_trip, **ways)  # type: ignore[arg-type]
    known = ~np.isnan(rtt_ns)
    again_ns = met(measurement, keys(rtt="one-way"), t_ns, down_first=False)
    assert np.array_equal(again_ns[known], (up_ns + down_ns)[known])


def printed(t_ns: Times, rtt_ns: Delays) -> str:
    """Return the output of `ping -D` from iputils. It shows round trips with three significant digits."""
    lines = []
    for place, (at_ns, rtt) in enumerate(zip(t_ns.tolist(), rtt_ns.tolist(), strict=True)):
        if rtt == rtt:
            places = 0 if rtt >= 100 * MS else 1 if rtt >= 10 * MS else 2
            lines.append(f"[{1_715_947_200 + (at_ns + rtt) / 1e9:.6f}] 64 bytes from 192.0.2.1: icmp_seq={place + 1} "
                         f"ttl=54 time={rtt / 1e6:.{places}f} ms\n")  # fmt: skip
    return "".join(lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.integers(1 * MS, 180 * MS), min_size=2, max_size=60), directions)
def test_a_ping_in_step_meets_each_recorded_probe_once_though_its_time_was_rounded(
    tmp_path: Path, rtts_ns: list[int], down_first: bool
) -> None:
    t_ns = np.arange(len(rtts_ns)) * 10 * MS
    rtt_ns = in_order(t_ns, np.array(rtts_ns, dtype=float))
    (tmp_path / "pings.txt").write_text(printed(t_ns, rtt_ns))
    again_ns = met(read(tmp_path / "pings.txt"), keys(), t_ns, down_first=down_first)
    # From 100 ms on, ping prints whole ms, so a printed round trip is wrong by up to half a ms. A reply may wait for
    # the previous reply. The printed round trip of the previous reply is also wrong by up to half a ms. The sending
    # time is the printed time minus the round trip. The sending time therefore has the same error as the round trip.
    assert np.nanmax(np.abs(again_ns - rtt_ns)) <= 2 * MS


@pytest.mark.parametrize("down_first", [True, False])
def test_a_repeated_recording_begins_anew_with_its_round_trips(down_first: bool) -> None:
    t_ns, rtt_ns = np.arange(5) * 10 * MS, np.array([30e6, 41e6, 36e6, 33e6, 45e6])
    measurement = Measurement.of_round_trips(t_ns, rtt_ns)
    sent_ns = np.arange(15) * 10 * MS
    again_ns = met(measurement, keys(repeat=True), sent_ns, down_first=down_first)
    assert np.array_equal(again_ns, in_order(sent_ns, np.tile(rtt_ns, 3)))
