# SPDX-License-Identifier: Apache-2.0
"""Tests that a summary or table is rejected if it is not from the plan's run. The content of the manifest must not
matter."""

import json

import pyarrow as pa
import pytest

from leowarp.base.errors import TraceError
from leowarp.base.neighbours import (
    refuse_other_links,
    refuse_other_network,
    refuse_other_summary,
    refuse_other_table,
)

PLAN = """
[[flows]]
source = "Madrid"
destination = "Tokyo"

[[flows]]
kind = "ping"
source = "Tokyo"
destination = "Madrid"
"""
FLOWS = [
    {"kind": "tcp", "source": "Madrid", "destination": "Tokyo"},
    {"kind": "ping", "source": "Tokyo", "destination": "Madrid"},
]
HOSTS = ["host:Madrid", "host:Tokyo"]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "00-plan.toml").write_text(PLAN)
    return tmp_path


def metadata(**values):
    return {name.encode(): json.dumps(value).encode() for name, value in values.items()}


def of_nodes(flows):
    return [flow | {end: f"host:{flow[end]}" for end in ("source", "destination")} for flow in flows]


def test_files_of_the_plan_s_flows_pass_with_those_of_programs_behind(run):
    more = [*FLOWS, FLOWS[0] | {"kind": "udp"}]
    refuse_other_summary(run, {"flows": more}, "")
    refuse_other_table(run, "t", metadata(flows=of_nodes(more), hosts=HOSTS), "")
    refuse_other_table(run, "t", metadata(hosts=HOSTS), "")


@pytest.mark.parametrize("flows", [[], FLOWS[:1], FLOWS[::-1], [FLOWS[0], FLOWS[1] | {"kind": "udp"}]])
def test_other_flows_are_refused(run, flows):
    with pytest.raises(TraceError, match=r"summary.json: flow \d is .* in 00-plan.toml beside it, so they are of diff"):
        refuse_other_summary(run, {"flows": flows}, "hint")
    with pytest.raises(TraceError, match=r"30-trace/t.parquet: flow \d is .*are of different runs"):
        refuse_other_table(run, "30-trace/t.parquet", metadata(flows=of_nodes(flows)), "hint")


def test_other_hosts_are_refused(run):
    with pytest.raises(TraceError, match="it has no host of Tokyo, which"):
        refuse_other_table(run, "t", metadata(hosts=["host:Madrid", "host:Oslo"]), "hint")


@pytest.mark.parametrize("text", [b"[", b"1", b'["x"]', b"[{}]", b"[" * 100_000, b"\xff"])
def test_what_cannot_be_read_is_left_to_its_reader(run, text):
    refuse_other_table(run, "t", {b"flows": text}, "")
    refuse_other_table(run, "t", {b"flows": json.dumps(of_nodes(FLOWS)).encode(), b"hosts": text}, "")
    (run / "00-plan.toml").write_bytes(text)
    refuse_other_summary(run, {"flows": FLOWS[:1]}, "")
    refuse_other_summary(run.parent, {"flows": FLOWS[:1]}, "")


def test_a_summary_without_the_ends_of_its_flows_is_not_compared(run):
    refuse_other_summary(run, {"flows": [{"flow": 0}]}, "")


ROUTES = [{"source": "Madrid", "destination": "Tokyo"}, {"source": "Tokyo", "destination": "Madrid"}]
EVENTS = [
    {"event": "node", "a": "host:Madrid", "b": None}, {"event": "node", "a": "host:Tokyo", "b": None},
    {"event": "link", "a": "host:Tokyo", "b": "host:Madrid"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rows", "other"),
    [
        ("10-routes.parquet", ROUTES, {"destination": "Oslo"}),
        ("20-timeline.parquet", EVENTS, {"a": "host:Oslo"}),
    ],
)
def test_routes_and_timelines_of_other_stations_are_refused(run, name, rows, other):
    refuse_other_network(run, name, pa.Table.from_pylist([*rows, *rows]), "")
    refuse_other_network(run, name, pa.Table.from_pylist(rows).slice(0, 0), "")
    with pytest.raises(TraceError, match=f"{name}: it has no (route from|host of) .* they are of different runs"):
        refuse_other_network(run, name, pa.Table.from_pylist([rows[0] | other, *rows[1:]]), "hint")


def test_a_timeline_without_a_link_of_the_trace_is_refused(run):
    timeline = pa.Table.from_pylist(EVENTS)
    refuse_other_links(run, "20-timeline.parquet", timeline, [("host:Madrid", "host:Tokyo", "wire")], "")
    with pytest.raises(TraceError, match="it has no link from host:Tokyo to r1, which 30-trace beside it has"):
        refuse_other_links(run, "20-timeline.parquet", timeline, [("host:Tokyo", "r1", "wire")], "hint")
