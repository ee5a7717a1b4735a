# SPDX-License-Identifier: Apache-2.0
"""Tests the minimum retransmission timeout (net.ipv4.tcp_rto_min_us), which a scenario sets like every sysctl of a
host."""

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

MS, S = 1_000_000, 1_000_000_000
# A path with an RTT of 40 ms; from 2 s on, all packets are lost
TABLE = "t_s,delay_ms,rate_mbps,loss_ratio,loss_up_ratio\n0,20,100,0,0\n2,20,100,1,0\n"


def timeout(folder, floor_ms, section):
    """Return three times in ms: the RTO before the outage, the RTO minus the smoothed RTT, and the time from the last
    ACK to the timeout."""
    (folder / "path.csv").write_text(TABLE)
    sysctls = '"net.ipv4.tcp_early_retrans" = "0"\n'  # no tail loss probes, which would precede the timeout
    if floor_ms is not None:
        sysctls += f'"net.ipv4.tcp_rto_min_us" = "{1000 * floor_ms}"\n'
    (folder / "floor.toml").write_text(
        'name = "floor"\n[run]\nduration = "5 s"\n[measured]\nfile = "path.csv"\n'
        f'[observe]\nsockets = "10 ms"\npackets = "all"\n[{section}]\n{sysctls}'
        '[[flows]]\nsource = "A"\ndestination = "B"\nrate = "1158400 bit/s"\n'
    )
    run = lw.run(folder / "floor.toml", (), folder / "run", report=False, progress=False, trust=True)
    sockets = run.sockets().set_index("t_ns")
    packets = run.packets(flow=0)
    heard_ns = packets[packets.direction == "back"].received_ns.max()
    again = packets[packets.is_retransmission.fillna(False)].sent_ns.min()
    before = sockets.loc[2 * S]
    return before.rto_us / 1000, (before.rto_us - before.srtt_us) / 1000, (again - heard_ns) / MS


@pytest.mark.parametrize(
    ("floor_ms", "section", "least_ms"),
    [(None, "tcp.sysctl", 200), (100, "tcp.sysctl", 100), (1000, "hosts.A.tcp.sysctl", 1000)],
)
def test_the_least_timeout_is_what_the_sysctl_says_above_the_round_trip(tmp_path, floor_ms, section, least_ms):
    rto_ms, above_ms, waited_ms = timeout(tmp_path, floor_ms, section)
    # RFC 6298, 2.3: the RTO is SRTT + max(floor, 4 RTTVAR), rounded to the kernel's ticks
    assert above_ms == pytest.approx(least_ms, abs=2)
    # A wait of 63 to 511 ticks ends up to 8 ticks late. A wait of 512 to 4095 ticks ends up to 64 ticks late (levels of
    # the timer wheel).
    assert rto_ms <= waited_ms <= rto_ms + (9 if rto_ms < 500 else 65)
