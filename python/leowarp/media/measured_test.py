# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.media import timeline_of
from leowarp.scenario.schema import Measured, Network, Plan, Run
from leowarp.scenario.text.key import InputFile
from leowarp.timeline import describe, warnings_of
from support.plans import S, chain
from support.replay import replayed

MS = 1_000_000


def named(folder: Path, name: str, text: str) -> InputFile:
    (folder / name).write_text(text)
    return InputFile(name=name, sha256="0" * 64, path=folder / name)


def measured(
    folder: Path, text: str, *, duration_s: float = 10, start_s: float = 0, keys: dict[str, Any] | None = None,
    **network: Any,
) -> Plan:  # fmt: skip
    file = named(folder, "path.csv", text)
    return dataclasses.replace(
        chain(),
        medium=Measured(file=file, **(keys or {})),
        run=Run(duration_ns=round(duration_s * S), start_ns=round(start_s * S)),
        network=Network(**network),
    )


def events(resolved: Plan, *names: str) -> list[tuple]:
    keep = {"link": "up", "delay": "delay_ns", "rate": "rate_bps", "loss": "loss_ratio", "capacity": "rate_bps"}
    return [
        (row["t_ns"], row["event"], row["a"], row["b"], row[keep[row["event"]]])
        for row in timeline_of(resolved).to_pylist()
        if row["event"] in names and row["kind"] != "wire"
    ]


def channel(resolved: Plan, a: str = "r0") -> list[tuple[float, float, float]]:
    """Return the rows of the link from `a` as (time in s, delay in ms, loss ratio). The link from r0 is the downlink,
    and the link from r1 is the uplink."""
    return [
        (row["t_ns"] / S, row["delay_ns"] / MS, row["loss_ratio"])
        for row in timeline_of(resolved).to_pylist()
        if row["event"] == "channel" and row["a"] == a
    ]


def test_rows_become_tables_of_both_directions(tmp_path: Path) -> None:
    resolved = measured(tmp_path, "t_s,delay_ms,rate_mbps,loss_ratio\n0,20,100,0\n2.5,21.25,100,0.01\n")
    assert events(resolved, "capacity") == [
        (0, "capacity", "r0", "r1", 100_000_000),
        (0, "capacity", "r1", "r0", 100_000_000),
    ]
    assert channel(resolved) == channel(resolved, "r1") == [(0, 20, 0), (2.5, 21.25, 0.01)]
    assert events(resolved, "delay", "rate", "loss") == []
    assert describe(timeline_of(resolved))["nodes"] == {"host": 2, "router": 2}
    assert replayed(timeline_of(resolved), 0).walk("host:A", "host:B") == ["host:A", "r0", "r1", "host:B"]


def test_directions_may_differ_column_by_column(tmp_path: Path) -> None:
    resolved = measured(tmp_path, "delay_up_ms, t_s ,rate_up_mbps,delay_ms\n30,0,unshaped,20\n30,1,5.5,21\n")
    assert events(resolved, "capacity") == [
        (0, "capacity", "r0", "r1", None),
        (0, "capacity", "r1", "r0", None),
        (1 * S, "capacity", "r1", "r0", 5_500_000),
    ]
    assert (channel(resolved), channel(resolved, "r1")) == ([(0, 20, 0), (1, 21, 0)], [(0, 30, 0)])


def test_no_connection_is_a_loss_of_every_packet(tmp_path: Path) -> None:
    resolved = measured(tmp_path, "t_s,delay_ms,rate_mbps\n0,20,10\n3,down,\n4,down,\n5,25,10\n")
    assert channel(resolved) == channel(resolved, "r1") == [(0, 20, 0), (3, 20, 1), (5, 25, 0)]
    assert [row[0] for row in events(resolved, "capacity")] == [0, 0]
    assert events(resolved, "link") == [(0, "link", "r0", "r1", True)]


