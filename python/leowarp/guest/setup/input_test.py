# SPDX-License-Identifier: Apache-2.0
import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp import media, scenario
from leowarp.base.errors import ScenarioError
from leowarp.guest.setup.input import EVENT, NONE, address, events, setup, windows, write_input
from leowarp.guest.setup.network import Network
from leowarp.scenario.schema import Cures, Host, Tcp
from leowarp.timeline.schema import TIMELINE

CHAIN = Path(__file__).parents[4] / "examples" / "chain.toml"
SCHEMA = pa.schema([(field.name, field.type) for field in TIMELINE])


def timeline(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def node(name: str, kind: str) -> dict:
    return {"t_ns": 0, "event": "node", "a": name, "kind": kind}


def link(t_ns: int, a: str, b: str, up: bool, **more) -> dict:
    row = {"t_ns": t_ns, "event": "link", "a": a, "b": b, "kind": "isl", "up": up, "on_down": "drain"}
    return row | {"discipline": "leolink", "limit_pkts": 500, "overhead_bytes": 14} | more


NODES = [node("host:A", "host"), node("s1", "satellite"), node("s2", "satellite"), node("host:B", "host")]
WIRES = [
    link(0, "host:A", "s1", True, kind="wire", limit_pkts=None, overhead_bytes=0),
    link(0, "s2", "host:B", True, kind="wire", limit_pkts=None, overhead_bytes=0),
]


def plan(**changed):
    """Return the parts of a plan that determine the guest's input."""
    flow = SimpleNamespace(kind="tcp", source="A", destination="B", congestion_control="cubic", start_ns=0, stop_ns=9,
                           name=None, is_mptcp=False, subflow_of=None)  # fmt: skip
    flow.size_bytes = flow.rate_bps = flow.interval_ns = flow.payload_bytes = None
    flow.packets = flow.packet_rate_pkts_per_s = flow.replies = flow.flood = None
    observe = SimpleNamespace(sockets_ns=50, counters_ns=100, queues_ns=None, packets="changes", pcap="none")
    observe.pcap_snap_bytes = 128
    observe.capture = "taps"
    observe.truth, observe.reordering_threshold_pkts, observe.reordering_window_ns = True, 200, None
    observe.packets_before_ns, observe.packets_after_ns = changed.pop("around_ns", (1, 3))
    observe.packets = changed.pop("packets", "changes")
    return SimpleNamespace(
        run=SimpleNamespace(duration_ns=changed.pop("duration_ns", 100), seed=7, ends="flows", linger_ns=4),
        routing=SimpleNamespace(in_flight=changed.pop("in_flight", "drain")),
        cures=changed.pop("cures", Cures()),
        network=SimpleNamespace(
            neighbours=changed.pop("neighbours", "static"), mtu_bytes=1115, forwarding="direct", family="ipv4"
        ),
        hosts=[
            Host(name="A", tcp=Tcp(pacing="fq", delayed_ack="on"), sysctl={"net.ipv4.tcp_sack": "1"}),
            Host(name="B", tcp=Tcp(pacing="internal", delayed_ack="off"), sysctl={}),
        ],
        modules=changed.pop("modules", {}),
        guest=SimpleNamespace(cc_modules=changed.pop("cc_modules", ())),
        sysctl={"net.core.netdev_max_backlog": "100000"},
        flows=[flow],
        observe=observe,
    )


def test_each_event_becomes_the_agreed_record():
    table = timeline(
        *NODES,
        *WIRES,
        link(0, "s1", "s2", True),
        {"t_ns": 0, "event": "rate", "a": "s1", "b": "s2", "rate_bps": 100_000_000},
        {"t_ns": 0, "event": "rate", "a": "s2", "b": "s1", "rate_bps": None},
        {"t_ns": 0, "event": "delay", "a": "s2", "b": "s1", "delay_ns": 10_000_000_001},
        {"t_ns": 0, "event": "loss", "a": "s1", "b": "s2", "loss_ratio": 0.25},
        {"t_ns": 0, "event": "route", "node": "s2", "destination": "host:A", "next_hop": "s1", "path_id": 4},
        {"t_ns": 5, "event": "route", "node": "s1", "destination": "host:B", "next_hop": None, "path_id": None},
        {"t_ns": 5, "event": "path", "a": "host:A", "b": "host:B", "path_id": 3, "change_id": 1},
        {"t_ns": 6, "event": "path", "a": "host:B", "b": "host:A", "path_id": None},
        link(7, "s2", "s1", False, on_down="drop"),
        link(8, "s1", "s2", True),
        link(9, "s1", "s2", False),
    )
    records = events(table, Network.of_timeline(table)).tobytes()
    # The fields are t_ns, kind, a, b, c, value as in interfaces.md, section 4. The test repeats the layout, so that it
    # does not depend on the code.
    expected = [
        (0, 1, 0, 0, 0, 0),
        (0, 1, 1, 0, 0, 0),
        (0, 1, 2, 0, 0, 0),
        (0, 4, 4, 0, 0, 100_000_000),
        (0, 4, 5, 0, 0, 0),
        (0, 3, 5, 0, 0, 10_000_000_001),
        (0, 5, 4, 0, 0, struct.unpack("<q", struct.pack("<d", 0.25))[0]),
        (0, 6, 2, 0, 5, 4),
        (5, 6, 1, 1, NONE, NONE),
        (5, 7, 0, 1, 3, 1),
        (6, 7, 1, 0, NONE, NONE),
        (7, 2, 2, 0, 0, 1),
        (8, 1, 2, 0, 0, 0),
        (9, 2, 2, 0, 0, 0),
    ]
    assert records == b"".join(struct.pack("<qIIIIq", *record) for record in expected)
    assert EVENT.itemsize == 32


def test_setup_has_the_agreed_keys(tmp_path):
    table = timeline(*NODES, *WIRES, link(0, "s1", "s2", True, limit_pkts=None, limit_bytes=64000, overhead_bytes=20))
    write_input(plan(), table, tmp_path / "in")
    made = json.loads((tmp_path / "in" / "setup.json").read_text())
    assert made["version"] == 4
    assert (made["duration_ns"], made["seed"], made["drain_ns"]) == (100, 7, 0)
    assert (made["ends"], made["linger_ns"], made["jitter_tables"]) == ("flows", 4, [])
    assert made["mtu_bytes"] == 1115
    assert made["nodes"][1] == {"name": "s1", "kind": "satellite"}
    assert made["hosts"] == [
        {"node": 0, "address": "10.1.0.1", "sysctl": {"net.ipv4.tcp_sack": "1"}, "pacing": "fq", "delayed_ack": "on"},
        {"node": 3, "address": "10.1.0.2", "sysctl": {}, "pacing": "internal", "delayed_ack": "off"},
    ]
    assert made["links"][0] == {
        "a": 0, "b": 1, "kind": "wire", "discipline": "leolink", "on_down": "drain", "limit_pkts": None,
        "limit_bytes": None, "overhead_bytes": 0, "arp": False,
    }  # fmt: skip
    # The plan adds 20 bytes to the IP length. The kernel itself counts the 14 bytes of the Ethernet header, so 6 bytes
    # remain.
    assert made["links"][2]["overhead_bytes"] == 6
    assert made["links"][2]["limit_bytes"] == 64000
    assert (made["flows"][0]["source"], made["flows"][0]["destination"]) == (0, 1)
    assert made["source_routing"] is False
    assert made["flows"][0]["packets"] is made["flows"][0]["packets_per_s"] is None
    assert made["flows"][0]["replies"] is True
    assert made["flows"][0]["flood"] is False
    assert made["modules"] == []
    assert made["cures"] == {}
    assert not (tmp_path / "in" / "tables.bin").exists()
    observe = made["observe"]
    assert (observe["sockets_ns"], observe["queues_ns"], observe["around_changes_ns"]) == (50, None, [1, 3])
    assert (observe["truth"], observe["reordering_threshold_pkts"]) == (True, 200)
    assert observe["reordering_window_ns"] is None


def test_cures_that_are_on_are_in_the_setup():
    table = timeline(*NODES, *WIRES, link(0, "s1", "s2", True))

    def made(cures: Cures) -> dict:
        return setup(plan(cures=cures), table, Network.of_timeline(table))["cures"]

    assert made(Cures(move_queue="lost")) == {"move_queue": "lost"}
    ordered = {"by": "aggregate", "kind": "basic", "delay_ns": 5000}
    assert made(Cures(resequence="aggregate", resequence_delay_ns=5000)) == {"resequence": ordered}
    held = {"buffer_bytes": 5000, "full": "send"}
    assert made(Cures(hold=True, hold_buffer_bytes=5000, hold_full="send")) == {"hold": held}
    marked = {"wait_ns": 7, "buffer": held}
    given = Cures(end_marker=True, end_marker_wait_ns=7, hold_buffer_bytes=5000, hold_full="send")
    assert made(given) == {"end_marker": marked}
    assert made(Cures(duplicate_ns=9)) == {"duplicate_ns": 9}
    told = {"delay_ns": 3, "loss_ratio": 0.5, "false": []}
    assert made(Cures(notify=True, notify_delay_ns=3, notify_loss_ratio=0.5)) == {"notify": told}


def test_jitter_events_number_the_tables_that_the_setup_holds():
    def jitter(t_ns: int, a: str, b: str, sigma_ns: int, distribution: str) -> dict:
        row = {"t_ns": t_ns, "event": "jitter", "a": a, "b": b}
        return row | {"sigma_ns": sigma_ns, "distribution": distribution}

    table = timeline(
        *NODES,
        *WIRES,
        link(0, "s1", "s2", True, discipline="jitter"),
        jitter(0, "s2", "s1", 1_000_000, "table"),
        jitter(0, "s1", "s2", 500_000, "uniform"),
        jitter(7, "s2", "s1", 0, "table"),
    )
    with pytest.raises(ScenarioError, match="no metadata `jitter_table`"):
        setup(plan(), table, Network.of_timeline(table))
    table = table.replace_schema_metadata({"jitter_table": json.dumps([-1.0] * 8192 + [1.0] * 8192)})
    made = setup(plan(), table, Network.of_timeline(table))
    assert [(entry["name"], entry["multiplier"]) for entry in made["jitter_tables"]] == [
        ("table", 1.0),
        ("uniform", 3**0.5),
    ]
    assert made["jitter_tables"][0]["values"] == [-8192] * 8192 + [8192] * 8192
    assert made["jitter_tables"][1]["values"] == []
    assert made["links"][2]["queue_counts"] == "waiting-and-flying"
    records = events(table, Network.of_timeline(table))[-3:].tolist()
    assert records == [(0, 8, 5, 0, 0, 1_000_000), (0, 8, 4, 1, 0, 500_000), (7, 8, 5, 0, 0, 0)]


def test_modules_of_one_s_own_come_first_and_have_a_file():
    own = SimpleNamespace(name="my_cc.c", sha256="0" * 64, path=None)
    table = timeline(*NODES)
    parameters = {"cubic_handover": {"phase_ns": "12000000000"}, "my_cc": {"gain": "2"}}
    made = setup(plan(cc_modules=(own,), modules=parameters), table, Network.of_timeline(table))["modules"]
    assert made == [
        {"name": "my_cc", "file": "modules/my_cc.ko", "parameters": {"gain": "2"}},
        {"name": "cubic_handover", "file": None, "parameters": {"phase_ns": "12000000000"}},
    ]


def test_source_routing_and_arp_reach_the_guest():
    table = timeline(*NODES, *WIRES, link(0, "s1", "s2", True))
    made = setup(plan(in_flight="source", neighbours="arp"), table, Network.of_timeline(table))
    assert made["source_routing"] is True
    assert [entry["arp"] for entry in made["links"]] == [False, False, True]


def test_netem_limits_are_passed_on_as_they_are():
    table = timeline(*NODES, *WIRES, link(0, "s1", "s2", True, discipline="netem"))
    made = setup(plan(), table, Network.of_timeline(table))
    assert made["links"][2]["queue_counts"] == "waiting-and-flying"


def path(t_ns: int, change_id: int | None = None, a: str = "host:A", b: str = "host:B") -> dict:
    return {"t_ns": t_ns, "event": "path", "a": a, "b": b, "path_id": None, "change_id": change_id}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([path(0)], []),
        ([path(0), path(20)], []),
        ([path(0), path(20, 0)], [[19, 23]]),
        ([path(0), path(20, 0), path(20, 0, "host:B", "host:A")], [[19, 23]]),
        ([path(0), path(20, 0), path(24, 1)], [[19, 27]]),
        ([path(0), path(20, 0), path(25, 1)], [[19, 23], [24, 28]]),
        ([path(0), path(99, 0)], [[98, 100]]),
    ],
)
def test_windows_lie_around_changes_of_path(changes, expected):
    assert windows(plan(), timeline(*NODES, *changes)) == expected


