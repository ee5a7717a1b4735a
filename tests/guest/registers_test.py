# SPDX-License-Identifier: Apache-2.0
"""Vector registers survive switches between processes and threads of the guest, and signals, on this host's size.

Hosts of other sizes: `ptrace_test.py`.
"""

from pathlib import Path

import pytest

from leowarp.guest import drive

pytestmark = pytest.mark.guest


def test_every_process_and_thread_keeps_its_vector_registers(image_with, guest_directory):
    end = drive(
        image_with("registers_init", "-pthread"),
        guest_directory,
        guest_directory / "console.txt",
        duration_ns=1_000_000_000,
        seed=1,
        memory_bytes=96 << 20,
    ).end
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split()
    assert end["width_bytes"] == (64 if {"avx512f", "avx512bw"} <= set(flags) else 32 if "avx" in flags else 16)
    assert end["kept"] == 4
