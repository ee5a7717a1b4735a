# SPDX-License-Identifier: Apache-2.0
"""Tests users' programs in the guest: their output and packets, how they end, and the rights that they lack."""

import hashlib
import json
import shutil
import socket
import sys
from functools import partial
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.base.errors import GuestError
from leowarp.guest.boot import drive
from leowarp.guest.machine.session import output_of
from leowarp.report import write_report
from leowarp.scenario import load, resolve
from support.program_runs import CHAIN, run_of, said

pytestmark = pytest.mark.guest

PYTHON = Path(sys.executable).resolve()
EXAMPLES = Path(__file__).parents[2] / "examples"

needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is missing (apt-get install iperf3)")


@needs_iperf3
def test_iperf3_and_the_trace_count_the_same(tmp_path):
    run = lw.run(EXAMPLES / "iperf3.toml", (), tmp_path / "run", report=False, progress=False)
    flows = run.summary["flows"]
    assert [flow["kind"] for flow in flows] == ["program", "program", "tcp", "tcp", "tcp", "udp"]
    assert [flow["client_exit_code"] for flow in flows[:2]] == [0, 0]
    tcp, udp = json.loads(said(run, flow=0))["end"], json.loads(said(run, flow=1))["end"]
    sent = tcp["streams"][0]["sender"]
    assert flows[3]["retransmissions_pkts"] == sent["retransmits"] > 0
    assert flows[3]["lost_queue_pkts"] == sent["retransmits"], "one transmission more for each that the queue dropped"
    # The stream begins with a cookie of 37 bytes, which iperf3 does not count. At the end, iperf3 leaves some of its
    # own data unsent, and does not read all data that arrive.
    assert tcp["sum_received"]["bytes"] < flows[3]["bytes"] - 37 < sent["bytes"]
    assert flows[3]["congestion_control"] == tcp["sender_tcp_congestion"] == "cubic"
    # iperf3 does not notice the loss of datagrams after the last one that arrives. The first and the last datagram that
    # iperf3 sends are not part of its test.
    lost = udp["sum"]["lost_packets"]
    assert lost <= flows[5]["probes_lost_pkts"] == flows[5]["lost_queue_pkts"] <= lost + 2
    assert udp["sum"]["packets"] <= flows[5]["probes_pkts"] <= udp["sum"]["packets"] + 2
    # iperf3 divides by the time until it stops, whereas the trace divides by the time until the last datagram arrives.
    arrived_bps = udp["sum"]["bits_per_second"] * (1 - udp["sum"]["lost_percent"] / 100)
    assert flows[5]["payload_mean_bps"] == pytest.approx(arrived_bps, rel=0.05)
    assert flows[5]["program"] == 1
    # The numbers that iperf3 reports are compared with those of the trace.
    assert flows[0]["iperf3_received_bytes"] == tcp["sum_received"]["bytes"]
    assert flows[0]["iperf3_received_bps"] == tcp["sum_received"]["bits_per_second"]
    assert flows[0]["iperf3_retransmissions_pkts"] == flows[3]["retransmissions_pkts"]
    assert (flows[0]["iperf3_lost_pkts"], flows[0]["iperf3_jitter_ns"]) == (None, None)
    # iperf3 first sends a datagram of 4 bytes, which tells the server the client's address.
    assert flows[1]["iperf3_received_bytes"] == flows[5]["bytes"] - 4
    assert flows[1]["iperf3_lost_pkts"] == lost
    assert flows[1]["iperf3_jitter_ns"] == pytest.approx(udp["sum"]["jitter_ms"] * 1e6)
    assert flows[1]["iperf3_retransmissions_pkts"] is None
    page = write_report(run.path, figures=()).read_text()
    assert page.count("what iperf3 prints, and the packets of its connections") == 2


