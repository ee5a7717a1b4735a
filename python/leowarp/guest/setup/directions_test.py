# SPDX-License-Identifier: Apache-2.0
import json
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.guest.setup.directions import Directions
from leowarp.guest.setup.input import events, setup, write_input
from leowarp.guest.setup.input_test import plan
from leowarp.guest.setup.network import Network
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata

NAMES = ["host:A", "terminal", "gateway", "host:B"]
WIRE = LinkKind(kind="wire", discipline="leolink", on_down="drain", overhead_bytes=0, has_own_rate=False)


def access(**changed) -> Events:
    """Return the events of a path with four nodes: two hosts, a terminal and its gateway."""
    common = {"kind": "gsl", "discipline": "leolink", "on_down": "drop", "overhead_bytes": 14, "limit_pkts": 500}
    made = Events(NAMES)
    for node, kind in enumerate(("host", "router", "router", "host")):
        made.node(node, kind)
    made.link_up(0, 0, 1, WIRE)
    made.link_up(0, 1, 2, LinkKind(**{**common, "has_own_rate": False, **changed}))
    made.link_up(0, 2, 3, WIRE)
    return made


def test_tables_are_records_by_direction_capacity_first(tmp_path: Path) -> None:
    made = access(in_order=False, probe_bytes=98)
    made.channel(2, 1, np.array([0, 7]), np.array([20_000_000_001, 0]), np.array([0.25, 1.0]))
    made.capacity(2, 1, np.array([0]), np.array([0]))
    made.capacity(1, 2, np.array([0, 5]), np.ma.masked_equal(np.array([-1, 10**12]), -1))
    made.queue(1, 2, "cake", ecn=True, parameters={"rtt_ns": 50}, limit_bytes=64_000)
    table = made.table(TimelineMetadata(warnings=[]))
    write_input(plan(), table, tmp_path)
    rows = [
        (0, 2**64 - 1, 0),
        (5, 10**12, 0),
        (0, 0, 0),
        (0, 20_000_000_001, 2**30),
        (7, 0, 2**32 - 1),
    ]
    assert (tmp_path / "tables.bin").read_bytes() == b"".join(struct.pack("<qQII", *row, 0) for row in rows)
    links = json.loads((tmp_path / "setup.json").read_text())["links"]
    assert "directions" not in links[0]
    queue = {"kind": "cake", "ecn": True, "parameters": {"rtt_ns": 50}, "limit_pkts": None, "limit_bytes": 64_000}
    common = {"in_order": False, "probe_bytes": 98}
    assert links[1]["directions"] == [
        {**common, "queue": queue, "capacity_rows": 2},
        {**common, "capacity_rows": 1, "channel_rows": 2},
    ]
    assert [record[1] for record in events(table, Network.of_timeline(table)).tolist()] == [1, 1, 1]


def test_a_table_that_is_no_longer_there_leaves_no_file(tmp_path: Path) -> None:
    made = access()
    made.capacity(1, 2, np.array([0]), np.array([1]))
    write_input(plan(), made.table(TimelineMetadata(warnings=[])), tmp_path)
    write_input(plan(), access().table(TimelineMetadata(warnings=[])), tmp_path)
    assert not (tmp_path / "tables.bin").exists()


def test_a_queue_of_a_link_that_is_made_later_is_known_from_the_start() -> None:
    made = access()
    later = LinkKind(kind="isl", discipline="leolink", on_down="drain", overhead_bytes=14, limit_pkts=9, queue="codel")
    made.link_up(50, 0, 3, later)
    table = made.table(TimelineMetadata(warnings=[]))
    links = setup(plan(), table, Network.of_timeline(table))["links"]
    assert [own["queue"]["limit_pkts"] for own in links[3]["directions"]] == [9, 9]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda e: e.capacity(1, 2, np.array([1]), np.array([1])), "terminal > gateway begins at 1 ns, not at 0"),
        (lambda e: e.channel(2, 1, np.array([0, 0]), np.array([1, 2]), np.zeros(2)), "gateway > terminal has two rows"),
        (lambda e: e.channel(2, 1, np.array([0]), np.array([-1]), np.zeros(1)), "missing or negative"),
        (lambda e: e.channel(2, 1, np.array([0]), np.array([1]), np.array([1.5])), "not from 0 to 1"),
        (lambda e: e.channel(2, 1, np.array([0]), np.array([1]), np.array([np.nan])), "not from 0 to 1"),
        (lambda e: e.capacity(1, 2, np.array([0]), np.array([-5])), "a capacity is negative"),
        (lambda e: [e.queue(1, 2, "red"), e.queue(1, 2, "pie")], "terminal > gateway has two queues"),
        (lambda e: e.capacity(1, 3, np.array([0]), np.array([1])), "never created"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(spoil, says: str) -> None:
    made = access()
    spoil(made)
    table = made.table(TimelineMetadata(warnings=[]))
    with pytest.raises(ScenarioError, match=says):
        Directions.of_timeline(table, Network.of_timeline(table))


def test_a_table_and_an_event_of_the_same_are_refused() -> None:
    for event, table in (("rate", "capacity"), ("delay", "channel"), ("loss", "channel")):
        made = access()
        made.capacity(1, 2, np.array([0]), np.array([1]))
        made.channel(1, 2, np.array([0]), np.array([1]), np.zeros(1))
        if event == "rate":
            made.rate(5, 1, 2, 100)
        elif event == "delay":
            made.delays(5, np.array([1]), np.array([2]), np.array([9]))
        else:
            made.loss(5, 1, 2, 0.5)
        table_ = made.table(TimelineMetadata(warnings=[]))
        with pytest.raises(ScenarioError, match=rf"terminal > gateway has a table \({table}\) and an event {event}"):
            Directions.of_timeline(table_, Network.of_timeline(table_))


def test_only_leolink_has_tables() -> None:
    made = access(discipline="netem")
    made.capacity(1, 2, np.array([0]), np.array([1]))
    table = made.table(TimelineMetadata(warnings=[]))
    with pytest.raises(ScenarioError, match="its discipline is netem") as raised:
        Directions.of_timeline(table, Network.of_timeline(table))
    assert "leolink" in (raised.value.hint or "")


def bytecodes(work: Callable[[], object]) -> int:
    """Return the number of Python bytecode instructions that `work` executes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
def test_a_million_rows_take_no_loop(tmp_path: Path) -> None:
    spent = []
    for rows in (100, 1_000_000):
        made = access()
        instants = np.arange(rows) * 1000
        made.channel(1, 2, instants, instants, np.linspace(0, 1, rows))
        table = made.table(TimelineMetadata(warnings=[]))
        spent.append(bytecodes(partial(write_input, plan(), table, tmp_path)))
        assert (tmp_path / "tables.bin").stat().st_size == 24 * rows
    # A loop over rows would take 10,000 times as many instructions. With Python 3.13, numpy and pyarrow need 1.4 times
    # as many instructions for the larger table as for the smaller.
    assert spent[1] < 2 * spent[0]
