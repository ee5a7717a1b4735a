# SPDX-License-Identifier: Apache-2.0
"""Tests that every packet over a mobile channel gets exactly the delay or loss of the channel model."""

import numpy as np
import pytest

import leowarp as lw
from leowarp.media import timeline_of
from leowarp.media.mobile import rows_of
from leowarp.scenario import load, resolve

pytestmark = pytest.mark.guest

SECOND_NS = 1_000_000_000
FORWARD_NS = 80_000_000
# Transmission time of 1,115 bytes of IP at 40 Mbit/s
TRANSMISSION_NS = 223_000
SCENARIO = """
name = "mobile"
[run]
duration = "20 s"
[mobile]
{keys}
[observe]
queues = "none"
counters = "none"
packets = "none"
reordering_window = "none"
[[flows]]
kind = "udp"
source = "server"
destination = "mobile"
payload = "1087 B"
packet_rate = "2000 pkts/s"
"""


def probed(folder, keys, overrides=()):
    """Make a run with a stream of probes. Return the echoes, the plan, and the run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mobile.toml"
    path.write_text(SCENARIO.format(keys=keys))
    run = lw.run(path, overrides, out=folder / "run", report=False, progress=False)
    return run.echoes().sort_values("sent_ns"), resolve(load(path, overrides)), run


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mobile")
    return {
        flag: probed(folder / str(flag), f'snr = "7 dB"\nresequencing = {str(flag).lower()}') for flag in (True, False)
    }


@pytest.mark.parametrize("resequencing", [True, False])
def test_delays_and_losses_of_a_stream_are_those_that_the_channel_computed(both, resequencing):
    echoes, plan, _ = both[resequencing]
    rows, _ = rows_of(plan, plan.medium)
    sent_ns = echoes["sent_ns"].to_numpy("int64")
    begun_ns = sent_ns + FORWARD_NS
    row = np.searchsorted(rows.t_ns, begun_ns, side="right") - 1
    due_ns = begun_ns + TRANSMISSION_NS + rows.delay_ns[row]
    if resequencing:
        # A lost packet also delays the packets behind it, until the link stops waiting for the lost packet.
        due_ns = np.maximum.accumulate(due_ns)
    # A packet in flight at the run's end has neither arrived nor been lost.
    known = due_ns < 20 * SECOND_NS
    lost = rows.loss_ratio[row] == 1
    assert (echoes["received_ns"].isna().to_numpy() == lost)[known].all()
    assert 0.02 < lost.mean() < 0.16
    arrived = known & ~lost
    late_ns = echoes["received_ns"][arrived].to_numpy("int64") - due_ns[arrived]
    assert arrived.sum() > 30_000
    assert np.abs(late_ns).max() <= 1_000


def test_with_resequencing_no_packet_overtakes_and_without_many_do(both):
    densities = {flag: run.densities(flow=0, scope="run", kind="density") for flag, (_, _, run) in both.items()}
    assert densities[True]["index"].tolist() == [0]
    assert len(densities[False]) > 20


def test_a_path_that_loses_everything_ends_as_a_finished_run(tmp_path):
    echoes, _, run = probed(tmp_path, 'snr = "-40 dB"')
    assert len(echoes) == 40_000
    assert echoes["received_ns"].isna().all()
    assert run.summary["flows"][0]["lost_pkts"] > 39_000
    assert any("nothing arrived of " in warning for warning in run.warnings)


ROUTED = '''
fading = false
delays = "constellation"
[constellation]
preset = "tauran-study"'''


def test_over_a_constellation_a_stream_is_as_late_as_its_route_and_stays_in_order(tmp_path):
    overrides = {"run.duration": "100 s", "flows.0.packet_rate": "300 pkts/s"}
    echoes, plan, run = probed(tmp_path, ROUTED, overrides)
    # The path becomes shorter by 0.2 ms at 80 s, and by 5 ms at 90 s.
    assert (run.summary["route_changes"], run.summary["route_changes_shorter"]) == (2, 2)
    events = timeline_of(plan).to_pandas()
    forward = events[(events["event"] == "delay") & (events["a"] == "gateway")]
    sent_ns = echoes["sent_ns"].to_numpy("int64")
    row = np.searchsorted(forward["t_ns"].to_numpy(), sent_ns, side="right") - 1
    at_satellite_ns = np.maximum.accumulate(sent_ns + forward["delay_ns"].to_numpy("int64")[row])
    # If packets arrive together because the delay has fallen, the link sends them one after the other.
    number = np.arange(len(sent_ns))
    begun_ns = np.maximum.accumulate(at_satellite_ns - number * TRANSMISSION_NS) + number * TRANSMISSION_NS
    due_ns = begun_ns + TRANSMISSION_NS + plan.medium.first_delay_ns
    known = due_ns < 100 * SECOND_NS
    late_ns = echoes["received_ns"][known].to_numpy("int64") - due_ns[known]
    assert known.sum() > 29_000
    assert np.abs(late_ns).max() <= 1_000
