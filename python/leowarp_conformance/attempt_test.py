# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp finds the output line that states the reason of a failure."""

from pathlib import Path

import pytest

from leowarp.base.errors import GuestError
from leowarp.guest.building.kernel import Kernel
from leowarp_conformance import attempt as attempts
from leowarp_conformance.attempt import Attempt, Laboratory, attempt, why_not
from leowarp_conformance.scripts import ScriptSet

PACKET = """sysctl: cannot stat /proc/sys/net/ipv4/tcp_syncookies: No such file or directory
a.pkt:47: error handling packet: timing error: expected outbound packet at 0.309134 sec
script packet:  0.309134 P. 17521:20441(2920) ack 1
"""
PYTHON = """20
a.pkt:51: error in Python code
Traceback (most recent call last):
  File "/tmp/code_nL19dU", line 365, in <module>
    assert tcpi_snd_cwnd == 40, tcpi_snd_cwnd
AssertionError: 36
a.pkt: error executing code: 'python3' returned non-zero status 1
"""


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (PACKET, "a.pkt:47: error handling packet: timing error: expected outbound packet at 0.309134 sec"),
        (PYTHON, "AssertionError: 36"),
        (
            "a.pkt: error executing init command: non-zero status 127\n\n",
            "a.pkt: error executing init command: non-zero status 127",
        ),
        ("", "it ended with 1, and printed nothing"),
    ],
    ids=["a packet", "Python", "a command", "nothing"],
)
def test_the_line_that_says_why_is_found(printed, line):
    assert why_not(printed, 1) == line


def test_a_guest_that_stands_still_is_an_attempt_that_hung_and_its_output_is_kept(tmp_path, monkeypatch):
    def stand_still(image, directory, console, **_):
        (directory / "out").mkdir()
        (directory / "out" / "printed").write_text("begun\n")
        raise GuestError("the guest stands still: virtual time stopped", "a hint")

    monkeypatch.setattr(attempts, "drive", stand_still)
    (tmp_path / "a.pkt").write_text("not read\n")
    laboratory = Laboratory(tmp_path, tmp_path / "init", {"default": Kernel(tmp_path / "linux", {}, {})})
    scripts = ScriptSet("google", "default", "IPv4", Path(tmp_path), ("a.pkt",), ("packetdrill",), ())
    ended = attempt(laboratory, scripts, "a.pkt")
    assert ended == Attempt(False, "the guest stands still: virtual time stopped", "begun\n", hung=True)