def test_start_is_a_time_of_the_table(tmp_path: Path) -> None:
    text = "t_s,delay_ms,rate_mbps\n0,10,1\n10,20,2\n15,30,2\n40,40,3\n"
    resolved = measured(tmp_path, text, start_s=12, duration_s=20)
    assert channel(resolved) == [(0, 20, 0), (3, 30, 0)]
    assert [row[4] for row in events(resolved, "capacity")] == [2_000_000, 2_000_000]


def test_a_table_that_ends_early_is_held_with_a_warning(tmp_path: Path) -> None:
    text = "t_s,delay_ms\n0,10\n1,20\n"
    assert warnings_of(timeline_of(measured(tmp_path, text, duration_s=2))) == []
    (warning,) = warnings_of(timeline_of(measured(tmp_path, text, duration_s=10)))
    assert "ends at 1 s and its last row is held for 9 s" in warning


def test_netem_is_told_each_change(tmp_path: Path) -> None:
    text = "t_s,delay_ms,rate_mbps,loss_ratio\n0,20,100,0\n2.5,21.25,100,0.01\n3,down,,\n"
    resolved = measured(tmp_path, text, link_model="netem")
    assert events(resolved, "rate") == [(0, "rate", "r0", "r1", 100_000_000), (0, "rate", "r1", "r0", 100_000_000)]
    assert events(resolved, "delay")[::2] == [
        (0, "delay", "r0", "r1", 20 * MS),
        (2_500 * MS, "delay", "r0", "r1", 21_250_000),
    ]
    assert events(resolved, "loss")[::2] == [(2_500 * MS, "loss", "r0", "r1", 0.01), (3 * S, "loss", "r0", "r1", 1.0)]
    assert events(resolved, "capacity") == channel(resolved) == []
    with pytest.raises(ScenarioError, match=r"capacity is 0 at 1 s") as raised:
        timeline_of(measured(tmp_path, "t_s,delay_ms,rate_mbps\n0,1,1\n1,1,0\n", link_model="netem"))
    assert "leolink" in str(raised.value.hint)


