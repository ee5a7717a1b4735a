# SPDX-License-Identifier: Apache-2.0
"""Tests that each probe through a dish arrives at the time that the dish's hold and the path imply."""

import subprocess
import sys
from bisect import bisect_right

import numpy as np
import pyarrow.parquet as pq
import pytest

import leowarp as lw
from support.hops import arrivals_ns

pytestmark = pytest.mark.guest

S, MS = 1_000_000_000, 1_000_000
HOLD_NS, RATE_BPS = 40 * MS, 100_000_000
FRAME_NS = 500_000_000 // 750
"""The mean time until the next frame begins, which is half a frame."""
RECONFIGURED_NS = np.array([12, 27, 42, 57]) * S
PING_BYTES = 20 + 8 + 56 + 14
STAMP_NS = 2_000
"""The tolerance of the packets' timestamps in ns. The clock has steps of 256 ns, and simultaneous probes get successive
timestamps."""
# The profile has no random parts. It consists of a hold of constant length, half a frame and one capacity.
SCENARIO = f"""
name = "dish"
[run]
duration = "65 s"
[constellation]
preset = "oneweb-study"
[isl]
rule = "plus-grid"
rate = "unshaped"
[[stations]]
name = "Madrid"
[stations.access]
jitter = "0 s"
jitter_up = "0 s"
handover_min = "40 ms"
handover_max = "40 ms"
outage_share = "0 %"
residual_loss = "0 %"
residual_loss_up = "0 %"
capacity = "{RATE_BPS // 1_000_000} Mbit/s"
capacity_up = "{RATE_BPS // 1_000_000} Mbit/s"
capacity_spread = "0 %"
wander = "0 %"
modulation = "0 %"
queue = "unlimited"
queue_up = "unlimited"
[[stations]]
name = "Tokyo"
[ground]
rate = "unshaped"
[routing]
link_interval = "1 s"
[[flows]]
kind = "ping"
source = "{{source}}"
destination = "{{destination}}"
# Probes never leave at the instant of an event.
start = "2500 us"
interval = "5 ms"
flood = true
"""


def made(folder, source, destination):
    (folder / "dish.toml").write_text(SCENARIO.format(source=source, destination=destination))
    return lw.run(folder / "dish.toml", out=folder / "run", report=False, progress=False)


def through_dish_ns(sent_ns):
    """Compute when packets leave the access link. They leave in order, at the rate of the link. A hold delays packets,
    and each packet also waits for half a frame."""
    free_ns, out_ns = 0, []
    for t_ns in sent_ns.tolist():
        at_ns = max(t_ns, free_ns)
        begun = RECONFIGURED_NS[max(bisect_right(RECONFIGURED_NS.tolist(), at_ns) - 1, 0)]
        if begun <= at_ns < begun + HOLD_NS:
            at_ns = int(begun) + HOLD_NS
        free_ns = at_ns + -(-PING_BYTES * 8 * S // RATE_BPS)
        out_ns.append(free_ns + FRAME_NS)
    return np.array(out_ns)


def timeline_of(run):
    return pq.read_table(run.path / "20-timeline.parquet")


def of(echoes):
    sent = echoes.sort_values(["sent_ns"], kind="stable")
    return sent["sent_ns"].to_numpy(), sent["received_ns"].to_numpy(float, na_value=np.nan)


@pytest.fixture(scope="module")
def away(tmp_path_factory):
    return made(tmp_path_factory.mktemp("away"), "Madrid", "Tokyo")


def test_packets_from_the_dish_arrive_when_hold_and_path_say(away):
    sent_ns, received_ns = of(away.echoes())
    expected_ns = arrivals_ns(timeline_of(away), through_dish_ns(sent_ns), "Madrid", "host:Tokyo")
    assert len(sent_ns) > 12_000
    assert not np.isnan(received_ns[:-100]).any()
    arrived = ~np.isnan(received_ns)
    assert np.abs(received_ns - expected_ns)[arrived].max() < STAMP_NS
    # Packets that were held leave together when the hold ends, in their order.
    held = (sent_ns >= RECONFIGURED_NS[0]) & (sent_ns < RECONFIGURED_NS[0] + HOLD_NS)
    assert held.sum() == HOLD_NS // (5 * MS)
    assert (np.diff(received_ns[held]) > 0).all()


def test_packets_to_the_dish_wait_behind_the_satellites(tmp_path):
    run = made(tmp_path, "Tokyo", "Madrid")
    sent_ns, received_ns = of(run.echoes())
    at_station_ns = arrivals_ns(timeline_of(run), sent_ns, "Tokyo", "host:Madrid").astype(np.int64)
    # A packet that takes a shorter path can reach the access link before a packet that was sent earlier. The access
    # link sends packets in the order in which they reach it.
    order = np.argsort(at_station_ns, kind="stable")
    expected_ns = np.empty_like(at_station_ns)
    expected_ns[order] = through_dish_ns(at_station_ns[order])
    arrived = ~np.isnan(received_ns)
    assert arrived[:-100].all()
    assert np.abs(received_ns - expected_ns)[arrived].max() < STAMP_NS


def test_the_order_changes_where_a_path_gets_shorter_and_nowhere_else(away):
    sent_ns, received_ns = of(away.echoes())
    expected_ns = arrivals_ns(timeline_of(away), through_dish_ns(sent_ns), "Madrid", "host:Tokyo")
    arrived = ~np.isnan(received_ns)
    late = [np.maximum.accumulate(times[arrived]) > times[arrived] for times in (received_ns, expected_ns)]
    assert (late[0] == late[1]).all()


def test_a_run_with_a_dish_is_the_same_again(away):
    command = [sys.executable, "-m", "leowarp", "verify", str(away.path), "--progress", "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
