# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest

from leowarp.errors import ScenarioError
from leowarp.timeline.measured import describe, read
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