def test_netem_gets_room_for_the_longest_delay_at_the_highest_rate(tmp_path: Path) -> None:
    resolved = measured(tmp_path, "t_s,delay_ms,rate_mbps\n0,50,10\n1,20,100\n", link_model="netem")
    (link,) = [row for row in timeline_of(resolved).to_pylist() if row["event"] == "link" and row["kind"] != "wire"]
    assert link["limit_pkts"] == 500 + -(-50 * MS * 100_000_000 // (8 * 1514 * S))


def test_delays_are_rounded_up_when_asked(tmp_path: Path) -> None:
    resolved = measured(tmp_path, "t_s,delay_ms\n0,20.000001\n", delay_rounding="ceil-ms")
    assert channel(resolved) == channel(resolved, "r1") == [(0, 21, 0)]


def pings(rtts_ms: Sequence[float | None], *, every_ms: int = 100, without: tuple[int, ...] = ()) -> str:
    """Return the output of ping -D. A None in `rtts_ms` is a lost probe. The lines at the indexes in `without` are left
    out. No sequence number is used for a line that is left out."""
    text, seq = "", 0
    for place, rtt_ms in enumerate(rtts_ms):
        if place in without:
            continue
        seq += 1
        if rtt_ms is not None:
            printed_s = 1_715_947_200 + place * every_ms / 1e3 + rtt_ms / 1e3
            text += f"[{printed_s:.6f}] 64 bytes from 192.0.2.1: icmp_seq={seq} ttl=54 time={rtt_ms} ms\n"
    return text


def test_round_trips_are_shared_out(tmp_path: Path) -> None:
    text = pings([30.001, 40, 31])
    shares = {"halves": (15.0005, 15.0005), "down": (30.001, 0), "up": (0, 30.001)}
    for rtt, first in shares.items():
        resolved = measured(tmp_path, text, duration_s=0.3, keys={"rtt": rtt})
        assert (channel(resolved)[0][1], channel(resolved, "r1")[0][1]) == first
    (link,) = [row for row in timeline_of(resolved).to_pylist() if row["event"] == "link" and row["kind"] != "wire"]
    assert link["probe_bytes"] == 64 + 20 + 14


def test_the_second_half_of_a_round_trip_is_where_its_reply_passes(tmp_path: Path) -> None:
    sent, answered = [(0, 15, 0), (0.05, 20, 0)], [(0, 15, 0), (0.07, 20, 0)]
    for ends, rtt_from, first in (("AB", "auto", "r0"), ("BA", "auto", "r1"), ("AB", "B", "r1"), ("BA", "A", "r0")):
        resolved = measured(tmp_path, pings([30, 40]), duration_s=0.2, keys={"rtt_from": rtt_from})
        flow = dataclasses.replace(resolved.flows[0], kind="ping", replies=True, source=ends[0], destination=ends[1])
        resolved = dataclasses.replace(resolved, flows=(flow,))
        assert (channel(resolved, first), channel(resolved, "r1" if first == "r0" else "r0")) == (sent, answered)
        other = [f"begin at {rtt_from}, and {ends[0]} to {ends[1]}, ping (flow 0) meets", f'rtt_from = "{ends[0]}"']
        warnings = warnings_of(timeline_of(resolved))
        assert [all(part in warning for part in other) for warning in warnings] == [True] * (
            rtt_from not in ("auto", ends[0])
        )


def test_every_packet_is_lost_that_passes_nearest_to_a_lost_probe_on_the_way_that_is_said(tmp_path: Path) -> None:
    text = pings([30, 32, None, None, 34])
    at = {
        way: measured(tmp_path, text, duration_s=0.5, keys={"lost_probes": way})
        for way in ("down", "up", "both", "none")
    }
    # Each row of the channel is valid from the middle between the previous probe and the row's own probe. A probe that
    # A sends is answered at B 15, 16 or 17 ms later.
    down = [(0, 15, 0), (0.05, 16, 0), (0.35, 17, 0)]
    up = [(0, 15, 0), (0.066, 16, 0), (0.367, 17, 0)]
    lossy_down = [*down[:2], (0.15, 16, 1), down[2]]
    lossy_up = [*up[:2], (0.166, 16, 1), up[2]]
    assert {way: (channel(resolved), channel(resolved, "r1")) for way, resolved in at.items()} == {
        "down": (lossy_down, up),
        "up": (down, lossy_up),
        "both": (lossy_down, lossy_up),
        "none": (down, up),
    }


def irtt(*trips: tuple[int, str, int | None, int | None]) -> str:
    """Return JSON of irtt with a round trip every 100 ms. Each trip is a tuple of rtt, lost, up and down. The times are
    in us."""
    listed = []
    for number, (rtt_us, lost, up_us, down_us) in enumerate(trips):
        delay = {"rtt": rtt_us, "send": up_us, "receive": down_us} if lost == "false" else {}
        listed.append(
            {
                "lost": lost,
                "delay": {key: value * 1_000 for key, value in delay.items() if value is not None},
                "timestamps": {"client": {"send": {"monotonic": number * 100 * MS}}},
            }
        )
    return json.dumps({"round_trips": listed})


def test_irtt_says_which_way_a_probe_was_lost_and_what_each_way_took(tmp_path: Path) -> None:
    text = irtt((30_000, "false", 10_000, 20_000), (0, "true_up", None, None), (0, "true_down", None, None),
                (0, "true", None, None), (33_000, "false", 11_000, 22_000))  # fmt: skip
    resolved = measured(tmp_path, text, duration_s=0.5, keys={"rtt": "one-way", "lost_probes": "up"})
    # In the file the client is B, so the downlink starts with the replies, 10 or 11 ms after the requests.
    assert channel(resolved) == [(0, 20, 0), (0.16, 20, 1), (0.26, 20, 0), (0.361, 22, 0)]
    assert channel(resolved, "r1") == [(0, 10, 0), (0.05, 10, 1), (0.15, 10, 0), (0.25, 10, 1), (0.35, 11, 0)]
    assert channel(measured(tmp_path, text, duration_s=0.5, keys={"lost_probes": "none"})) == [
        (0, 15, 0),
        (0.35, 16.5, 0),
    ]


def test_clocks_that_disagree_are_no_one_way_delays(tmp_path: Path) -> None:
    text = irtt((30_000, "false", -2_000, 32_000), (30_000, "false", -2_000, 32_000))
    with pytest.raises(ScenarioError, match=r"way up at 0 s is -2 ms: the two clocks disagree") as raised:
        timeline_of(measured(tmp_path, text, duration_s=0.2, keys={"rtt": "one-way"}))
    assert 'rtt = "halves"' in str(raised.value.hint)


def test_a_path_on_which_every_probe_was_lost_has_no_delay(tmp_path: Path) -> None:
    text = irtt((0, "true", None, None), (0, "true", None, None))
    with pytest.raises(ScenarioError, match="every probe was lost"):
        timeline_of(measured(tmp_path, text, duration_s=0.2))


def gap(folder: Path, **keys: Any) -> Plan:
    """Return a plan with a measurement. Its probes are 0.1 s apart until 0.4 s. The next probe is at 2 s. The sequence
    numbers continue after the pause."""
    text = pings([30.0] * 5 + [0.0] * 15 + [40.0] * 3, without=tuple(range(5, 20)))
    return measured(folder, text, duration_s=2.3, keys={"rtt": "down", **keys})


def test_a_gap_is_an_error_that_says_where_and_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"a sample at 0\.4 s, and the next is 1\.6 s later") as raised:
        timeline_of(gap(tmp_path))
    assert 'gaps = "hold", "down" or "linear"' in str(raised.value.hint)
    # A run needs no key `gaps` if it ends before the gap in the samples, or begins after the gap.
    timeline_of(dataclasses.replace(gap(tmp_path), run=Run(duration_ns=400 * MS)))
    timeline_of(dataclasses.replace(gap(tmp_path), run=Run(duration_ns=300 * MS, start_ns=2 * S)))


