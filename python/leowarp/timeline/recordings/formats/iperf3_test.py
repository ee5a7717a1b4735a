# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Measurement, describe, read
from support.synthetic.dish import MS, S


def interval(number: int, bps: float, **more: float) -> dict[str, Any]:
    ends = {"start": number / 10, "end": (number + 1) / 10, "seconds": 0.1}
    return {"streams": [{"socket": 5, **ends, "bits_per_second": bps, **more}], "sum": {**ends, "bits_per_second": bps}}


def text(*intervals: dict[str, Any], reverse: int = 0, **more: Any) -> str:
    start = {"test_start": {"protocol": "TCP", "reverse": reverse}, "timestamp": {"timesecs": 1_695_283_200}}
    return json.dumps({"start": {**start, **more}, "intervals": list(intervals), "end": {}})


def written(folder: Path, content: str) -> Path:
    path = folder / "transfer.json"
    path.write_text(content)
    return path


def test_what_the_sender_saw_is_read(tmp_path: Path) -> None:
    rows = [interval(n, 1e6 * n, retransmits=n, snd_cwnd=1000 * n, rtt=30_000 + n) for n in range(4)]
    of = read(written(tmp_path, text(*rows)))
    assert of.round_trip is not None
    assert of.transfer is not None
    assert (of.format, of.transfer.way, of.wall_ns) == ("iperf3", "up", 1_695_283_200 * S)
    assert of.round_trip.t_ns.tolist() == [100 * MS, 200 * MS, 300 * MS, 400 * MS]
    assert of.round_trip.delay_ns.tolist() == [30_000_000, 30_001_000, 30_002_000, 30_003_000]
    found = describe(of).transfer
    assert found is not None
    assert (found.mean_bps, found.retransmissions, found.median_cwnd_bytes) == (1.5e6, 6, 1500)
    assert found.zero_ns == 100 * MS


def test_a_reversed_transfer_is_down_and_tells_throughput_alone(tmp_path: Path) -> None:
    of = read(written(tmp_path, text(interval(0, 5e6), interval(1, 7e6), reverse=1)))
    assert of.round_trip is None
    found = describe(of)
    assert (found.series, found.samples) == ("none", 0)
    assert found.transfer is not None
    assert (found.transfer.way, found.transfer.mean_bps, found.transfer.retransmissions) == ("down", 6e6, None)


def test_streams_add_up(tmp_path: Path) -> None:
    one = interval(0, 5e6, rtt=20_000, snd_cwnd=10, retransmits=1)
    one["streams"].append({**one["streams"][0], "rtt": 40_000})
    one["sum"]["bits_per_second"] = 1e7
    of = read(written(tmp_path, text(one))).transfer
    assert of is not None
    assert [values[0] for values in (of.rate_bps, of.rtt_ns, of.cwnd_bytes, of.retransmissions)] == [1e7, 3e7, 20, 2]


WRONG = {
    '{"intervals": 3}': "JSON without intervals",
    '{"intervals": []}': "intervals is empty",
    '{"intervals": [], "error": "unable to connect"}': "iperf3 measured nothing and says: unable to connect",
    '{"intervals": [\n{]}': r"transfer.json:2: not JSON",
    '{"intervals": [\n{"streams": [': r"transfer.json:2: the JSON ends in the middle: the file was cut short",
    '{"intervals": [3]}': r"intervals\[0\]: no streams",
    '{"intervals": [{"streams": [4]}]}': r"intervals\[0\]",
    text(interval(0, -1)): r"intervals\[0\].streams\[0\].bits_per_second = -1",
    text(interval(0, 1e30)): r"bits_per_second = 1e\+30 is not a number from 0",
    text(interval(1, 1), interval(0, 1)): r"intervals\[1\].sum: from 0 s to 0.1 s",
    text(interval(0, 1, rtt=True)): r"rtt = True",
    text(
        interval(0, 1), {**interval(1, 1), "sum": {"start": 0.05, "end": 0.15, "bits_per_second": 1}}
    ): r"intervals\[1\].sum: from 0.05 s to 0.15 s",
    text(interval(0, 1), test_start={"protocol": "UDP"}): "only TCP's",
    '{"intervals": ' + "[" * 100_000: "nested too deeply|not JSON",
}


