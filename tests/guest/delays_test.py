# SPDX-License-Identifier: Apache-2.0
"""Tests that the guest's histogram of delays agrees with the packets' delays."""

import numpy as np
import pytest

from leowarp import ephemeris, guest, media, scenario, trace
from leowarp.metrics import ACK, DATA, ROUND_TRIP, delays, metrics, quantile, tables_of
from leowarp.metrics.per_flow.delays import QUANTILES
from support.synthetic.delays import delay_rows, exact_round_trips, one_way_ns

pytestmark = pytest.mark.guest

# Jitter reorders the data packets of the first flow, and the acknowledgements of the second. Both flows lose packets.
JITTERED = """
name = "jittered"
[run]
duration = "6 s"
[jittered]
delay = "20 ms"
jitter = "3 ms"
loss = "0.5 %"
rate = "60 Mbit/s"
rate_up = "60 Mbit/s"
[[flows]]
source = "A"
destination = "B"
congestion_control = "reno"
[[flows]]
source = "B"
destination = "A"
congestion_control = "cubic"
stop = "5 s"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
interval = "50 ms"
"""
ACCESS = """
name = "access"
[run]
duration = "16 s"
[access]
profile = "starlink"
preset = "peak"
[[flows]]
source = "server"
destination = "dish"
congestion_control = "cubic"
[[flows]]
kind = "udp"
source = "dish"
destination = "server"
rate = "1 Mbit/s"
"""


def plan_of(folder, text, **settings):
    path = folder / "scenario.toml"
    path.write_text(text)
    return scenario.resolve(scenario.load(path, {key.replace("__", "."): value for key, value in settings.items()}))


def run_each(plans, folder):
    """Run each plan in the guest, and return the guest's output directories."""
    found = []
    for number, plan in enumerate(plans):
        run_dir = folder / str(number)
        run_dir.mkdir(parents=True)
        timeline = media.timeline_of(plan, ephemeris.ephemeris_of(plan))
        found.append(guest.run(guest.guest_image("default"), plan, timeline, run_dir).out_dir)
    return found


def values(frame):
    """Return rows of the table `delays` as numbers, with -1 for a missing value."""
    return frame.astype("Int64").fillna(-1).to_numpy(dtype="int64").tolist()


@pytest.mark.parametrize("text", [JITTERED, ACCESS], ids=["jittered", "access"])
def test_every_packet_is_counted_in_the_bin_of_its_delay_whatever_is_stored(tmp_path, text):
    plan = plan_of(tmp_path, text, observe__packets="all")
    every, none = run_each([plan, plan_of(tmp_path, text, observe__packets="none")], tmp_path)
    assert (every / "delays.rec").read_bytes() == (none / "delays.rec").read_bytes()
    tables = tables_of(trace.read_output(every))
    summary = metrics(tables, plan).summary["flows"]
    for number, flow in enumerate(plan.flows):
        packets = tables.of_flow("packets", number)
        data, back = (packets[packets["direction"] == way].sort_values("sent_ns", kind="stable") for way in (DATA, ACK))
        if flow.kind == "tcp":
            assert values(tables.of_flow("delays", number)) == values(delay_rows(number, data, back))
            answers = back["received_ns"].dropna()
            assert answers.is_monotonic_increasing == (text == ACCESS or flow.source == "A")
        exact = {DATA: one_way_ns(data), ACK: one_way_ns(back), ROUND_TRIP: exact_round_trips(data, back)[0]}
        for quantity, delay_ns in exact.items():
            found = delays(tables, number, quantity)
            if quantity == ROUND_TRIP and flow.kind != "tcp":
                assert found.total_pkts == found.unanswered_pkts == 0
                continue
            assert found.total_pkts == len(delay_ns)
            for q in QUANTILES.values():
                if len(delay_ns):
                    off_ns = abs(found.quantile_ns(q) - quantile(delay_ns, q))
                    assert off_ns <= found.error_ns(q) <= 8192
        if flow.kind == "tcp":
            rtt_ns = exact[ROUND_TRIP]
            row = summary[number]
            assert (row["rtt_min_ns"], row["rtt_max_ns"]) == (rtt_ns.min(), rtt_ns.max())
            assert row["rtt_mean_ns"] == round(float(np.mean(rtt_ns)))
            assert abs(row["rtt_p99_ns"] - quantile(rtt_ns, 0.99)) <= row["rtt_error_ns"]


def test_without_packet_truth_there_is_no_table(tmp_path):
    plan = plan_of(tmp_path, JITTERED, observe__truth=False, observe__packets="none")
    (out,) = run_each([plan], tmp_path)
    assert not (out / "delays.rec").exists()
    assert (out / "sockets.rec").exists()