def test_windows_of_all_and_none():
    table = timeline(*NODES, path(0), path(20, 0))
    assert windows(plan(packets="all"), table) == [[0, 100]]
    assert windows(plan(packets="none"), table) == []


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"t_ns": 0, "event": "delay", "a": "s1", "b": "s2", "delay_ns": 1}, "s1 - s2, never created"),
        ({"t_ns": 0, "event": "delay", "a": "s1", "b": "s9", "delay_ns": 1}, "'s9'"),
        ({"t_ns": 0, "event": "path", "a": "s1", "b": "host:B", "path_id": 1}, "'s1'"),
        ({"t_ns": 0, "event": "colour", "a": "s1", "b": "s2"}, "'colour' is not an event"),
        ({"t_ns": -1, "event": "path", "a": "host:A", "b": "host:B", "path_id": 1}, "not sorted"),
    ],
)
def test_a_timeline_that_contradicts_itself_is_refused(row, says):
    table = timeline(*NODES, *WIRES, row)
    with pytest.raises(ScenarioError, match=says):
        events(table, Network.of_timeline(table))


def test_a_flow_to_an_unknown_station_is_refused():
    table = timeline(*NODES[:3])
    with pytest.raises(ScenarioError, match="the timeline has no 'host:B'"):
        setup(plan(), table, Network.of_timeline(table))


