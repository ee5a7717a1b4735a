# SPDX-License-Identifier: Apache-2.0
"""Tests that `leowarp.reordering` gives the same numbers as the guest's packet truth, although it reads only the
receiver's capture."""

import pyarrow.parquet as pq
import pytest

import leowarp as lw
from leowarp.reordering import Source, measure_file
from support.synthetic.reordering import run_scalars

pytestmark = pytest.mark.guest

JITTERED = """
name = "captured"
[run]
duration = "100 s"
ends = "flows"
[jittered]
delay = "20 ms"
jitter = "1 ms"
loss = "0.5 %"
rate = "100 Mbit/s"
[[flows]]
source = "A"
destination = "B"
{flow}
[observe]
pcap = "destination"
sockets = "none"
queues = "none"
counters = "none"
packets = "none"
[tcp]
profile = "{profile}"
"""
TCP = 'kind = "tcp"\nsize = "4 MB"'
PING = 'kind = "ping"\npackets = 3000\npacket_rate = "8000 pkts/s"\npayload = "100 B"\nreplies = false'
UDP = 'kind = "udp"\npackets = 3000\npacket_rate = "8000 pkts/s"\npayload = "100 B"'


@pytest.mark.parametrize(
    ("flow", "profile", "source"),
    [
        # Retransmissions are recognised by timestamps. In the profile without timestamps, they are recognised by IPv4's
        # identification.
        (TCP, "linux", Source()),
        (TCP, "classic", Source()),
        (PING, "linux", Source()),
        # The guest's datagrams begin with their sequence number.
        (UDP, "linux", Source(protocol="udp", field_offset=0, field_size=8)),
    ],
    ids=["tcp", "tcp without timestamps", "ping", "udp"],
)
# Tests RFC 4737, 6.1 (passive measurement).
# Tests RFC 4737, 6.1 (retransmissions).
def test_the_receivers_capture_tells_what_the_guest_saw_at_both_ends(tmp_path, flow, profile, source):
    scenario = tmp_path / "captured.toml"
    scenario.write_text(JITTERED.format(flow=flow, profile=profile))
    run = lw.run(scenario, out=tmp_path / "run", report=False, progress=False)
    (truth,) = pq.read_table(
        run.path / "30-trace" / "reordering.parquet", filters=[("scope", "=", 0), ("flow", "=", 0)]
    ).to_pylist()
    measured = measure_file(run.path / "30-trace" / "destination.pcapng", source=source, sent_pkts=truth["sent_pkts"])
    found = measured.reordering
    assert truth["lost_pkts"] > 0
    assert truth["reordered_pkts"] > 100
    assert {
        "received_pkts": found.received_pkts,
        "lost_pkts": found.lost_pkts,
        "reordered_pkts": found.reordered_pkts,
        "density_pkts": found.density.counted_pkts,
        "runs": found.runs.runs,
    }.items() <= truth.items()
    # Neither the run nor the measurement of its capture sets a threshold. Each uses the default.
    assert run_scalars(found.to_dict()).items() <= run.summary["flows"][0].items()
    assert measured.counts["undecided_pkts"] == 0
