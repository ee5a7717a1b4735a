# SPDX-License-Identifier: Apache-2.0
"""Tests the measurements of leowarp's own programs over a chain whose times can be computed by hand."""

import hashlib
import json
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.base.errors import TraceError

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
MS = 10**6
DELAY_NS = 10 * MS
RATE_BPS = 20_000_000
HEADERS_BYTES = 14 + 52
"""The length of all headers in bytes: Ethernet (14), IPv4 (20), TCP (20), and TCP's timestamps (12). The Ethernet
header counts towards a link's rate."""
SYN_BYTES = 14 + 60
MSS_BYTES = 1448

CHAIN = """
name = "measures"
[run]
duration = "{duration}"
ends = "flows"
[chain]
hops = 1
delay = "10 ms"
rate = "20 Mbit/s"
queue = "100 pkts"
[[flows]]
kind = "program"
source = "B"
destination = "A"
client_at = "destination"
port = 8080
server = {server}
client = {client}
"""


def run_of(
    folder: Path, client: str, server: str = "", duration: str = "20 s", name: str = "run", changes=()
) -> lw.Run:
    """Make a run of one program at A, with leowarp's server at B."""
    serve = "python3 {applications} serve {port} " + server
    path = folder / "scenario.toml"
    client = "python3 {applications} " + client
    path.write_text(CHAIN.format(duration=duration, server=json.dumps(serve), client=json.dumps(client)))
    return lw.run(path, changes, folder / "run", report=False, progress=False, trust=True)


def sending_ns(*lengths_bytes: int) -> float:
    """Return the time in ns that the bottleneck needs to send packets of these lengths."""
    return sum(lengths_bytes) * 8e9 / RATE_BPS