def test_a_gap_is_held_or_cut_or_bridged(tmp_path: Path) -> None:
    assert (
        channel(gap(tmp_path, gaps="hold")) == channel(gap(tmp_path, gap_after_ns=2 * S)) == [(0, 30, 0), (1.95, 40, 0)]
    )
    assert channel(gap(tmp_path, gaps="down")) == [(0, 30, 0), (0.45, 30, 1), (1.95, 40, 0)]
    resolved = gap(tmp_path, gaps="linear", interpolation_step_ns=400 * MS)
    assert channel(resolved) == [(0, 30, 0), (0.75, 32.5, 0), (1.15, 35, 0), (1.55, 37.5, 0), (1.95, 40, 0)]


def test_probes_that_end_before_the_run_are_a_gap(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"a sample at 0\.2 s, and the run goes on for 4\.8 s"):
        timeline_of(measured(tmp_path, pings([30, 30, 30]), duration_s=5))
    assert channel(measured(tmp_path, pings([30, 30, 32]), duration_s=5, keys={"gaps": "down"}))[-1] == (0.25, 16, 1)


def test_rows_are_made_anew_only_when_asked(tmp_path: Path) -> None:
    text = "t_s,delay_ms,loss_ratio\n0,10,0\n0.05,20,0\n0.1,30,0.5\n0.3,lost,0\n0.35,40,0\n"
    resolved = measured(tmp_path, text, duration_s=0.4, keys={"resample_ns": 100 * MS})
    assert channel(resolved) == [(0, 15, 0), (0.1, 30, 0.5), (0.3, 40, 0.5)]
    resolved = measured(
        tmp_path, "t_s,delay_ms\n0,10\n0.09,20\n", keys={"resample_ns": 100 * MS, "resample_rule": "min"}
    )
    assert channel(resolved) == [(0, 10, 0), (0.1, 20, 0)]
    resolved = measured(tmp_path, "t_s,delay_ms\n0,10\n0.002,12\n", duration_s=1, keys={"interpolation": "linear"})
    assert channel(resolved) == [(0, 10, 0), (0.001, 11, 0), (0.002, 12, 0)]
    resolved = measured(
        tmp_path, pings([20, None, 40, 60]), duration_s=0.4, keys={"resample_ns": 200 * MS, "rtt": "down"}
    )
    assert channel(resolved) == [(0, 20, 0.5), (0.2, 50, 0)]