@pytest.mark.parametrize(("content", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_files_are_refused_with_the_place(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        read(written(tmp_path, content), "iperf3")
    assert raised.value.hint


@pytest.mark.parametrize("content", ["{}", "[1, 2]", '{"start": {}}'])
def test_json_of_nobody_names_the_two_that_can_be_read(tmp_path: Path, content: str) -> None:
    with pytest.raises(ScenarioError, match="neither iperf3's intervals nor irtt's round_trips") as raised:
        read(written(tmp_path, content))
    assert "irtt client" in str(raised.value.hint)
    assert "iperf3 -J" in str(raised.value.hint)


def sent(number: float, mbps: float, *, sender: bool = True, length_s: float = 1.0, **more: Any) -> dict[str, Any]:
    """Return one stream of an interval, in the form that iperf 3.16 writes."""
    of_sender = {"retransmits": 3, "snd_cwnd": 800_000, "rtt": 34_000} if sender else {}
    return {
        "socket": 5, "start": number, "end": number + length_s, "seconds": length_s,
        "bytes": round(mbps * length_s * 125_000), "bits_per_second": mbps * 1e6, **of_sender, "omitted": False,
        "sender": sender, **more,
    }  # fmt: skip


def summed(*streams: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an interval of iperf3's JSON with the given streams and their sum."""
    first = streams[0]
    whole = {
        **first, "bytes": sum(one["bytes"] for one in streams),
        "bits_per_second": sum(one["bits_per_second"] for one in streams), **more,
    }  # fmt: skip
    return {"streams": list(streams), "sum": whole}


def both(number: int) -> dict[str, Any]:
    up, down = sent(number, 20), sent(number, 180, sender=False)
    return {"streams": [up, down], "sum": dict(up), "sum_bidir_reverse": dict(down)}


def start_of(**keys: Any) -> dict[str, Any]:
    return {"test_start": {"protocol": "TCP", "reverse": 0, **keys}}


@pytest.mark.parametrize("of_39", [False, True])
@pytest.mark.parametrize("server", [False, True])
def test_both_directions_are_two_transfers(tmp_path: Path, of_39: bool, server: bool) -> None:
    start = start_of() if of_39 else start_of(bidir=1)
    if server:
        start |= {"accepted_connection": {"host": "192.0.2.1"}}
    content = text(*(both(n) for n in range(10)), **start)
    if of_39:  # For both directions, iperf 3.9 writes an object with two keys named "sum".
        content = content.replace('"sum_bidir_reverse"', '"sum"')
    of = read(written(tmp_path, content))
    assert of.transfer is not None
    assert of.transfer_back is not None
    assert (of.transfer.way, of.transfer_back.way) == ("up", "down")
    means = [float(one.rate_bps.mean()) for one in (of.transfer, of.transfer_back)]
    assert means == ([180e6, 20e6] if server else [20e6, 180e6])
    found = describe(of)
    assert found.transfer is not None
    assert found.transfer_back is not None
    assert (found.transfer.retransmissions, found.transfer_back.retransmissions) == (
        (None, 30) if server else (30, None)
    )
    assert of.round_trip is not None


def test_both_directions_that_nobody_tells_apart_are_refused(tmp_path: Path) -> None:
    one = both(0)
    for stream in one["streams"]:
        del stream["sender"]
    with pytest.raises(ScenarioError, match="do not say which is which") as raised:
        read(written(tmp_path, text(one, **start_of(bidir=1))))
    assert "-R" in str(raised.value.hint)


def test_omitted_intervals_are_left_out_and_counted(tmp_path: Path) -> None:
    omitted = [summed(sent(n, 4, omitted=True)) for n in range(2)]
    of = read(written(tmp_path, text(*omitted, *(summed(sent(n, 40)) for n in range(5)), **start_of(omit=2))))
    assert of.transfer is not None
    assert of.transfer.rate_bps.tolist() == [40e6] * 5
    assert of.wall_ns == (1_695_283_200 + 2) * S
    assert [(skip.count, skip.first) for skip in of.skipped] == [(2, "intervals[0]")]


@pytest.mark.parametrize("rate", [0, None, "nan"])
@pytest.mark.parametrize("streams", [True, False])
def test_a_last_interval_of_no_length_is_left_out(tmp_path: Path, rate: float | None, streams: bool) -> None:
    last = summed(sent(10, 0, length_s=0.0))
    last["sum"]["bits_per_second"] = last["streams"][0]["bits_per_second"] = rate
    last["streams"] = last["streams"] if streams else []
    content = text(*(summed(sent(n, 40)) for n in range(10)), last).replace('"nan"', "-nan")
    of = read(written(tmp_path, content))
    assert of.transfer is not None
    assert of.transfer.rate_bps.tolist() == [40e6] * 10
    assert sum(skip.count for skip in of.skipped) == 1


def test_quantiles_are_over_time(tmp_path: Path) -> None:
    last = sent(10, 43_710, length_s=12e-6)
    found = describe(read(written(tmp_path, text(*(summed(sent(n, 40)) for n in range(10)), summed(last))))).transfer
    assert found is not None
    assert (found.quantiles_bps[0.95], found.quantiles_bps[0.5]) == (40e6, 40e6)


def test_documents_that_are_the_same_are_read_once_and_others_refused(tmp_path: Path) -> None:
    one, two = (text(*(summed(sent(n, mbps)) for n in range(3))) for mbps in (40, 30))
    of = read(written(tmp_path, f"{one}\n{one}\n"))
    assert any("2 times, read once" in note for note in of.notes)
    with pytest.raises(ScenarioError, match="json:2: 2 JSON documents in one file") as raised:
        read(written(tmp_path, f"{one}\n{two}\n"))
    assert "head -n 1" in str(raised.value.hint)
    with pytest.raises(ScenarioError, match="2 JSON documents in one file") as raised:
        read(written(tmp_path, one + two))
    assert "jq" in str(raised.value.hint)
    failed = json.dumps({"start": {}, "intervals": [], "end": {}, "error": "the server is busy"})
    assert any("nothing was measured" in note for note in read(written(tmp_path, f"{failed}\n{one}")).notes)


def test_a_list_of_documents_is_what_is_in_it(tmp_path: Path) -> None:
    one, two = (text(*(summed(sent(n, mbps)) for n in range(3))) for mbps in (40, 30))
    found = read(written(tmp_path, f"[{one}]")).transfer
    assert found is not None
    assert found.rate_bps.tolist() == [40e6] * 3
    with pytest.raises(ScenarioError, match="2 JSON documents in one file") as raised:
        read(written(tmp_path, f'[{one}, "done", {two}]'))
    assert "jq '.[0]'" in str(raised.value.hint)
    assert "jq '.[2]'" in str(raised.value.hint)


def test_text_around_the_document_is_counted(tmp_path: Path) -> None:
    one = text(*(summed(sent(n, 40)) for n in range(3)))
    of = read(written(tmp_path, f"warning: no route cache\n{one}\niperf3: interrupt\n"))
    assert sum(skip.count for skip in of.skipped) == 2


def stream_of_events(count: int) -> list[str]:
    start = {"event": "start", "data": {"test_start": {"protocol": "TCP"}, "timestamp": {"timesecs": 1_695_283_200}}}
    rows = [{"event": "interval", "data": summed(sent(n, 40 + n))} for n in range(count)]
    return [json.dumps(row) for row in (start, *rows, {"event": "end", "data": {}})]


def test_a_stream_of_events_is_read(tmp_path: Path) -> None:
    lines = stream_of_events(5)
    of = read(written(tmp_path, "\n".join(lines)))
    assert of.transfer is not None
    assert (of.transfer.rate_bps.tolist(), of.wall_ns) == ([40e6, 41e6, 42e6, 43e6, 44e6], 1_695_283_200 * S)
    with pytest.raises(ScenarioError, match="two streams of events"):
        read(written(tmp_path, "\n".join(lines * 2)))
    lines[3] = lines[3][:50]
    cut = read(written(tmp_path, "\n".join(lines[:-1])))
    assert cut.transfer is not None
    assert len(cut.transfer.rate_bps) == 4
    assert any("no end" in note for note in cut.notes)
    assert any("1 gaps between intervals, 1 s" in note for note in cut.notes)
    assert sum(skip.count for skip in cut.skipped) == 1


def test_what_iperf3_says_of_its_end_is_said(tmp_path: Path) -> None:
    content = text(*(summed(sent(n, 40)) for n in range(6)), **start_of(duration=10))
    notes = read(written(tmp_path, content[:-1] + ', "error": "control socket has closed unexpectedly"}')).notes
    assert any("control socket has closed" in note for note in notes)
    assert any("was to take 10 s" in note for note in notes)


@pytest.mark.parametrize("name", ["bytes", "bits_per_second", "end"])
@pytest.mark.parametrize("of", ["streams", "sum"])
def test_a_damaged_number_is_found(tmp_path: Path, name: str, of: str) -> None:
    rows = [summed(sent(n, 40), sent(n, 40, retransmits=1)) for n in range(6)]
    damaged = rows[3]["sum"] if of == "sum" else rows[3]["streams"][0]
    damaged[name] = damaged[name] * 10 if name != "end" else 3.1
    try:
        found = read(written(tmp_path, text(*rows)))
    except ScenarioError:
        return
    assert found.transfer is not None
    # If the sum's bytes match the streams, the sum's rate and end are not read. A damaged rate or end therefore has no
    # effect.
    if of == "streams" or name == "bytes":
        assert (len(found.transfer.rate_bps), sum(skip.count for skip in found.skipped)) == (5, 1)


def test_totals_show_intervals_that_are_missing(tmp_path: Path) -> None:
    content = text(*(summed(sent(n, 40)) for n in (0, 1, 2, 4))).replace(
        '"end": {}}', '"end": {"sum_sent": {"bytes": 25000000}}}'
    )
    assert any("end.sum_sent says 25000000 bytes" in note for note in read(written(tmp_path, content)).notes)


def _whole(number: int) -> dict[str, Any]:
    """Return an interval of two streams, with all the sums that iperf3 writes."""
    ends = {"start": float(number), "end": number + 1.0, "seconds": 1.0, "omitted": False}
    streams = [
        {"socket": socket, **ends, "bytes": bytes_, "bits_per_second": 8.0 * bytes_}
        for socket, bytes_ in ((5, 4_000_000 + 1000 * number), (7, 1_000_000))
    ]
    bytes_ = sum(stream["bytes"] for stream in streams)
    return {"streams": streams, "sum": {**ends, "bytes": bytes_, "bits_per_second": 8.0 * bytes_}}


def _read_whole(folder: Path, rows: list[Any], sent: int = 10) -> Measurement:
    document = json.loads(text(*rows))
    bytes_ = sum(_whole(n)["sum"]["bytes"] for n in range(sent))
    document["end"] = {"sum_sent": {"start": 0, "end": float(sent), "seconds": float(sent), "bytes": bytes_}}
    return read(written(folder, json.dumps(document)))


many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
changes = st.lists(st.tuples(st.sampled_from(["cut", "double", "swap", "drop"]), st.integers(0, 9)), max_size=4)


@many
@given(changes)
def test_every_interval_counts_or_is_skipped_or_the_file_refused(
    tmp_path: Path, changes: list[tuple[str, int]]
) -> None:
    rows: list[Any] = [_whole(n) for n in range(10)]
    for kind, place in changes:
        place = min(place, len(rows) - 1)
        match kind:
            case "cut":
                rows[place] = {"streams": [], "sum": rows[place].get("sum")}
            case "double":
                rows.insert(place, rows[place])
            case "swap":
                rows[place], rows[place - 1] = rows[place - 1], rows[place]
            case "drop":
                del rows[place]
    try:
        found = _read_whole(tmp_path, rows)
    except ScenarioError:
        return
    assert found.transfer is not None
    counted = len(found.transfer.length_ns)
    assert counted + sum(skip.count for skip in found.skipped) == len(rows)
    # The sum at the end of the file reveals that an interval is missing.
    assert counted == 10 or any("sum_sent" in note for note in found.notes)


valued = [(part, key) for part in (0, 1, "sum") for key in ("bytes", "bits_per_second", "end")]


@many
@given(st.integers(0, 9), st.sampled_from(valued), st.sampled_from([0.1, 0.9, 1.1, 10.0]))
def test_a_value_that_was_damaged_is_found_by_the_sums(
    tmp_path: Path, number: int, value: tuple[int | str, str], factor: float
) -> None:
    rows, (part, key) = [_whole(n) for n in range(10)], value
    damaged = rows[number]["sum"] if part == "sum" else rows[number]["streams"][part]
    damaged[key] *= factor
    try:
        found = _read_whole(tmp_path, rows)
    except ScenarioError:
        return
    assert found.skipped or len(found.notes) > len(_read_whole(tmp_path, [_whole(n) for n in range(10)]).notes)