def answer_bytes(length: int) -> list[int]:
    """Return the lengths of an answer's packets. The answer consists of a header and a body of `length` bytes. The
    answer must fit into the first window."""
    full, rest = divmod(len(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n") + length, MSS_BYTES)
    return [*[HEADERS_BYTES + MSS_BYTES] * full, *([HEADERS_BYTES + rest] if rest else [])]


def request_bytes(path: str) -> int:
    """Return the length of a packet that requests `path` from the host B, which has the address 10.1.0.2."""
    return HEADERS_BYTES + len(f"GET {path} HTTP/1.1\r\nHost: 10.1.0.2\r\n\r\n")


PACKET_NS = sending_ns(1514)
"""The tolerance of sending times. It is needed because the kernel decides when it sends pure acknowledgements. The
acknowledgements of one round trip need less sending time than a packet."""


def test_a_transaction_takes_a_round_trip_and_the_sending_of_its_packets(tmp_path):
    run = run_of(tmp_path, "transactions {server} {port} --count 3 --interval 1 --answer 10000")
    rows = run.measures(flow=0, kind="transaction")
    there_ns = DELAY_NS + sending_ns(request_bytes("/bytes/10000"))
    assert rows["number"].tolist() == [0, 1, 2]
    assert rows["bytes"].tolist() == [10000] * 3
    for row in rows.itertuples():
        first_ns = there_ns + DELAY_NS + sending_ns(answer_bytes(10000)[0])
        whole_ns = there_ns + DELAY_NS + sending_ns(*answer_bytes(10000))
        assert row.first_byte_ns - row.request_ns == pytest.approx(first_ns, abs=PACKET_NS)
        assert row.end_ns - row.request_ns == pytest.approx(whole_ns, abs=PACKET_NS)
    # The first request includes the time of the handshake.
    handshake_ns = rows["request_ns"] - rows["start_ns"]
    assert handshake_ns[0] == pytest.approx(2 * DELAY_NS + 2 * sending_ns(SYN_BYTES), abs=PACKET_NS)
    assert handshake_ns[1:].max() < 10_000, "there is a connection"
    flow = run.summary["flows"][0]
    assert (flow["transactions"], flow["transactions_failed"], flow["connections"]) == (3, 0, 1)
    assert flow["first_byte_p50_ns"] == int((rows["first_byte_ns"] - rows["start_ns"]).median())
    # The times of programs and of packets come from the same clock. The compared time is that of the first byte at the
    # receiver's host.
    connection = run.flows().iloc[1]
    assert 0 < rows["first_byte_ns"][0] - connection["first_byte_ns"] < 10_000


def test_a_page_of_one_object_takes_handshake_request_and_answer(tmp_path):
    page = tmp_path / "page.toml"
    page.write_text('[[objects]]\npath = "/"\nbytes = 12000\n')
    run = run_of(tmp_path, f"page {{server}} {{port}} --page {page}", f"--page {page}")
    handshake_ns = 2 * DELAY_NS + 2 * sending_ns(SYN_BYTES)
    # The ACK that ends the handshake is sent before the request.
    there_ns = DELAY_NS + sending_ns(HEADERS_BYTES, request_bytes("/"))
    back_ns = DELAY_NS + sending_ns(*answer_bytes(12000))
    flow = run.summary["flows"][0]
    assert flow["page_load_p50_ns"] == pytest.approx(handshake_ns + there_ns + back_ns, abs=PACKET_NS)
    assert (flow["pages"], flow["page_objects"], flow["connections"]) == (1, 1, 1)


def test_an_object_is_asked_for_once_the_one_that_names_it_is_there(tmp_path):
    page = tmp_path / "page.toml"
    text = '[[objects]]\npath = "/"\nbytes = 1000\n'
    text += '[[objects]]\npath = "/{}"\nbytes = 1000\nafter = "/"\ncount = 8\ndelay_ms = 30\n'
    page.write_text(text + '[[objects]]\npath = "/last"\nbytes = 1000\nafter = "/7"\n')
    run = run_of(tmp_path, f"page {{server}} {{port}} --page {page} --connections 4", f"--page {page}")
    rows = run.measures(flow=0, kind="object").set_index("name")
    began = rows["start_ns"] - rows["end_ns"]["/"]
    # epoll can wait only for whole milliseconds
    assert began.drop(["/", "/last"]).between(30 * MS, 32 * MS).all()
    assert 0 <= rows["start_ns"]["/last"] - rows["end_ns"]["/7"] < MS
    # One of the eight requests uses the open connection, and three wait for a handshake. One object waits for the
    # answer to an earlier request on the open connection. This wait is as long as a handshake. The last three objects
    # wait for two answers instead of one.
    waited_rtts = sorted(((rows["request_ns"] - rows["start_ns"]).drop(["/", "/last"]) / (2 * DELAY_NS)).tolist())
    assert waited_rtts == pytest.approx([0, 1, 1, 1, 1, 2, 2, 2], abs=0.15)
    assert rows["connection"].nunique() == 4


def test_by_http_2_all_objects_are_asked_for_at_once_over_one_connection(tmp_path):
    page = tmp_path / "page.toml"
    page.write_text(
        '[[objects]]\npath = "/"\nbytes = 1000\n[[objects]]\npath = "/{}"\nbytes = 600\nafter = "/"\ncount = 20\n'
    )
    run = run_of(tmp_path, f"page {{server}} {{port}} --page {page} --http 2", f"--page {page}")
    rows = run.measures(flow=0, kind="object").set_index("name")
    assert (len(rows), run.summary["flows"][0]["connections"]) == (21, 1)
    others = rows.drop("/")
    # All requests together take one round trip, plus the transmission of twenty answers. Each answer has 634 bytes: 600
    # bytes of content, and 34 bytes for two frames and the status.
    assert (others["request_ns"] - rows["end_ns"]["/"]).max() < MS
    took_ns = others["end_ns"].max() - others["request_ns"].min()
    assert took_ns == pytest.approx(2 * DELAY_NS + sending_ns(20 * 634 * 1514 // 1448), abs=2 * PACKET_NS)


AIOQUIC = Path("/var/tmp/leowarp-programs/aioquic/bin/python3")


@pytest.mark.skipif(not AIOQUIC.exists(), reason=f"{AIOQUIC} is missing (sh examples/programs/build.sh aioquic)")
def test_by_http_3_a_page_takes_a_round_trip_for_each_generation_and_one_for_the_handshake(tmp_path):
    page = tmp_path / "page.toml"
    page.write_text(
        '[[objects]]\npath = "/"\nbytes = 2000\n[[objects]]\npath = "/{}"\nbytes = 500\nafter = "/"\ncount = 4\n'
    )
    text = CHAIN.replace("{server}", f'"{AIOQUIC} {{{{applications}}}} serve {{{{port}}}} --http3 --page {page}"')
    text = text.replace(
        "{client}", f'"{AIOQUIC} {{{{applications}}}} page {{{{server}}}} {{{{port}}}} --http 3 --page {page}"'
    )
    (tmp_path / "scenario.toml").write_text(text.format(duration="10 s"))
    run = lw.run(tmp_path / "scenario.toml", (), tmp_path / "run", report=False, progress=False, trust=True)
    flow = run.summary["flows"][0]
    assert (flow["pages"], flow["page_objects"], flow["connections"]) == (1, 5, 1)
    assert [each["kind"] for each in run.summary["flows"][1:]] == ["udp"]
    # QUIC's handshake with TLS takes one round trip, and the first object takes another. The other objects take a third
    # one.
    assert flow["page_load_p50_ns"] == pytest.approx(3 * 2 * DELAY_NS, abs=6 * MS)


def test_the_examples_measure_the_same_each_time(tmp_path):
    def one(name: str, out: str) -> tuple[lw.Run, dict[str, str]]:
        run = lw.run(EXAMPLES / f"{name}.toml", (), tmp_path / out, report=False, progress=False)
        files = sorted((run.path / "30-trace").iterdir())
        return run, {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    (run, first), (_, again) = one("page", "first"), one("page", "again")
    assert "measures.parquet" in first
    assert first == again
    assert [(flow["page_objects"], flow["connections"]) for flow in run.summary["flows"][:2]] == [(55, 6), (55, 1)]
    assert len(run.figure("waterfall").axes) == 2
    assert run.measures(flow=1)["bytes"].sum() == 2 * 1_894_016, "of the objects, and of the page"


def test_what_a_program_of_ones_own_hands_in_is_read_and_what_is_wrong_is_named(tmp_path):
    client = 'sh -c \'echo {\\"kind\\": \\"%s\\", \\"start_ns\\": $(date +%%s%%N), \\"x\\": 1} > measures.jsonl\''
    path = tmp_path / "scenario.toml"
    text = CHAIN.replace("server = {server}\n", "")

    def one(kind: str, name: str) -> lw.Run:
        path.write_text(text.format(duration="2 s", client=json.dumps(client % kind)))
        return lw.run(path, (), tmp_path / name, report=False, progress=False, trust=True)

    row = one("mine", "run").measures().iloc[0]
    assert (row["kind"], row["role"], row["other"]) == ("mine", "client", '{"x": 1}')
    # The shell starts at time 0, and runs `date` before it starts the program.
    assert 0 < row["start_ns"] < 10 * MS
    with pytest.raises(TraceError, match=r"measures.jsonl, line 1: a line of kind frame needs `number`"):
        one("frame", "wrong")


CUT = """
name = "cut"
[run]
duration = "40 s"
ends = "flows"
[measured]
file = "path.csv"
queue = "500 pkts"
[[flows]]
kind = "program"
source = "A"
destination = "B"
client_at = "destination"
port = 8080
server = {server}
client = {client}
"""


def over_a_path(folder: Path, server: str, client: str, cut_s: tuple[float, float] | None = None) -> lw.Run:
    """Make a run of two programs over a path of 10 ms and 20 Mbit/s. The capacity is 0 in the interval `cut_s`."""
    folder.mkdir()
    rows = ["0,10,20,0"] if cut_s is None else ["0,10,20,0", f"{cut_s[0]},10,0,0", f"{cut_s[1]},10,20,0"]
    (folder / "path.csv").write_text("\n".join(["t_s,delay_ms,rate_mbps,loss_ratio", *rows, ""]))
    lines = [json.dumps(f"python3 {{applications}} {words}") for words in (server, client)]
    (folder / "scenario.toml").write_text(CUT.format(server=lines[0], client=lines[1]))
    return lw.run(folder / "scenario.toml", (), folder / "run", report=False, progress=False, trust=True)


def test_a_video_below_the_capacity_never_stalls_and_one_above_it_stalls_by_what_is_missing(tmp_path):
    run = run_of(tmp_path, "video {server} {port} --rule fixed:0", "--ladder 4000 --segment 1 --media 8")
    flow = run.summary["flows"][0]
    assert (flow["segments"], flow["stalls"], flow["stalled_ns"], flow["bitrate_mean_bps"]) == (8, 0, 0, 4e6)
    segment_ns = sending_ns(500_000 * (HEADERS_BYTES + MSS_BYTES) // MSS_BYTES)
    # The upper limit allows seven round trips for the handshake, the manifest, and a first window that doubles until
    # 500 kB have arrived.
    assert segment_ns < flow["startup_ns"] < segment_ns + 7 * 2 * DELAY_NS
    # 8 s is the time from the first picture to the last
    assert flow["client_end_ns"] == pytest.approx(5e8 + flow["startup_ns"] + 8e9, rel=0.02)
    above = over_a_path(
        tmp_path / "above", "serve {port} --ladder 25000 --segment 1 --media 8", "video {server} {port} --rule fixed:0"
    )
    flow = above.summary["flows"][0]
    # From the second segment on, a segment plays for one second. Its request takes a round trip, and its transfer takes
    # 1.307 s.
    segment_ns = sending_ns(25_000_000 // 8 * (HEADERS_BYTES - 14 + MSS_BYTES) // MSS_BYTES)
    assert flow["stalls"] == 7
    assert len(above.figure("playback").axes) == 2
    assert flow["stalled_ns"] == pytest.approx(7 * (segment_ns + 2 * DELAY_NS - 1e9), rel=0.05)


def test_a_video_is_played_over_http_2_as_over_http_1(tmp_path):
    flow = run_of(
        tmp_path, "video {server} {port} --http 2 --rule fixed:0", "--ladder 4000 --segment 1 --media 4"
    ).summary["flows"][0]
    assert (flow["segments"], flow["stalls"], flow["bitrate_mean_bps"], flow["connections"]) == (4, 0, 4e6, 1)


def test_a_cut_stalls_a_live_video_for_as_long_as_its_buffer_falls_short_and_puts_it_behind(tmp_path):
    server = "serve {port} --ladder 4000 --segment 1 --live"
    client = "video {server} {port} --rule fixed:0 --latency 3 --play 25"
    whole = over_a_path(tmp_path / "whole", server, client)
    cut = over_a_path(tmp_path / "cut", server, client, (10, 15))
    before, after = (run.measures(kind="segment").set_index("number") for run in (whole, cut))
    assert whole.summary["flows"][0]["stalls"] == 0
    assert before["latency_ns"].nunique() == 1, "who never waits stays as far behind"
    stall = cut.measures(kind="stall").iloc[0]
    # `late` is the index of the first frame that arrived after the outage.
    late = after[after["end_ns"] > 15e9].index[0]
    last = after.loc[late - 1]
    assert last["end_ns"] == before.loc[late - 1]["end_ns"] < 11e9
    assert stall["start_ns"] == last["end_ns"] + last["buffer_ns"]
    assert stall["end_ns"] == after["end_ns"][late]
    # After the outage, the link sends the packets that waited. The segment is late by the length of the outage, plus
    # the time that the sender's timeouts cost.
    assert after["end_ns"][late] - before["end_ns"][late] == pytest.approx(5e9, abs=0.5e9)
    flow = cut.summary["flows"][0]
    assert flow["stalls"] == 1
    assert flow["stalled_ns"] == stall["end_ns"] - stall["start_ns"]
    assert flow["live_latency_max_ns"] - after["latency_ns"].min() == flow["stalled_ns"]


def test_a_frame_takes_the_delay_and_the_sending_of_its_packets_and_a_cut_is_one_freeze(tmp_path):
    client = "frames {server} {port} --rate 30 --bitrate 2000 --seconds 5"
    run = over_a_path(tmp_path / "whole", "send-frames {port}", client)
    flow = run.summary["flows"][0]
    packets = [*[1200 + 28] * 6, 8333 - 7200 + 28]
    assert (flow["frames"], flow["frames_lost"], flow["freezes"], flow["frozen_ns"]) == (150, 0, 0, 0)
    for name in ("frame_delay_p50_ns", "frame_delay_p99_ns"):
        assert flow[name] == pytest.approx(DELAY_NS + sending_ns(*packets), abs=100_000), name
    connection = next(one for one in run.summary["flows"] if one["kind"] == "udp")
    assert connection["probes_pkts"] == 150 * 7
    cut = over_a_path(tmp_path / "cut", "send-frames {port}", client, (3, 4))
    flow = cut.summary["flows"][0]
    assert (flow["frames"], flow["frames_lost"], flow["freezes"]) == (150, 0, 1)
    # The freeze lasts from the last frame before the outage to the first frame after it, so it may include a part of a
    # frame's interval before the outage.
    assert 1e9 - 20 * MS < flow["frozen_ns"] < 1e9 + 40 * MS
    assert flow["frame_delay_p99_ns"] > 900 * MS