def test_leoreplayer_and_mahimahi_go_round_and_round(tmp_path: Path) -> None:
    """Check that each file is repeated after its own length. The files of delays cover 30 ms, and the file of sending
    opportunities covers 5 ms."""
    files = {
        "capacity": named(tmp_path, "down.trace", "1\n1\n5\n"),
        "file_up": named(tmp_path, "up.txt", "7\n7\n9\n"),
        "rate_up_bps": 15_000_000,
    }
    resolved = measured(tmp_path, "12\n12\n16\n", duration_s=0.06, keys={**files, "repeat": True})
    assert channel(resolved) == [(0, 12, 0), (0.02, 16, 0), (0.03, 12, 0), (0.05, 16, 0)]
    assert channel(resolved, "r1") == [(0, 7, 0), (0.02, 9, 0), (0.03, 7, 0), (0.05, 9, 0)]
    rates = [(row[0] // MS, row[4]) for row in events(resolved, "capacity") if row[2] == "r0"]
    # An opportunity carries a full packet including its overhead on the link: 1514 bytes in 1 ms.
    assert rates[:6] == [(0, 24_224_000), (1, 0), (4, 12_112_000), (5, 24_224_000), (6, 0), (9, 12_112_000)]
    assert [row[4] for row in events(resolved, "capacity") if row[2] == "r1"] == [15_000_000]
    with pytest.raises(ScenarioError, match=r"down.trace: the trace ends at 0\.005 s, the run at 0\.06 s") as raised:
        timeline_of(measured(tmp_path, "12\n12\n16\n", duration_s=0.06, keys=files))
    assert "repeat = true" in str(raised.value.hint)


def test_a_capacity_of_another_clock_is_put_where_it_was(tmp_path: Path) -> None:
    capacity = named(tmp_path, "rate.csv", "t_s,mbps\n1715947199.5,1\n1715947200.2,2\n")
    resolved = measured(tmp_path, pings([30, 30, 30, 30]), duration_s=0.4, keys={"capacity": capacity})
    assert events(resolved, "capacity")[:1] == [(0, "capacity", "r0", "r1", 1_000_000)]
    assert (200 * MS, "capacity", "r0", "r1", 2_000_000) in events(resolved, "capacity")


def test_what_says_the_same_twice_is_refused(tmp_path: Path) -> None:
    capacity = named(tmp_path, "rate.csv", "t_s,mbps\n0,1\n")
    table = "t_s,delay_ms,rate_mbps\n0,1,1\n"
    wrong: list[tuple[str, dict[str, Any], str]] = [
        (table, {"capacity": capacity}, "it has rate_mbps"),
        (table, {"rate_bps": 1_000_000}, "rate has no effect"),
        (table, {"file_up": capacity}, "missing columns: 'delay_ms'"),
        (pings([30, 30]), {"file_up": capacity}, "file_up has no effect"),
        (pings([30, 30]), {"clock": "2024-05-17T12:00:00Z"}, "clock is given"),
        (pings([30, 30]), {"rtt": "one-way"}, "holds no one-way delays"),
    ]
    for text, keys, message in wrong:
        with pytest.raises(ScenarioError, match=message) as raised:
            timeline_of(measured(tmp_path, text, duration_s=0.2, keys=keys))
        assert raised.value.hint


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 60_000)), min_size=1, max_size=30),
    st.integers(0, 20_000),
    st.integers(1, 30_000),
)
def test_at_any_time_the_tables_say_what_the_trace_says(
    tmp_path: Path, steps: list[tuple[int, int]], start_ms: int, duration_ms: int
) -> None:
    """For each row, `steps` contains a pair: the row's length in ms, and the row's delay in us."""
    t_ms = np.cumsum([0, *(step for step, _ in steps[:-1])])
    delays_us = np.array([delay for _, delay in steps])
    text = "t_s,delay_ms\n" + "".join(f"{t / 1e3},{d / 1e3}\n" for t, d in zip(t_ms, delays_us, strict=True))
    resolved = measured(tmp_path, text, start_s=start_ms / 1e3, duration_s=duration_ms / 1e3)
    rows = channel(resolved)
    begins = np.array([row[0] for row in rows])
    assert begins[0] == 0
    assert (np.diff(begins) > 0).all()
    for at_ms in np.linspace(0, duration_ms - 1, 7).astype(int):
        want_us = delays_us[np.searchsorted(t_ms, start_ms + at_ms, side="right") - 1]
        row = rows[np.searchsorted(np.round(begins * 1e3).astype(int), at_ms, side="right") - 1]
        assert round(row[1] * 1e3) == want_us


