# SPDX-License-Identifier: Apache-2.0
"""Tests the acknowledgements of synthetic flows. Their ratios can be computed by hand."""

import json

import pyarrow as pa
import pytest

from leowarp.metrics import ack_waits, tables_of
from leowarp.metrics.per_flow.acknowledgements import acknowledgement_scalars
from leowarp.scalars import names
from leowarp.scalars.of_flows import ACKNOWLEDGEMENTS
from leowarp.trace import TABLES

MS = 1_000_000
COUNTERS = {"TcpExt.TCPTimeouts": 5, "TcpExt.TCPSlowStartRetrans": 7, "TcpExt.TCPSynRetrans": 1}


def table(name: str, metadata: dict | None = None, **columns: list) -> pa.Table:
    """Return a trace table with these columns. All other columns are null or 0."""
    schema = TABLES[name].arrow()
    rows = len(next(iter(columns.values())))
    empty = {field.name: [None if field.nullable else 0] * rows for field in schema}
    texts = {key: json.dumps(value) for key, value in (metadata or {}).items()}
    return pa.Table.from_pydict(empty | columns, schema=schema).replace_schema_metadata(texts)


def trace() -> dict[str, pa.Table]:
    """Return a trace in which flow 0 has 20 ACKs. Ten ACKs answer two segments each after 2 ms, and three ACKs answer
    one segment each after 40 ms. Five more ACKs answer one segment each without delay. Two ACKs answer no segment."""
    names = list(COUNTERS)
    return {
        "acks": table(
            "acks", flow=[0] * 4, segments_pkts=[0, 1, 1, 2], wait_ns=[None, 0, 40 * MS, 2 * MS],
            acks_pkts=[2, 5, 3, 10],
        ),
        "flows": table("flows", flow=[0], duplicate_acks_pkts=[14]),
        "bins": table(
            "bins", t_ns=[0, 0, 50 * MS], flow=[0, 0, 0], direction=[0, 1, 0], sent_pkts=[30, 20, 13],
            retrans_pkts=[4, 0, 6], spurious_pkts=[1, 0, 2],
        ),
        "reordering": table("reordering", flow=[0, 0], scope=[0, 1], t_ns=[0, 0], sent_pkts=[30, 17]),
        "counters": table(
            "counters", {"hosts": ["host:A", "host:B"]}, t_ns=[0] * 6, host=[0] * 6, counter=[*names, *names],
            value=[0, 0, 0, *COUNTERS.values()],
        ),
    }  # fmt: skip


def test_what_a_flow_s_acknowledgements_come_to():
    found = acknowledgement_scalars(tables_of(trace()), 0, "A", is_only_sender=True)
    assert tuple(found) == names(ACKNOWLEDGEMENTS)
    assert found["acks_per_segment_ratio"] == 20 / (5 + 3 + 2 * 10)
    assert (found["ack_wait_p50_ns"], found["ack_wait_p90_ns"], found["ack_wait_max_ns"]) == (2 * MS, 40 * MS, 40 * MS)
    assert found["ack_waits_long_ratio"] == pytest.approx(3 / 18)
    # 30 segments were sent for the first time, and 10 were retransmitted; all other packets in the bins had no payload.
    assert found["duplicate_acks_pkts"] == 14
    assert found["duplicate_acks_ratio"] == 14 / 40
    assert found["spurious_retransmissions_ratio"] == 3 / 40
    # One of the five timeouts retransmitted a SYN. Each of the other four timeouts sent one packet, and seven packets
    # followed in slow start.
    assert (found["timeouts"], found["timeout_retransmissions_pkts"]) == (5, 4 + 7)
    assert found["timeout_retransmissions_ratio"] == 11 / 40


def test_waits_are_of_acks_that_answer_something():
    waits = ack_waits(tables_of(trace()), 0)
    assert waits.to_dict("list") == {
        "segments_pkts": [1, 1, 2], "wait_ns": [0, 40 * MS, 2 * MS], "acks_pkts": [5, 3, 10]
    }  # fmt: skip
    assert len(ack_waits(tables_of({}), 0)) == 0


def test_a_host_s_timeouts_are_no_one_s_if_two_flows_start_there():
    found = acknowledgement_scalars(tables_of(trace()), 0, "A", is_only_sender=False)
    assert found["timeouts"] is found["timeout_retransmissions_pkts"] is found["timeout_retransmissions_ratio"] is None
    assert found["duplicate_acks_ratio"] == 14 / 40


@pytest.mark.parametrize(
    ("without", "lost"),
    [
        ("acks", {"acks_per_segment_ratio", "ack_wait_p50_ns", "ack_wait_p90_ns", "ack_wait_p99_ns", "ack_wait_max_ns",
                  "ack_waits_long_ratio"}),
        ("flows", {"duplicate_acks_pkts", "duplicate_acks_ratio"}),
        ("bins", {"duplicate_acks_ratio", "spurious_retransmissions_ratio", "timeout_retransmissions_ratio"}),
        ("counters", {"timeouts", "timeout_retransmissions_pkts", "timeout_retransmissions_ratio"}),
    ],
)  # fmt: skip
def test_what_was_not_recorded_is_not_known(without, lost):
    rest = {name: one for name, one in trace().items() if name != without}
    found = acknowledgement_scalars(tables_of(rest), 0, "A", is_only_sender=True)
    assert {name for name, value in found.items() if value is None} == lost


def test_a_flow_that_sent_nothing_has_no_ratios():
    nothing = {name: one.slice(0, 0) for name, one in trace().items()}
    found = acknowledgement_scalars(tables_of(nothing), 0, "A", is_only_sender=True)
    assert set(found.values()) == {None}
