# SPDX-License-Identifier: Apache-2.0
"""Tests the conversion of iperf3 -J's output to a row of the table `measures`."""

import json

import pytest

from leowarp.base.errors import TraceError
from leowarp.trace.measures import read_measures

S = 10**9
END = {"start_realtime_ns": 1000 * S, "virtual_ns": 20 * S}
START = {"connected": [], "version": "iperf 3.12", "timestamp": {"timesecs": 1002}, "test_start": {"protocol": "TCP"}}
TCP = {
    "sum_sent": {"bytes": 1200, "bits_per_second": 12e6, "retransmits": 3},
    "sum_received": {"bytes": 1000, "bits_per_second": 10e6},
}
UDP = TCP | {"sum": {"jitter_ms": 0.25, "lost_packets": 4, "packets": 90}}


def row_of(folder, said):
    """Read the standard output `said` of a client. Return the only row of the table `measures`, or None if there is no
    table."""
    client = folder / "programs" / "1" / "client"
    client.mkdir(parents=True)
    (client / "stdout").write_text(said if isinstance(said, str) else json.dumps(said, indent="\t"))
    table = read_measures(folder, END)
    if table is None:
        return None
    (row,) = table.to_pylist()
    return row | {"other": json.loads(row["other"])}


def test_a_test_is_a_row_with_what_iperf3_says(tmp_path):
    row = row_of(tmp_path, {"start": START, "intervals": [], "end": UDP})
    assert (row["flow"], row["role"], row["kind"], row["start_ns"], row["end_ns"]) == (1, 0, "iperf3", 2 * S, None)
    assert row["other"] == {
        "protocol": "TCP", "sent_bytes": 1200, "received_bytes": 1000, "sent_bps": 12e6, "received_bps": 10e6,
        "retransmits": 3, "jitter_ms": 0.25, "lost_packets": 4, "packets": 90,
    }  # fmt: skip


def test_what_a_protocol_does_not_have_is_left_out(tmp_path):
    row = row_of(tmp_path, {"start": START, "end": TCP})
    assert not {"jitter_ms", "lost_packets", "packets"} & row["other"].keys()


@pytest.mark.parametrize("said", ["", "5 connected", '{"start": {"version": "of another program"}}', '{"end": {}}'])
def test_other_programs_outputs_are_left_alone(tmp_path, said):
    assert row_of(tmp_path, said) is None


def test_an_output_that_was_cut_is_said(tmp_path):
    whole = json.dumps({"start": START, "intervals": [], "end": TCP})
    row = row_of(tmp_path, whole[:-30])
    assert row["other"]["unreadable"].startswith("it is no JSON")
    assert row["start_ns"] == 2 * S


def test_a_test_that_failed_is_said_in_iperf3s_words(tmp_path):
    row = row_of(tmp_path, {"start": START, "end": {}, "error": "the server has terminated"})
    assert row["other"]["unreadable"] == "the server has terminated"


def test_one_that_was_cut_before_it_says_when_it_began_is_an_error(tmp_path):
    with pytest.raises(TraceError, match="ends before it says when the test began"):
        row_of(tmp_path, '{"start": {"version": "iperf 3.12", "timest')
