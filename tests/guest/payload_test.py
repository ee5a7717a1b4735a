# SPDX-License-Identifier: Apache-2.0
"""Tests that the payload of transfers is not copied (guest/tcp/payload.c), unless a program may read it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import leowarp as lw
from support.pcapng import frames

pytestmark = pytest.mark.guest

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"
ETHERNET_BYTES = 14


def payloads(content: bytes) -> Iterator[bytes]:
    """Yield the payload of each TCP segment in a pcapng file with IPv4 over Ethernet."""
    for _, frame in frames(content):
        packet = frame[ETHERNET_BYTES:]
        ip_bytes = packet[0] % 16 * 4
        if packet[9] == socket.IPPROTO_TCP:
            yield packet[ip_bytes + packet[ip_bytes + 12] // 16 * 4 :]


@pytest.mark.parametrize("congestion_control", ["cubic", "bbr"])
def test_a_run_whose_payload_is_seen_is_the_run_whose_payload_is_not_copied(tmp_path, congestion_control):
    changes = {"run.duration": "3 s", "flows.0.congestion_control": congestion_control}
    seen = {"observe.pcap": "both", "observe.pcap_snap": "1514 B"}
    copied, spared = (
        lw.run(CHAIN, changes | more, tmp_path / name, report=False, progress=False)
        for name, more in (("copied", seen), ("spared", {}))
    )
    files = {path.stem: path for path in (spared.path / "30-trace").glob("*.parquet")}
    # Bins are written when chunks of packet truth arrive, and longer frames fill these chunks sooner. The order of rows
    # is therefore not compared.
    order = [(column, "ascending") for column in ("t_ns", "flow", "direction")]
    name = files.pop("bins").name
    bins = [pq.read_table(run.path / "30-trace" / name).sort_by(order) for run in (copied, spared)]
    assert bins[0].equals(bins[1])
    assert len(files) > 10
    for file in files.values():
        assert file.read_bytes() == (copied.path / "30-trace" / file.name).read_bytes(), file.name

    # The application writes zeros, so every captured payload consists of zeros.
    seen_bytes = 0
    for payload in payloads((copied.path / "30-trace" / "source.pcapng").read_bytes()):
        assert not any(payload)
        seen_bytes += len(payload)
    assert seen_bytes > 10**6
