# SPDX-License-Identifier: Apache-2.0
"""What the programs that come with leowarp measure, over a chain where each time can be worked out by hand."""

import hashlib
import json
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.errors import TraceError

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
MS = 10**6
DELAY_NS = 10 * MS
RATE_BPS = 20_000_000
HEADERS_BYTES = 52
"""IPv4 (20), TCP (20) and time stamps (12)."""
SYN_BYTES = 60
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
    """The run of one of the programs against the server of ours, the client at A."""
    serve = "python3 {applications} serve {port} " + server
    path = folder / "scenario.toml"
    client = "python3 {applications} " + client
    path.write_text(CHAIN.format(duration=duration, server=json.dumps(serve), client=json.dumps(client)))
    return lw.run(path, changes, folder / "run", report=False, progress=False, trust=True)


def sending_ns(*lengths_bytes: int) -> float:
    """How long the bottleneck takes to send packets of these lengths."""
    return sum(lengths_bytes) * 8e9 / RATE_BPS


def answer_bytes(length: int) -> list[int]:
    """Lengths of the packets of an answer that fits into the first window: its head, then the body."""
    head = len(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
    full, rest = divmod(length, MSS_BYTES)
    return [HEADERS_BYTES + head, *[HEADERS_BYTES + MSS_BYTES] * full, *([HEADERS_BYTES + rest] if rest else [])]


def request_bytes(path: str) -> int:
    """Length of the packet of a request to the host 10.1.0.2, which is B."""
    return HEADERS_BYTES + len(f"GET {path} HTTP/1.1\r\nHost: 10.1.0.2\r\n\r\n")


PACKET_NS = sending_ns(1500)
"""Where acknowledgements go by themselves is the kernel's affair; those of a round are less than a packet."""


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
    # The first one has the handshake in it
    handshake_ns = rows["request_ns"] - rows["start_ns"]
    assert handshake_ns[0] == pytest.approx(2 * DELAY_NS + 2 * sending_ns(SYN_BYTES), abs=PACKET_NS)
    assert handshake_ns[1:].max() < 10_000, "there is a connection"
    flow = run.summary["flows"][0]
    assert (flow["transactions"], flow["transactions_failed"], flow["connections"]) == (3, 0, 1)
    assert flow["first_byte_p50_ns"] == int((rows["first_byte_ns"] - rows["start_ns"]).median())
    # The clocks of programs and packets are one: the connection's own first byte at the receiver's host
    connection = run.flows().iloc[1]
    assert 0 < rows["first_byte_ns"][0] - connection["first_byte_ns"] < 10_000


def test_a_page_of_one_object_takes_handshake_request_and_answer(tmp_path):
    page = tmp_path / "page.toml"
    page.write_text('[[objects]]\npath = "/"\nbytes = 12000\n')
    run = run_of(tmp_path, f"page {{server}} {{port}} --page {page}", f"--page {page}")
    handshake_ns = 2 * DELAY_NS + 2 * sending_ns(SYN_BYTES)
    # The ACK of the handshake goes before the request.
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
    # epoll waits in whole milliseconds
    assert began.drop(["/", "/last"]).between(30 * MS, 32 * MS).all()
    assert 0 <= rows["start_ns"]["/last"] - rows["end_ns"]["/7"] < MS
    # Of the eight one goes over the connection that is open; three wait for a handshake, and one as long for the first
    # answer; the last three wait for an answer more.
    waited_rtts = sorted(((rows["request_ns"] - rows["start_ns"]).drop(["/", "/last"]) / (2 * DELAY_NS)).tolist())
    assert waited_rtts == pytest.approx([0, 1, 1, 1, 1, 2, 2, 2], abs=0.15)
    assert rows["connection"].nunique() == 4


def test_the_examples_measure_the_same_each_time(tmp_path):
    def one(name: str, out: str) -> tuple[lw.Run, dict[str, str]]:
        run = lw.run(EXAMPLES / f"{name}.toml", (), tmp_path / out, report=False, progress=False)
        files = sorted((run.path / "30-trace").iterdir())
        return run, {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    (run, first), (_, again) = one("page", "first"), one("page", "again")
    assert "measures.parquet" in first
    assert first == again
    assert (run.summary["flows"][0]["page_objects"], run.summary["flows"][0]["connections"]) == (55, 6)
    assert run.measures()["bytes"].sum() == 2 * 1_894_016, "of the objects, and of the page"


def test_what_a_program_of_ones_own_hands_in_is_read_and_what_is_wrong_is_named(tmp_path):
    client = 'sh -c \'echo {\\"kind\\": \\"%s\\", \\"start_ns\\": $(date +%%s%%N), \\"x\\": 1} > measures.jsonl\''
    path = tmp_path / "scenario.toml"
    text = CHAIN.replace("server = {server}\n", "")

    def one(kind: str, name: str) -> lw.Run:
        path.write_text(text.format(duration="2 s", client=json.dumps(client % kind)))
        return lw.run(path, (), tmp_path / name, report=False, progress=False, trust=True)

    row = one("mine", "run").measures().iloc[0]
    assert (row["kind"], row["role"], row["other"]) == ("mine", "client", '{"x": 1}')
    # The shell starts at 0; date has been started
    assert 0 < row["start_ns"] < 10 * MS
    with pytest.raises(TraceError, match=r"measures.jsonl, line 1: a line of kind frame needs `number`"):
        one("frame", "wrong")
