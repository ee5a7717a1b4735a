# SPDX-License-Identifier: Apache-2.0
"""Tests conformance scripts in the guest: how a script is run, and a few scripts that run with packetdrill."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.guest.building.kernel import Kernel
from leowarp_conformance import attempt as attempts
from leowarp_conformance import packetdrill
from leowarp_conformance.attempt import Attempt, Laboratory, attempt, init_program
from leowarp_conformance.ladder import climb
from leowarp_conformance.scripts import ScriptSet, googles, selftests, unpacked_selftests

pytestmark = pytest.mark.guest

SCRIPT = "a.pkt"


@pytest.fixture
def stood_in(built_kernel: Kernel, tmp_path: Path) -> Callable[[str], Attempt]:
    """A function that attempts a script. A shell script runs in place of packetdrill."""

    def made(program: str) -> Attempt:
        (tmp_path / SCRIPT).write_text("not read\n")
        (tmp_path / "packetdrill").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "packetdrill").chmod(0o755)
        laboratory = Laboratory(tmp_path, init_program(print), {"default": built_kernel})
        scripts = ScriptSet("google", "default", "IPv4", tmp_path, (SCRIPT,), ("unshare", "-n", "packetdrill"), ("-x",))
        return attempt(laboratory, scripts, SCRIPT, 10)

    return made


def test_a_program_gets_its_options_and_may_do_what_scripts_do(stood_in):
    does = [
        'test "$*" = "-x --tolerance_usecs=10 a.pkt"',
        "echo 2 > /proc/sys/net/ipv4/tcp_ecn",
        "ip tuntap add tun0 mode tun",
        "tc qdisc add dev tun0 root pfifo",
        "touch /tmp/file",
        "! touch /etc/file 2> /dev/null",
        "test -c /dev/net/tun",
        'test -n "$BASH_VERSION"',
        "chrt -p $$ | grep -q SCHED_RR",
    ]
    ended = stood_in("\n".join(f"{each} || echo refused: {shlex.quote(each)}" for each in does))
    assert ended == Attempt(True, "", "")


def test_a_program_that_fails_is_told_with_what_it_printed(stood_in):
    ended = stood_in("echo a.pkt:1: too late\nexit 3")
    assert (ended.passed, ended.why, ended.hung) == (False, "a.pkt:1: too late", False)


def test_a_program_that_waits_for_ever_ends_after_virtual_seconds(stood_in, monkeypatch):
    monkeypatch.setattr(attempts, "LIMIT_S", 5)
    ended = stood_in("echo begun\nsleep 1000 & wait")
    assert (ended.passed, ended.why, ended.printed, ended.hung) == (
        False, "it had not ended after 5 virtual seconds", "begun\n", True,
    )  # fmt: skip


@pytest.fixture(scope="session")
def laboratory(built_kernel: Kernel) -> Laboratory:
    """The program packetdrill and the default kernel."""
    try:
        sources = packetdrill.checked(os.environ.get(packetdrill.VARIABLE))
    except HostError as error:
        pytest.skip(str(error))
    return Laboratory(packetdrill.compiled(sources, print), init_program(print), {"default": built_kernel})


@pytest.fixture(scope="session")
def top() -> Path:
    """The directory of the kernel's selftests."""
    return unpacked_selftests(print)


@pytest.mark.parametrize(
    ("script", "tolerance_us"),
    [
        ("tcp_slow_start_slow-start-ack-per-1pkt.pkt", 1),
        ("tcp_inq_client.pkt", 10),
        ("tcp_slow_start_slow-start-fq-ack-per-2pkt.pkt", 1000),
    ],
)
def test_a_selftest_of_the_kernel_passes_at_its_tolerance(laboratory, top, script, tolerance_us):
    scripts = selftests(top, "default", "IPv4")
    assert climb(script, lambda us: attempt(laboratory, scripts, script, us)).tolerance_us == tolerance_us


@pytest.mark.parametrize(
    "script",
    [
        # In this script, the program reads the state of its threads from /proc.
        "tcp/fastopen/client/nonblocking-connect-bypass.pkt",
        # In the next script, a packet wakes a thread just before the last command ends.
        "tcp/blocking/blocking-write.pkt",
        # In this script, the program chooses its own addresses.
        "tcp/fastopen/server/simple1.pkt",
    ],
)
def test_a_script_of_packetdrill_passes(laboratory, script):
    sources = packetdrill.checked(os.environ.get(packetdrill.VARIABLE))
    ended = attempt(laboratory, googles(sources, "default", "IPv4"), script)
    assert (ended.passed, ended.why) == (True, "")


def test_options_are_those_of_the_kernels_own_driver(top):
    """Test that the options agree with the script of the kernel's selftests. The test needs no packetdrill."""
    driver = (top / "ksft_runner.sh").read_text().replace("'", " ").split()
    for ip in ("IPv4", "IPv6"):
        assert [word for word in selftests(top, "default", ip).options if word not in driver] == []
    assert "unshare -n packetdrill" in (top / "ksft_runner.sh").read_text()
