# SPDX-License-Identifier: Apache-2.0
"""Tests runs that end when their flows have ended, and runs that record only how flows ended."""

import json

import pytest

import leowarp as lw
from leowarp import trace

pytestmark = pytest.mark.guest

TRANSFER = """
name = "transfer"
[run]
duration = "60 s"
ends = "flows"
linger = "700 ms"
[jittered]
delay = "20 ms"
jitter = "1 ms"
loss = "0.05 %"
[[flows]]
source = "A"
destination = "B"
size = "10 MB"
congestion_control = "cubic"
"""
UNLIMITED = """
[[flows]]
source = "A"
destination = "B"
congestion_control = "reno"
"""
PROBES = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "100 B"
start = "1 s"
packets = 30
packet_rate = "7 pkts/s"
"""
BLIND = {
    "observe.truth": False, "observe.sockets": "none", "observe.counters": "none", "observe.queues": "none",
    "observe.packets": "none",
}  # fmt: skip


def run_of(tmp_path, text: str, name: str = "run", changes=()) -> lw.Run:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return lw.run(path, changes, tmp_path / name, report=False, progress=False)


def end_ns(run: lw.Run) -> int:
    """Return the time of the run's end, from the metadata of a table."""
    return json.loads(run.table("flows").schema.metadata[b"virtual_ns"])


def test_a_run_is_over_a_while_after_its_last_transfer(tmp_path):
    # Counters are recorded only when they have changed, and none changes after the last byte. With an interval of 10 s,
    # counters are first read at the run's end.
    run = run_of(tmp_path, TRANSFER, changes={"observe.counters": "10 s"})
    flow = run.flows().iloc[0]
    # The receiver reads the end of the stream together with the last payload, or after it. The receiver reads the clock
    # after it has read the end of the stream.
    after_ns = end_ns(run) - 700_000_000 - flow.last_byte_ns
    assert 0 <= after_ns < 2000
    assert flow.completion_ns == flow.last_byte_ns
    assert flow.bytes == 10_000_000
    # nothing is observed after the run's end, and counters are read exactly at the end
    for name in ("sockets", "counters", "bins", "links"):
        assert max(run.table(name)["t_ns"].to_pylist()) <= end_ns(run), name
    assert max(run.table("counters")["t_ns"].to_pylist()) == end_ns(run)
    assert run.reordering(scope="run")["end_ns"].tolist() == [end_ns(run)]


def test_the_last_of_several_flows_counts_and_one_without_an_end_is_cut_off(tmp_path):
    run = run_of(tmp_path, TRANSFER + UNLIMITED + PROBES)
    # packet 29 of the probes is due at 1 s + 29/7 s, when the transfer has already ended
    flows = run.flows().set_index("flow")
    assert flows.loc[0].completion_ns < 5e9
    assert end_ns(run) == 1_000_000_000 + 29_000_000_000 // 7 + 700_000_000
    assert flows["completion_ns"].isna().tolist() == [False, True, True]
    sent_ns = run.packets(flow=1)["sent_ns"]
    assert len(sent_ns) > 0
    assert sent_ns.max() < end_ns(run)
    last = run.sockets(flow=1)["t_ns"].max()
    assert last == end_ns(run)
    assert len(run.echoes()) == 30


def test_a_flow_that_is_stopped_or_fails_has_ended(tmp_path):
    stopped = run_of(tmp_path, TRANSFER + 'stop = "300 ms"\n', "stopped")
    assert end_ns(stopped) == 1_000_000_000
    assert stopped.flows()["completion_ns"].isna().all()
    # no host answers, so the connection fails after timeouts of 1 s and 2 s
    refused = TRANSFER.replace('"0.05 %"', '"100 %"') + '[tcp]\nsysctl = { "net.ipv4.tcp_syn_retries" = "1" }\n'
    failed = run_of(tmp_path, refused, "failed")
    assert 3e9 < end_ns(failed) - 700_000_000 < 4e9
    assert failed.flows()["error"].tolist() == [110]


def test_a_run_ends_with_its_duration_if_that_comes_first(tmp_path):
    run = run_of(tmp_path, TRANSFER, changes={"run.duration": "1 s"})
    assert end_ns(run) == 1_000_000_000
    assert run.summary["virtual_s"] == 1


def test_what_is_not_looked_at_goes_the_same(tmp_path):
    seen, blind = run_of(tmp_path, TRANSFER, "seen"), run_of(tmp_path, TRANSFER, "blind", BLIND)
    tables = {path.stem for path in (blind.path / "30-trace").iterdir()}
    assert tables == {"sockets", "counters", "drops", "flows", "linktotals"}
    with_truth, without = seen.flows().iloc[0], blind.flows().iloc[0]
    # one of the two times comes from the reader's clock, the other one from the capture. A reading of the clock takes
    # 256 ns
    assert 0 <= without.completion_ns - with_truth.completion_ns <= 3000
    assert (without.bytes, without.error) == (10_000_000, 0)
    assert without[["first_byte_ns", "last_byte_ns"]].isna().all()
    # the only sample is taken at the end, and has the totals
    assert blind.sockets()["t_ns"].tolist() == [end_ns(blind)]
    totals = ["bytes_acked", "segs_out_pkts", "retrans_pkts", "dsack_pkts", "reord_seen", "rcv_ooopack_pkts"]
    assert blind.sockets()[totals].iloc[-1].tolist() == seen.sockets()[totals].iloc[-1].tolist()
    assert blind.sockets()["reord_seen"].iloc[-1] > 0
    counters = [trace.read(run.path / "30-trace", "counters").to_pandas() for run in (seen, blind)]
    last = [c.groupby(["host", "counter"])["value"].last().to_dict() for c in counters]
    assert last[0] == last[1]
    assert blind.table("linktotals").equals(seen.table("linktotals"))


def test_without_truth_links_still_tell_what_they_dropped_and_add_up(tmp_path):
    text = """
name = "blind"
[run]
duration = "3 s"
[chain]
hops = 1
rate = "5 Mbit/s"
queue = "20 pkts"
loss = "1 %"
[[flows]]
source = "A"
destination = "B"
congestion_control = "cubic"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
interval = "10 ms"
"""
    seen, blind = run_of(tmp_path, text, "seen"), run_of(tmp_path, text, "blind", {"observe.truth": False})
    assert blind.table("linktotals").equals(seen.table("linktotals"))
    drops = [run.drops()[["t_ns", "direction", "cause"]].sort_values(["t_ns", "direction"]) for run in (seen, blind)]
    assert len(drops[0]) > 20
    assert drops[0].to_numpy().tolist() == drops[1].to_numpy().tolist()
    assert blind.drops()["flow"].isna().all()
    # The count of a transfer contains the bytes that its receiver got in order. The count includes bytes that were in
    # flight at the end and arrived afterwards. Packets of probes are not counted.
    flows = blind.flows().set_index("flow")
    assert seen.sockets(flow=0)["bytes_received"].iloc[-1] <= flows.loc[0].bytes <= seen.flows().loc[0].bytes
    assert flows["bytes"].isna().tolist() == [False, True]
    assert (
        json.loads((blind.path / "manifest.json").read_text())["files"].keys().isdisjoint({"30-trace/packets.parquet"})
    )
