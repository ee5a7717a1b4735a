# SPDX-License-Identifier: Apache-2.0
"""Tests that runs over IPv6 agree with closed forms. For frames of the same length, times must be the same as over
IPv4. Only flows may send packets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
IPV4, IPV6 = ({"network.family": family} for family in ("ipv4", "ipv6"))
# The header of IPv6 is 20 bytes longer than that of IPv4. With an MTU smaller by 20 bytes and an overhead larger by 20
# bytes, IPv4 packets are as long as IPv6 packets on each link
AS_IPV6 = {"network.mtu": "1480 B", "chain.overhead": "34 B"}
FLOWS = [
    {"source": "A", "destination": "B", "congestion_control": "cubic"},
    {"source": "B", "destination": "A", "congestion_control": "reno", "start": "1 s", "stop": "6 s"},
    {"kind": "ping", "source": "A", "destination": "B", "interval": "100 ms", "payload": "1000 B"},
    {"kind": "ping", "source": "B", "destination": "A", "flood": True, "stop": "3 s"},
    {"kind": "udp", "source": "B", "destination": "A", "packet_rate": "100 pkts/s", "payload": "1000 B"},
]
ALL = {"observe.packets": "all", "run.duration": "8 s"}
SMALL_QUEUE = {"chain.queue": "20 pkts"}


def run_of(folder: Path, changes: dict, name: str = "chain") -> lw.Run:
    return lw.run(EXAMPLES / f"{name}.toml", changes, folder, report=False, progress=False)


def packets_of(run: lw.Run) -> pd.DataFrame:
    columns = ["flow", "direction", "sent_ns", "received_ns", "seq", "len_bytes", "drop_cause"]
    return run.table("packets").select(columns).to_pandas().sort_values(columns[:3], ignore_index=True)


@pytest.fixture(scope="module")
def both(ipv6_kernel, tmp_path_factory):
    """Two runs of the same chain, over IPv4 and over IPv6. The chain's queue loses packets."""
    folder = tmp_path_factory.mktemp("families")
    common = ALL | SMALL_QUEUE | {"flows": FLOWS}
    return run_of(folder / "4", common | AS_IPV6 | IPV4), run_of(folder / "6", common | IPV6)


def test_the_same_packets_take_the_same_instants_over_ipv6_and_over_ipv4_with_longer_overhead(both):
    by_ipv4, by_ipv6 = map(packets_of, both)
    assert len(by_ipv6) > 5000
    assert by_ipv6.drop_cause.notna().sum() > 10
    assert set(by_ipv6.flow) == {0, 1, 2, 3, 4}
    pd.testing.assert_frame_equal(by_ipv4, by_ipv6)


def test_sockets_say_the_same_over_both(both):
    columns = ["t_ns", "flow", "cwnd_pkts", "srtt_us", "bytes_acked", "retrans_pkts", "snd_mss_bytes"]
    # Until the handshake ends, the segment size is the minimum of the address family
    by_ipv4, by_ipv6 = (run.sockets()[columns].dropna(subset="srtt_us") for run in both)
    pd.testing.assert_frame_equal(by_ipv4, by_ipv6)
    assert set(by_ipv6.snd_mss_bytes) == {1428}


def test_links_carry_what_flows_send_and_nothing_else(both):
    by_ipv4, by_ipv6 = (run.table("linktotals").to_pandas() for run in both)
    columns = ["direction", "offered_pkts", "offered_bytes", "delivered_pkts", "delivered_bytes", "dropped_queue_pkts"]
    known = [column for column in columns if column in by_ipv6]
    assert len(known) >= 5
    pd.testing.assert_frame_equal(by_ipv4[known], by_ipv6[known])
    # The host sends only the packets of sockets and the answers to pings. It contacts no multicast group, neighbour or
    # router
    counters = both[1].table("counters").to_pandas()
    last = counters.sort_values("t_ns").groupby("counter", observed=True).value.max()
    by_itself = ("MLDv2Reports", "NeighborSolicits", "RouterSolicits", "GroupMembResponses", "GroupMembReductions")
    assert [int(last[f"Icmp6.Out{name}"]) for name in by_itself] == [0] * len(by_itself)
    assert last["Icmp6.OutEchos"] > 100


def test_a_probe_takes_propagation_plus_serialisation(ipv6_kernel, tmp_path):
    flows = [{"kind": "ping", "source": "A", "destination": "B", "interval": "100 ms", "payload": "1000 B"}]
    echoes = run_of(tmp_path / "run", IPV6 | {"flows": flows, "run.duration": "5 s"}).echoes()
    owd_ns = (echoes["received_ns"] - echoes["sent_ns"]).to_numpy(float)
    assert len(owd_ns) == 50
    assert (owd_ns == 3 * (10_000_000 + (1000 + 8 + 40 + 14) * 8 * 100)).all()


def test_runs_repeat_to_the_byte_and_a_constellation_keeps_its_routes(ipv6_kernel, tmp_path):
    changes = IPV6 | {"run.duration": "40 s", "observe.pcap": "both"}
    one, other = (run_of(tmp_path / str(n), changes, "madrid-tokyo") for n in (1, 2))
    files = sorted(file.relative_to(one.path) for file in (one.path / "30-trace").iterdir())
    assert len(files) > 10
    for file in files:
        assert (one.path / file).read_bytes() == (other.path / file).read_bytes(), file
    assert one.summary["flows"][0]["goodput_mean_bps"] > 1e6
    assert one.table("routes").num_rows > 2


def test_captures_are_of_ipv6(ipv6_kernel, tmp_path):
    run = run_of(tmp_path / "run", IPV6 | {"run.duration": "3 s", "observe.pcap": "both"})
    file = run.path / "30-trace" / "source.pcapng"
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing")
    asked = ["tshark", "-r", file, "-T", "fields", "-e", "ipv6.src", "-e", "tcp.len", "-Y", "tcp"]
    lines = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\n")
    assert len([line for line in lines if line == "fd00::1:1\t1428"]) > 100


def test_a_kernel_without_ipv6_is_refused_before_it_is_built(tmp_path):
    with pytest.raises(lw.LeowarpError, match=r'the kernel "default".*it has no IPv6'):
        lw.run(EXAMPLES / "chain.toml", IPV6, tmp_path / "run", kernel="default", report=False, progress=False)
    with pytest.raises(lw.LeowarpError, match=r'the kernel "plain".*it has no IPv6'):
        run_of(tmp_path / "run", IPV6 | {"guest.kernel": "plain"})