@needs_iperf3
def test_a_program_sends_what_the_agents_own_flow_sends(tmp_path):
    plain = CHAIN.format(duration="6 s") + '[[flows]]\nsource = "A"\ndestination = "B"\n'
    (tmp_path / "plain.toml").write_text(plain)
    own = lw.run(tmp_path / "plain.toml", (), tmp_path / "own", report=False, progress=False)
    run = run_of(tmp_path, "iperf3 -c {server} -t 5", 'server = "iperf3 -s -1"', "6 s")
    connection = next(flow for flow in run.summary["flows"] if flow["kind"] == "tcp" and flow["bytes"] > 1e6)
    first = []
    for frame in (run.packets(connection["flow"]), own.packets(0)):
        lost = frame[(frame["direction"] == "data") & frame["drop_cause"].notna()]
        first.append(int(lost["seq"].min()))
        assert set(lost["len_bytes"]) == {1448}
    # The first segment of iperf3's stream has 37 bytes, so the loss of one packet affects one or two of iperf3's
    # segments.
    assert first[0] - 37 == pytest.approx(first[1], abs=2 * 1448)
    own_flow = own.summary["flows"][0]
    assert connection["rtt_min_ns"] == pytest.approx(own_flow["rtt_min_ns"], abs=1000)
    assert connection["goodput_mean_bps"] == pytest.approx(own_flow["goodput_mean_bps"], rel=0.02)


def test_the_same_bytes_take_the_same_time_by_a_program_and_by_the_agent(tmp_path):
    client = f"{PYTHON} -S -c 'import socket; socket.create_connection((\"B\", 5201)).sendall(bytes(4000000))'"
    server = (
        f'{PYTHON} -S -c \'import socket; c = socket.create_server(("", 5201)).accept()[0]; '
        "print(sum(iter(lambda: len(c.recv(65536)), 0)))'"
    )
    run = run_of(tmp_path, client, f"server = {json.dumps(server)}", "5 s", changes={"chain.queue": "40 pkts"})
    of_program = run.table("flows").to_pandas().iloc[1]
    flow = '[[flows]]\nsource = "A"\ndestination = "B"\nsize = "4 MB"\nstart = "{} ns"\n'
    plain = CHAIN.format(duration="5 s")
    # A flow of the agent shows how long a handshake takes. A second flow starts so that its handshake ends together
    # with the program's handshake.
    start_ns = 500_000_000
    for name in ("first", "own"):
        (tmp_path / "own.toml").write_text(plain + flow.format(start_ns))
        own = lw.run(tmp_path / "own.toml", {"chain.queue": "40 pkts"}, tmp_path / name, report=False, progress=False)
        of_agent = own.table("flows").to_pandas().iloc[0]
        start_ns += int(of_program["connect_ns"]) - int(of_agent["connect_ns"])
    assert of_program["bytes"] == of_agent["bytes"] == 4_000_000
    # The program takes 256 ns for each reading of the clock. The times of the program and the agent may therefore
    # differ by 1 us
    for column in ("connect_ns", "first_byte_ns", "rtt_min_ns"):
        assert of_program[column] == pytest.approx(of_agent[column], abs=1000), column
    # Between the first and the last byte, program and agent read at different times, so the ACKs differ; a packet takes
    # 0.6 ms.
    assert of_program["last_byte_ns"] == pytest.approx(of_agent["last_byte_ns"], abs=600_000)


def test_names_places_and_outputs_of_a_program(tmp_path):
    script = (
        "cat /etc/hosts; pwd; echo {server} {port}; sleep 0.5; echo late >&2; mkdir sub; echo kept > sub/file; cat $MY"
    )
    run = run_of(
        tmp_path,
        f"sh -c '{script}'",
        'server = "sleep 100"\nport = 99\nenvironment = { MY = "{run_dir}/sub/file" }\nclient_at = "destination"',
    )
    assert said(run).splitlines() == [
        "127.0.0.1 localhost", "10.1.0.1 A a", "10.1.0.2 B b", "/run/leowarp", "10.1.0.1 99", "kept",
    ]  # fmt: skip
    assert (run.path / "35-programs/0/client/files/sub/file").read_text() == "kept\n"
    times = {line.split()[2]: float(line.split()[0]) for line in said(run, stream="output.txt").splitlines()}
    # The client starts half a second after the server. Computing takes no virtual time, and a failing system call takes
    # a little.
    assert times["/run/leowarp"] == pytest.approx(0.5, abs=0.01)
    assert times["late"] == pytest.approx(1.0, abs=0.01)
    flow = run.summary["flows"][0]
    assert (flow["client_exit_code"], flow["server_exit_code"], flow["server_end_ns"]) == (0, None, None)


def test_a_script_is_started_by_its_name(tmp_path):
    script = tmp_path / "my-script"
    script.write_text('#!/bin/sh -u\necho "$0 $1 $-"\n')
    script.chmod(0o755)
    words = said(run_of(tmp_path, f"{script} one")).split()
    assert words[:2] == [str(script), "one"]
    assert "u" in words[2]


