# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp fit` and `leowarp validate` with recordings that contain little or no information."""

import pytest

from leowarp.validation import PUBLIC

HEAD = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n"
SILENT = HEAD + "".join(f"Request timeout for icmp_seq {number}\n" for number in range(30))
BSD = HEAD + "".join(
    f"64 bytes from 192.0.2.1: icmp_seq={number} ttl=54 time={20 + number % 7}.125 ms\n" for number in range(60)
)
NO_INTERVAL, FEW = "nobody said how far apart", "60 probes in 59 s are too few"


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [(BSD, (), NO_INTERVAL), (BSD, ("--interval", "1 s"), FEW), (SILENT, (), "none of 30 probes"), ("x\n", (), "x")],
)
def test_a_recording_that_tells_nothing_is_refused_with_what_to_type(leowarp, tmp_path, text, words, why):
    (tmp_path / "ping.txt").write_text(text)
    found = leowarp("fit", "ping.txt", *words)
    assert found.status == 2
    assert why in found.err
    assert "hint" in found.err


def test_recordings_that_are_missing_or_tell_nothing_are_skipped_rows_of_a_command_that_succeeds(leowarp, tmp_path):
    (tmp_path / "silent.txt").write_text(SILENT)
    (tmp_path / "bsd.txt").write_text(BSD)
    found = leowarp("validate", "starlink-lagos", "silent.txt", "bsd.txt", "nowhere.txt", "--recordings", tmp_path)
    assert found.status == 0
    assert PUBLIC["starlink-lagos"].address in found.out
    assert "none of 30 probes was answered" in found.out
    assert NO_INTERVAL in found.out
    assert "no such file" in found.out