def test_addresses_are_unique_and_avoid_0_and_255():
    made = [address(host) for host in range(254 * 3)]
    assert made[0] == "10.1.0.1"
    assert made[253:255] == ["10.1.0.254", "10.1.1.1"]
    assert len(set(made)) == len(made)
    assert {text.rsplit(".", 1)[1] for text in made}.isdisjoint({"0", "255"})


values = st.one_of(
    st.tuples(st.just("rate"), st.none() | st.integers(1, 10**12)),
    st.tuples(st.just("delay"), st.integers(0, 10**11)),
    st.tuples(st.just("loss"), st.floats(0, 1)),
    st.tuples(st.just("jitter"), st.tuples(st.integers(0, 10**9), st.sampled_from(["uniform", "normal"]))),
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 50), st.booleans(), values), max_size=30))
def test_any_value_of_a_direction_is_read_back_from_its_record(given_values):
    rows = []
    for t_ns, forth, (event, value) in sorted(given_values, key=lambda entry: entry[0]):
        a, b = ("s1", "s2") if forth else ("s2", "s1")
        columns = {"rate": "rate_bps", "delay": "delay_ns", "loss": "loss_ratio"}
        held = {"sigma_ns": value[0], "distribution": value[1]} if event == "jitter" else {columns[event]: value}
        rows.append({"t_ns": t_ns, "event": event, "a": a, "b": b, **held})
    table = timeline(*NODES, *WIRES, link(0, "s1", "s2", True, discipline="jitter"), *rows)
    tables = [entry["name"] for entry in setup(plan(), table, Network.of_timeline(table))["jitter_tables"]]
    records = events(table, Network.of_timeline(table))[3:]
    assert len(records) == len(rows)
    for row, (t_ns, kind, a, b, _, value) in zip(rows, records.tolist(), strict=True):
        assert (t_ns, a) == (row["t_ns"], 4 if row["a"] == "s1" else 5)
        match kind:
            case 3:
                assert value == row["delay_ns"]
            case 4:
                assert value == (row["rate_bps"] or 0)
            case 5:
                assert struct.unpack("<d", struct.pack("<q", value))[0] == row["loss_ratio"]
            case 8:
                assert (value, tables[b]) == (row["sigma_ns"], row["distribution"])
            case _:
                raise AssertionError(f"kind {kind}")


names = st.integers(0, 5)


@pytest.mark.slow
@given(st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=40))
def test_directions_equal_a_slow_search(pairs):
    nodes = [node(f"n{number}", "satellite") for number in range(6)]
    links = [link(0, f"n{a}", f"n{b}", True) for a, b in pairs]
    table = timeline(*nodes, *links)
    network = Network.of_timeline(table)
    known: list[tuple[int, int]] = []
    for a, b in pairs:
        if (a, b) not in known and (b, a) not in known:
            known.append((a, b))
    slow = [2 * known.index((a, b)) if (a, b) in known else 2 * known.index((b, a)) + 1 for a, b in pairs]
    a, b = np.array(pairs).T
    assert network.directions(a, b).tolist() == slow


def test_names_of_flows_do_not_reach_the_guest(tmp_path):
    written = []
    for name in ("upload", "none"):
        given_plan = scenario.plan_of(CHAIN, {"flows.0.name": name})
        assert given_plan.flows[0].name == (None if name == "none" else name)
        write_input(given_plan, media.timeline_of(given_plan), tmp_path / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert written[0] == written[1]