def test_a_run_ends_with_its_client_and_is_the_same_each_time(tmp_path):
    client = (
        f"{PYTHON} -c 'import socket, os; s = socket.create_connection((\"B\", 5201)); s.sendall(os.urandom(100000))'"
    )
    server = (
        f'{PYTHON} -c \'import socket; s = socket.create_server(("", 5201)); c = s.accept()[0]; '
        "print(sum(iter(lambda: len(c.recv(4096)), 0)))'"
    )
    keys = f"server = {json.dumps(server)}"

    def one(name: str) -> tuple[lw.Run, dict[str, str]]:
        run = run_of(tmp_path, client, keys, "20 s", name, {"run.ends": "flows", "run.linger": "1 s"})
        files = sorted((run.path / "30-trace").iterdir())
        return run, {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    first, again = one("first"), one("again")
    assert said(first[0], "server") == "100000\n"
    assert first[0].summary["virtual_s"] < 10
    assert first[0].summary["flows"][1]["bytes"] == 100000
    assert first[1] == again[1]


@pytest.mark.parametrize(
    ("client", "keys", "says"),
    [
        ("sh -c 'echo oh no >&2; exit 3'", "", r"client .* exited with 3 at 0\.\d+ s; its last words:\n    oh no"),
        ("sh -c 'kill -9 $$'", "", "was ended by signal 9"),
        ("sleep 100", "", "still runs at the flow's stop, 2 s"),
        ("true", 'server = "false"', "its server `false` exited with 1"),
        ("sh -c 'yes | head -c 200000'", 'storage = "100 kB"', "has written more than 100000 bytes to stdout"),
        ("sh -c 'head -c 200000 /dev/zero > full; true'", 'storage = "128 KiB"', "has filled its directory"),
        ("sh -c 'mkfifo f; while :; do read x <f & done'", "", r"started \d+ processes and threads"),
        ("{run_dir}/nothing", "", "cannot be started: No such file"),
    ],
    ids=["exit code", "signal", "never ends", "server", "prints", "fills its directory", "forks for ever", "not there"],
)
def test_what_a_program_does_wrong_fails_the_run_with_one_message(tmp_path, client, keys, says):
    with pytest.raises(GuestError, match=says):
        run_of(tmp_path, client, keys)
    assert (tmp_path / "run" / "INCOMPLETE").exists()


def test_what_is_expected_fails_nothing(tmp_path):
    assert run_of(tmp_path, "sh -c 'exit 3'", "expect_exit = 3").summary["flows"][0]["client_exit_code"] == 3
    run = run_of(tmp_path, "sleep 100", 'expect_exit = "stopped"\nstop = "1 s"', name="stopped")
    flow = run.summary["flows"][0]
    assert (flow["client_exit_code"], flow["client_end_ns"] // 10**6) == (None, 1000)


@pytest.mark.parametrize("stack", ["quic-go", "quinn", "aioquic"])
def test_every_datagram_of_another_quic_stack_is_followed(tmp_path, stack):
    program = Path(f"/var/tmp/leowarp-programs/bin/{stack}-transfer")
    if not program.exists():
        pytest.skip(f"{program} is missing (sh examples/programs/build.sh {stack})")
    run = lw.run(EXAMPLES / f"quic-{stack}.toml", (), tmp_path / "run", report=False, progress=False, trust=True)
    flow, connection = run.summary["flows"]
    assert said(run).startswith("2000000 bytes in ")
    assert (flow["client_exit_code"], flow["connections"], connection["kind"]) == (0, 1, "udp")
    # The bytes include QUIC's own headers, 2.2 to 3.1 % of 2 MB (design/programs.md).
    assert 2_000_000 < connection["bytes"] < 2_100_000
    assert connection["sent_pkts"] == connection["delivered_pkts"] + connection["lost_pkts"]


@needs_iperf3
def test_several_streams_of_iperf3_are_flows_of_their_own(tmp_path):
    run = run_of(tmp_path, "iperf3 -c {server} -t 3 -P 4 -J", 'server = "iperf3 -s -1"', "6 s")
    end = json.loads(said(run))["end"]
    told = {stream["sender"]["retransmits"] for stream in end["streams"]}
    connections = [flow for flow in run.summary["flows"] if flow["kind"] == "tcp" and flow["bytes"] > 100_000]
    assert len(connections) == len(end["streams"]) == 4
    assert {flow["retransmissions_pkts"] for flow in connections} == told
    assert run.summary["flows"][0]["connections"] == 5, "the fifth is iperf3's own, for control"


WAITS = r"""
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
static atomic_int flag;
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void *later(void *none)
{
	struct timespec t = {0, 2000000};
	nanosleep(&t, NULL);
	atomic_store(&flag, 1);
	return none;
}
int main(void)
{
	pthread_t thread;
	long long begin = now();
	while (now() < begin + 1000000)
		;
	printf("%lld\n", now() - begin);
	begin = now();
	pthread_create(&thread, NULL, later, NULL);
	while (!atomic_load(&flag))
		sched_yield();
	printf("%lld\n", now() - begin);
	atomic_store(&flag, 0);
	begin = now();
	pthread_create(&thread, NULL, later, NULL);
	while (!atomic_load(&flag) && now() < begin + 50000000)
		;
	printf("%lld\n", now() - begin);
	return 0;
}
"""


def test_a_program_that_waits_by_reading_the_clock_or_by_yielding_sees_what_it_waits_for(tmp_path):
    (tmp_path / "waits.c").write_text(WAITS)
    output_of("gcc", "-O1", "-pthread", "-o", str(tmp_path / "waits"), str(tmp_path / "waits.c"))
    clock_ns, yield_ns, both_ns = map(int, said(run_of(tmp_path, f"{tmp_path}/waits")).split())
    # The program waits three times. The first wait lasts until 1 ms is over, the other two until another thread has
    # slept for 2 ms. Each wait ends at most one tick of 4 ms late.
    assert 1_000_000 <= clock_ns < 1_100_000
    assert 2_000_000 <= yield_ns < 6_000_000
    assert 2_000_000 <= both_ns < 50_000_000


@pytest.mark.slow
def test_a_program_that_only_computes_is_named(tmp_path, monkeypatch):
    source = tmp_path / "spin.c"
    source.write_text('int main(void) { for (;;) __asm__ volatile(""); }\n')
    output_of("gcc", "-o", str(tmp_path / "spinner"), str(source))
    # By default leowarp waits for 60 s of processor time.
    monkeypatch.setattr(drive, "Patience", partial(drive.Patience, frozen_cpu_s=2))
    with pytest.raises(GuestError, match=r"virtual time stopped .* the program on its processor: spinner"):
        run_of(tmp_path, f"{tmp_path}/spinner")


needs_nginx = pytest.mark.skipif(
    None in (shutil.which("nginx", path="/usr/sbin:/usr/bin"), shutil.which("curl")),
    reason="nginx or curl is missing (apt-get install nginx-light curl)",
)
needs_ngtcp2 = pytest.mark.skipif(
    None in map(shutil.which, ("gtlsserver", "gtlsclient", "openssl")),
    reason="ngtcp2 is missing (apt-get install ngtcp2-client ngtcp2-server openssl)",
)


@needs_nginx
def test_curl_and_the_trace_tell_the_same_of_nginx(tmp_path):
    run = lw.run(EXAMPLES / "nginx.toml", (), tmp_path / "run", report=False, progress=False)
    flows = run.summary["flows"]
    for number, version in enumerate(("1.1", "2")):
        told, connect_s, _, total_s = said(run, flow=number).split()
        assert told == version
        flow = flows[2 + number]
        assert flow["kind"] == "tcp"
        assert 2_000_000 < flow["bytes"] < 2_010_000
        opened = run.packets(flow["flow"])
        start_s = run.table("flows").to_pandas()["connect_ns"][flow["flow"]] / 1e9 - float(connect_s)
        # curl reports the time until it has read the last byte. The last stored data packet arrives no later than this
        # time.
        assert opened["received_ns"].max() / 1e9 <= start_s + float(total_s) + 0.1
        assert float(connect_s) == pytest.approx(0.0402, abs=0.001), "one round trip"


@needs_ngtcp2
def test_every_datagram_of_quic_is_followed(tmp_path):
    run = lw.run(EXAMPLES / "quic.toml", (), tmp_path / "run", report=False, progress=False)
    program, connection = run.summary["flows"]
    assert (program["client_exit_code"], program["connections"], connection["kind"]) == (0, 1, "udp")
    assert connection["bytes"] > 5_000_000
    # The trace contains single datagrams, although the server sends several at once (UDP_SEGMENT).
    assert connection["probes_pkts"] > 5_000_000 / 1472
    assert connection["sent_pkts"] == connection["delivered_pkts"] + connection["lost_pkts"]
    assert connection["lost_pkts"] == connection["lost_queue_pkts"] > 0
    assert run.warnings == []


ATTEMPTS = """
import json, os, socket, subprocess, sys
outside, run_dir, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.chdir(run_dir)
os.symlink(outside, "link")
os.symlink("/etc/passwd", "passwd")
def write(path):
    with open(path, "w") as file:
        file.write("escaped")
def run(*words):
    subprocess.run(words, check=True, capture_output=True)
def tcp(host):
    socket.create_connection((host, port), timeout=1)
def unix():
    socket.socket(socket.AF_UNIX).connect(outside + "/socket")
attempts = {
    "a file of the user's": lambda: write(outside + "/victim"),
    "a new file": lambda: write(outside + "/new"),
    "by ..": lambda: write("../" * 20 + outside.lstrip("/") + "/new"),
    "by a link": lambda: write("link/new"),
    "/etc": lambda: write("/etc/leowarp-was-here"),
    "remove": lambda: os.unlink(outside + "/victim"),
    "rename": lambda: os.rename(outside + "/victim", outside + "/other"),
    "hard link": lambda: os.link(outside + "/victim", outside + "/hard"),
    "mode": lambda: os.chmod(outside + "/victim", 0o777),
    "times": lambda: os.utime(outside + "/victim", (0, 0)),
    "device": lambda: os.mknod("device", 0o60666, os.makedev(98, 0)),
    "memory": lambda: open("/dev/mem", "rb"),
    "remount": lambda: run("mount", "-o", "remount,rw", "/"),
    "mount": lambda: run("mount", "-t", "tmpfs", "none", run_dir),
    "chroot": lambda: os.chroot("."),
    "init's root": lambda: os.listdir("/proc/1/root/"),
    "core_pattern": lambda: write("/proc/sys/kernel/core_pattern"),
    "sysrq": lambda: write("/proc/sysrq-trigger"),
    "module": lambda: run("insmod", "/etc/passwd"),
    "interface": lambda: run("ip", "link", "set", "lo", "down"),
    "host's loopback": lambda: tcp("127.0.0.1"),
    "host's address": lambda: tcp("192.0.2.1"),
    "host's socket": unix,
}
outcome = {}
for name, attempt in attempts.items():
    try:
        attempt()
        outcome[name] = "DONE"
    except (OSError, subprocess.CalledProcessError) as error:
        outcome[name] = "refused: " + str(error)
print(json.dumps(outcome))
"""


def test_a_program_cannot_write_to_the_host_nor_reach_its_network(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("whole")
    (tmp_path / "attempts.py").write_text(ATTEMPTS)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(outside / "socket"))
        unix.listen()
        before = sorted((path.name, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in outside.iterdir())
        port = tcp.getsockname()[1]
        run = run_of(tmp_path, f"{PYTHON} {tmp_path}/attempts.py {outside} {{run_dir}} {port}", duration="5 s")
        for server in (tcp, unix):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
    outcome = json.loads(said(run))
    assert len(outcome) == 23
    assert [name for name, what in outcome.items() if what == "DONE"] == []
    assert before == sorted((path.name, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in outside.iterdir())
    assert (outside / "victim").read_text() == "whole"
    assert not Path("/etc/leowarp-was-here").exists()
    # If the program creates symbolic links, neither they nor their targets are copied to the output.
    assert not (run.path / "35-programs/0/client/files").exists()


def test_a_directory_takes_the_place_of_the_hosts_root(tmp_path):
    root = tmp_path / "root"
    for name in ("run", "dev", "proc", "sys", "etc", "bin"):
        (root / name).mkdir(parents=True)
    (root / "etc/hosts").touch()
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    output_of("gcc", "-static", "-o", str(root / "bin/hello"), str(source))
    assert said(run_of(tmp_path, "hello", f'rootfs = "{root}"')) == "hello\n"


def test_the_plan_of_a_run_of_programs_gives_itself(tmp_path):
    run = run_of(tmp_path, "sh -c 'echo \"{port}\"'", 'environment = { A = "x y" }')
    plan = resolve(load(run.path / "00-plan.toml"))
    assert plan == run.plan
    assert plan.flows[0].client == "sh -c 'echo \"{port}\"'"