HEAD = "t_s,delay_ms,rate_mbps,loss_ratio\n"
MALFORMED = {
    "": r"path\.csv is empty",
    "# only words\n": r"path\.csv is empty",
    HEAD: r"path\.csv:1: the table has a header and no rows",
    "t,delay_ms\n0,1\n": r"path\.csv:1: unknown columns: 't'",
    "t_s,rate_mbps\n0,1\n": r"path\.csv:1: missing columns: 'delay_ms'",
    "t_s,delay_ms,delay_ms\n0,1,1\n": r"path\.csv:1: columns given twice: 'delay_ms'",
    HEAD + "0,1,2\n": r"path\.csv:2: 3 cells under a header of 4 columns",
    HEAD + "0,1,2,0\n\n# a comment\n0,1,2,0\n": r"path\.csv:5: t_s = 0 is not after the 0 of line 2",
    HEAD + "0,1,2,0\n5,1,2,0\n4,1,2,0\n": r"path\.csv:4: t_s = 4 is not after",
    HEAD + "0,,2,0\n": r"path\.csv:2: delay_ms = '': a gap is written as `down`",
    HEAD + "0,1,,0\n": r"path\.csv:2: rate_mbps = ''",
    HEAD + "0,down,2,\n": r"path\.csv:2: rate_mbps = '2': a row that is down has no other values",
    HEAD + "0,fast,2,0\n": r"path\.csv:2: delay_ms = 'fast': not a number",
    HEAD + "0,nan,2,0\n": "not a number",
    HEAD + "0,-1,2,0\n": r"delay_ms = '-1': must be from 0 to 60000",
    HEAD + "0,1,2,1.5\n": r"loss_ratio = '1\.5': must be from 0 to 1",
    HEAD + "-1,1,2,0\n": r"t_s = '-1': must be from 0",
    HEAD + "1e9999999999,1,2,0\n": r"t_s = '1e9999999999': must be from 0",
    HEAD + "5,1,2,0\n": r"path\.csv: it begins at 5 s, the run at 0 s",
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.items(), ids=range(len(MALFORMED)))
def test_malformed_tables_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        timeline_of(measured(tmp_path, text))
    assert raised.value.hint


cells = st.sampled_from(["0", "1", "2.5", "-1", "", "down", "unshaped", "nan", "1e9999999999", "x", '"', "0.1", "1e-3"])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
@given(st.lists(st.lists(cells, min_size=1, max_size=5), max_size=4), st.booleans())
def test_any_table_is_read_or_refused(tmp_path: Path, rows: list[list[str]], with_header: bool) -> None:
    text = (HEAD if with_header else "") + "\n".join(",".join(row) for row in rows)
    try:
        timeline_of(measured(tmp_path, text, keys={"format": "csv"}))
    except ScenarioError:
        return
    assert with_header
