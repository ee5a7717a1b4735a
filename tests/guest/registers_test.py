# SPDX-License-Identifier: Apache-2.0
"""Tests that vector registers keep their values at signals, and when another process or thread runs. The XSAVE area is
that of this host.

`ptrace_test.py` covers XSAVE areas of other sizes.
"""

from pathlib import Path

import pytest

pytestmark = pytest.mark.guest


def test_every_process_and_thread_keeps_its_vector_registers(end_of, guest_directory):
    end = end_of("registers_init", guest_directory, "-pthread")
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split()
    assert end["width_bytes"] == (64 if {"avx512f", "avx512bw"} <= set(flags) else 32 if "avx" in flags else 16)
    assert end["kept"] == 4
