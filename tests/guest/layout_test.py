# SPDX-License-Identifier: Apache-2.0
"""Tests that Rust can read the files that Python writes for the guest. Section 4 of interfaces.md defines their
format."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from leowarp.guest import write_input
from leowarp.scenario.schema import Cures, Host, Tcp
from leowarp.timeline.schema import TIMELINE

# This test needs cargo, like the tests of the guest, so it is marked `guest`.
pytestmark = pytest.mark.guest

ROOT = Path(__file__).resolve().parents[2]


def example(name: str, *arguments: str) -> str:
    """Return the output of the example program `name` of crates/timeline."""
    command = ["cargo", "run", "--quiet", "--locked", "--package", "leowarp-timeline", "--example", name, "--"]
    return subprocess.run([*command, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def plan():
    flows = [
        {"kind": "tcp", "congestion_control": "bbr", "size_bytes": 10_000_000},
        {"kind": "ping", "interval_ns": 1_000_000, "payload_bytes": 56},
        {"kind": "udp", "rate_bps": 1_000_000, "payload_bytes": 1200},
        {"kind": "ping", "interval_ns": None, "flood": True, "payload_bytes": 56},
        {"kind": "ping", "packet_rate_pkts_per_s": 8235.5, "packets": 65535, "payload_bytes": 1472, "replies": True},
    ]
    common = {"source": "A", "destination": "B", "start_ns": 0, "stop_ns": 90}
    optional = dict.fromkeys(
        ["congestion_control", "size_bytes", "rate_bps", "interval_ns", "payload_bytes", "packets", "replies",
         "packet_rate_pkts_per_s", "flood"]
    )  # fmt: skip
    optional |= {"is_mptcp": False, "subflow_of": None}
    observe = {"sockets_ns": 50, "counters_ns": None, "queues_ns": 50, "packets": "changes", "pcap": "both",
               "pcap_snap_bytes": 128, "capture": "sockets"}  # fmt: skip
    observe |= {"truth": False, "reordering_threshold_pkts": 200, "reordering_window_ns": 10}
    return SimpleNamespace(
        run=SimpleNamespace(duration_ns=100, seed=7, ends="flows", linger_ns=5),
        routing=SimpleNamespace(in_flight="source"),
        cures=Cures(),
        network=SimpleNamespace(neighbours="arp", mtu_bytes=1500, forwarding="direct", family="ipv4"),
        hosts=[
            Host(name=name, tcp=Tcp(pacing=pacing, delayed_ack=delayed_ack), sysctl={"net.ipv4.tcp_sack": "1"})
            for name, pacing, delayed_ack in (("A", "internal", "off"), ("B", "fq", "adaptive"))
        ],
        modules={"my_cc": {"gain": "2"}, "cubic_handover": {"phase_ns": "7"}},
        guest=SimpleNamespace(cc_modules=(SimpleNamespace(name="my_cc.c"),)),
        sysctl={"net.core.netdev_max_backlog": "100000"},
        flows=[SimpleNamespace(**{**optional, **common, **flow}) for flow in flows],
        observe=SimpleNamespace(**observe, packets_before_ns=1, packets_after_ns=3),
    )


LINK = {"event": "link", "kind": "isl", "on_down": "drain", "limit_pkts": 500, "overhead_bytes": 14}
WIRE = {"event": "link", "kind": "wire", "on_down": "drain", "discipline": "leolink", "overhead_bytes": 0, "up": True}
ROWS = [
    {"event": "node", "a": "host:A", "kind": "host"},
    {"event": "node", "a": "A", "kind": "ground"},
    {"event": "node", "a": "s-00-01", "kind": "satellite"},
    {"event": "node", "a": "r0", "kind": "router"},
    {"event": "node", "a": "host:B", "kind": "host"},
    WIRE | {"a": "host:A", "b": "A"},
    WIRE | {"a": "r0", "b": "host:B"},
    LINK | {"a": "A", "b": "s-00-01", "up": True, "discipline": "leolink", "kind": "gsl"},
    LINK | {"a": "s-00-01", "b": "r0", "up": True, "discipline": "netem"},
    {"event": "rate", "a": "s-00-01", "b": "A", "rate_bps": 100_000_000_000},
    {"event": "rate", "a": "A", "b": "s-00-01", "rate_bps": None},
    {"event": "delay", "a": "r0", "b": "s-00-01", "delay_ns": 5_000_000_001},
    {"event": "loss", "a": "s-00-01", "b": "r0", "loss_ratio": 0.001},
    LINK | {"a": "A", "b": "r0", "up": True, "discipline": "jitter"},
    {"event": "jitter", "a": "A", "b": "r0", "sigma_ns": 1_000_000, "distribution": "normal"},
    {"event": "jitter", "a": "r0", "b": "A", "sigma_ns": 2_000_000, "distribution": "table"},
    {"event": "route", "node": "s-00-01", "destination": "host:B", "next_hop": "r0", "path_id": 12},
    LINK | {"a": "A", "b": "host:B", "up": True, "discipline": "leolink", "in_order": False, "probe_bytes": 98},
    {
        "event": "queue",
        "a": "host:B",
        "b": "A",
        "queue": "fq_codel",
        "ecn": True,
        "limit_pkts": 100,
        "parameters": '{"target_ns": 5000000}',
    },
    {"event": "capacity", "a": "host:B", "b": "A", "rate_bps": 250_000_000},
    {"event": "channel", "a": "A", "b": "host:B", "delay_ns": 20_000_000_001, "loss_ratio": 0.25},
    {"t_ns": 5, "event": "capacity", "a": "host:B", "b": "A", "rate_bps": None},
    {"t_ns": 15, "event": "channel", "a": "A", "b": "host:B", "delay_ns": 5, "loss_ratio": 1.0},
    {"t_ns": 30, "event": "route", "node": "r0", "destination": "host:A", "next_hop": None, "path_id": None},
    {"t_ns": 30, "event": "path", "a": "host:A", "b": "host:B", "path_id": 12},
    {"t_ns": 60, "event": "path", "a": "host:B", "b": "host:A", "path_id": None},
    LINK | {"t_ns": 60, "a": "r0", "b": "s-00-01", "up": False, "discipline": "netem", "on_down": "drop"},
]
READ = """\
mtu 1500
host:A Internal Off
host:B Fq Adaptive
flood 3 None
module my_cc Some("modules/my_cc.ko") {"gain": "2"}
module cubic_handover None {"phase_ns": "7"}
direction A host:B in_order false probe_bytes 98
channel 0 20000000001 1073741824
channel 15 5 4294967295
direction host:B A in_order false probe_bytes 98
queue fq_codel ecn true {"target_ns": 5000000} Some(100) None
capacity 0 250000000 0
capacity 5 18446744073709551615 0
0 up host:A A
0 up r0 host:B
0 up A s-00-01
0 up s-00-01 r0
0 rate s-00-01 A 100000000000
0 rate A s-00-01 0
0 delay r0 s-00-01 5000000001
0 loss s-00-01 r0 0.001
0 up A r0
0 jitter A r0 1000000 normal
0 jitter r0 A 2000000 table
0 route s-00-01 host:B s-00-01 r0 Some(12)
0 up A host:B
30 route r0 host:A none None
30 path host:A host:B Some(12) None
60 path host:B host:A None None
60 down s-00-01 r0 true
"""


def test_rust_reads_what_python_writes(tmp_path):
    schema = pa.schema([(field.name, field.type) for field in TIMELINE])
    schema = schema.with_metadata({"jitter_table": json.dumps([-1.0, 1.0] * 8192)})
    write_input(plan(), pa.Table.from_pylist([{"t_ns": 0} | row for row in ROWS], schema=schema), tmp_path)
    assert example("read_input", str(tmp_path)) == READ


def test_versions_and_sizes_agree():
    from leowarp.guest.setup.directions import ROW
    from leowarp.guest.setup.input import EVENT, SETUP_VERSION

    rust = json.loads(example("schema"))
    assert rust["setup_version"] == SETUP_VERSION
    assert rust["event_bytes"] == EVENT.itemsize
    assert rust["table_row_bytes"] == ROW.itemsize
