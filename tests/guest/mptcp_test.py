# SPDX-License-Identifier: Apache-2.0
"""Tests Multipath TCP over two stations. The values of each subflow match a closed form. The connection has one
goodput. Every packet belongs to a flow."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
RATE_BPS = 20_000_000
# The constellation and routes are those of madrid-tokyo, whose first route change is at 30 s. Links between satellites
# have 1 Gbit/s, and Tokyo's ground link has no rate limit. The bottleneck of each subflow is therefore the ground link
# of its own station.
STATIONS = [
    {"name": "Madrid"},
    {"name": "Lisbon", "latitude": "38.7 deg", "longitude": "-9.1 deg"},
    {"name": "Tokyo", "shaped": False},
]
BASE = {
    "stations": STATIONS, "ground.rate": "20 Mbit/s", "ground.queue": "100 pkts", "isl.rate": "1 Gbit/s",
    "run.duration": "12 s", "observe.packets": "all",
}  # fmt: skip
BOTH = {"name": "both", "source": "Madrid", "destination": "Tokyo", "protocol": "mptcp", "congestion_control": "cubic"}
SECOND = {"name": "second", "source": "Lisbon", "destination": "Tokyo", "subflow_of": "both"}
PING = {"kind": "ping", "source": "Lisbon", "destination": "Tokyo", "interval": "200 ms"}
PINGS = 60


def run_of(folder: Path, flows: list[dict], changes: dict | None = None, name: str = "madrid-tokyo") -> lw.Run:
    changes = BASE | {"flows": flows} | (changes or {})
    return lw.run(EXAMPLES / f"{name}.toml", changes, folder, report=False, progress=False)


@pytest.fixture(scope="module")
def both(ipv6_kernel, tmp_path_factory):
    """A run of 12 s with its captures. A connection over two stations lasts for 10 s. The second of these stations also
    sends pings."""
    return run_of(
        tmp_path_factory.mktemp("mptcp") / "run", [BOTH | {"stop": "10 s"}, SECOND, PING], {"observe.pcap": "both"}
    )


def path_ns(run: lw.Run, source: str) -> int:
    routes = run.table("routes").to_pandas()
    mine = routes[(routes.source == source) & (routes.destination == "Tokyo")]
    return int(mine.delay_ns.iloc[0])


def test_each_subflow_gets_the_rate_of_its_own_bottleneck_and_the_connection_their_sum(both):
    first, second, _ = both.summary["flows"]
    sockets = both.sockets()
    rates = []
    for flow in (0, 1):
        late = sockets[(sockets.flow == flow) & (sockets.t_ns > 4_000_000_000)]
        start, end = late.iloc[0], late.iloc[-1]
        rates.append((end.bytes_received - start.bytes_received) * 8e9 / (end.t_ns - start.t_ns))
    # A segment of 1500 bytes contains 32 bytes of TCP header, and up to 28 bytes of the mapping of Multipath TCP
    least, most = (RATE_BPS * payload / 1514 for payload in (1500 - 20 - 32 - 28, 1448))
    assert all(0.97 * least < rate < most for rate in rates)
    assert first["connection_goodput_mean_bps"] > 0.9 * 2 * least
    assert first["connection_goodput_mean_bps"] <= first["goodput_mean_bps"] + second["goodput_mean_bps"]
    assert second["connection_goodput_mean_bps"] is None


def test_round_trips_are_those_of_each_path(both):
    first, second, ping = both.summary["flows"]
    # The tolerance is the transmission time of the first segment and of its ACK on the station's ground link
    for flow, source in ((first, "Madrid"), (second, "Lisbon")):
        least_ns = 2 * path_ns(both, source)
        assert least_ns < flow["rtt_min_ns"] < least_ns + 3_000_000
    # The second interface sends its packets over its own wire
    assert 2 * path_ns(both, "Lisbon") < ping["rtt_min_ns"] < 2 * path_ns(both, "Lisbon") + 3_000_000
    assert path_ns(both, "Lisbon") != path_ns(both, "Madrid")


def test_a_subflow_keeps_its_order_and_every_packet_is_of_a_flow(both):
    first, second, _ = both.summary["flows"]
    assert first["late_pkts"] == second["late_pkts"] == 0
    assert min(first["sent_pkts"], second["sent_pkts"]) > 10_000
    packets, totals = both.table("packets").to_pandas(), both.table("linktotals").to_pandas()
    sent = packets[packets.direction == "data"].groupby("flow").size()
    assert packets[packets.direction == "data"].groupby("flow").path_id.nunique().max() == 1
    # Each subflow and each ping leaves over the ground link of its own station, and no other packet enters a station's
    # ground link
    for station, flows in (("Madrid", [0]), ("Lisbon", [1, 2])):
        links = [number for number, (a, _, kind) in enumerate(both.tables.directions) if (a, kind) == (station, "gsl")]
        entered = int(totals[totals.direction.isin(links)].offered_pkts.sum())
        assert entered == sum(int(sent[flow]) if flow < 2 else PINGS for flow in flows)


def test_two_runs_have_the_same_bytes_across_a_route_change(ipv6_kernel, tmp_path):
    changes = {"run.duration": "33 s", "ground.rate": "10 Mbit/s", "observe.packets": "changes"}
    one, other = (run_of(tmp_path / str(n), [BOTH, SECOND], changes) for n in (1, 2))
    files = sorted(file.relative_to(one.path) for file in (one.path / "30-trace").iterdir())
    assert len(files) > 10
    for file in files:
        assert (one.path / file).read_bytes() == (other.path / file).read_bytes(), file
    # both subflows continue, each on its new path
    packets = one.table("packets").to_pandas()
    for flow in (0, 1):
        mine = packets[(packets.flow == flow) & (packets.direction == "data") & packets.received_ns.notna()]
        assert mine[mine.sent_ns > 30_500_000_000].path_id.nunique() == 1
        assert mine.path_id.nunique() == 2


def test_a_transfer_with_a_size_is_complete_with_the_connection(ipv6_kernel, tmp_path):
    flows = [BOTH | {"size": "10 MB"}, SECOND]
    run = run_of(tmp_path / "run", flows, {"run.ends": "flows"})
    first, second = run.summary["flows"]
    ends = run.table("flows").to_pandas()
    assert list(ends.connection_bytes.dropna()) == [10_000_000]
    assert first["completion_ns"] == second["completion_ns"] < 5_000_000_000
    assert first["bytes"] + second["bytes"] >= 10_000_000
    assert min(first["bytes"], second["bytes"]) > 3_000_000
    assert first["connection_goodput_mean_bps"] == pytest.approx(8e16 / first["completion_ns"])


def test_a_destination_announces_its_second_station(ipv6_kernel, tmp_path):
    flows = [
        BOTH | {"source": "Tokyo", "destination": "Madrid"}, SECOND | {"source": "Tokyo", "destination": "Lisbon"}
    ]  # fmt: skip
    first, second = run_of(tmp_path / "run", flows).summary["flows"]
    assert first["connection_goodput_mean_bps"] > 1.7 * RATE_BPS
    assert min(first["goodput_mean_bps"], second["goodput_mean_bps"]) > 0.8 * RATE_BPS


def test_tshark_reads_the_join_and_both_subflows(both):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing")
    file = both.path / "30-trace" / "destination.pcapng"
    asked = ["tshark", "-r", file, "-T", "fields", "-e", "ip.src", "-e", "tcp.options.mptcp.subtype", "-Y", "tcp"]
    lines = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()
    # the SYN and the last ACK of the handshake contain the option that joins the second address (RFC 8684, 3.2)
    joins = [line.split("\t")[0] for line in lines if "\t" in line and "1" in line.split("\t")[1].split(",")]
    addresses = {line.split("\t")[0] for line in lines}
    assert len(addresses) == 3
    assert len(joins) >= 2
    assert sum(line.split("\t")[0] == joins[0] for line in lines) > 1000


def test_runs_over_ipv6_have_subflows_too(ipv6_kernel, tmp_path):
    first, second = run_of(tmp_path / "run", [BOTH, SECOND], {"network.family": "ipv6"}).summary["flows"]
    assert min(first["goodput_mean_bps"], second["goodput_mean_bps"]) > 0.8 * RATE_BPS
    assert first["connection_goodput_mean_bps"] > 1.7 * RATE_BPS


def test_a_kernel_without_it_is_refused_before_it_is_built(tmp_path):
    with pytest.raises(lw.LeowarpError, match=r'the kernel "default".*it has no Multipath TCP'):
        run_of(tmp_path / "run", [BOTH, SECOND], {"guest.kernel": "default"})
