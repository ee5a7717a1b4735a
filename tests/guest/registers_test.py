# SPDX-License-Identifier: Apache-2.0
"""Vector registers survive switches between processes and threads of the guest, and signals, on this host's size.

Hosts of other sizes: `ptrace_test.py`.
"""

import subprocess
from pathlib import Path

import pytest

from leowarp.guest import GuestImage, drive

pytestmark = pytest.mark.guest


def test_every_process_and_thread_keeps_its_vector_registers(built_kernel, guest_directory, tmp_path):
    program = tmp_path / "registers_init"
    source = Path(__file__).with_name("registers_init.c")
    flags = ["-O1", "-static", "-pthread", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    end = drive(
        GuestImage(built_kernel.program, program, built_kernel.symbols),
        guest_directory,
        guest_directory / "console.txt",
        duration_ns=1_000_000_000,
        seed=1,
        memory_bytes=96 << 20,
    ).end
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split()
    assert end["width_bytes"] == (64 if {"avx512f", "avx512bw"} <= set(flags) else 32 if "avx" in flags else 16)
    assert end["kept"] == 4
