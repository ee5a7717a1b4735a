# SPDX-License-Identifier: Apache-2.0
"""Tests guest/host/registers.c and shortcut.c with a stand-in for the host's kernel.

Hosts differ in the size of their XSAVE area, but a test machine has only one size. The stand-in therefore has several
sizes. `registers_test.py` makes the same test in the guest, with the XSAVE area of this machine."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HOST = HERE.parents[1] / "guest" / "host"
SOURCES = [HERE / "ptrace_stand_in.c", HOST / "registers.c", HOST / "shortcut.c"]
# The sizes belong to: SSE alone; AVX; AVX-512 and PKRU in AMD's layout; the same in Intel's layout, which Linux 6.12
# uses. The last two are one word more than the previous size, and AMX (measured on a Xeon with amx_tile)
AREAS_BYTES = [576, 832, 2440, 2696, 2704, 11008]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A function that runs the stand-in program. Its arguments are the size of an XSAVE area in bytes, and a case. It
    returns exit status, output and errors."""
    program = tmp_path_factory.mktemp("ptrace") / "stand_in"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, "-o", program, *SOURCES], check=True)

    def run(area_bytes: int, case: str) -> tuple[int, str, str]:
        done = subprocess.run([program, str(area_bytes), case], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("case", ["threads", "others-pass", "gone-process", "system-calls", "restarts", "owed"])
@pytest.mark.parametrize("area_bytes", AREAS_BYTES)
def test_threads_keep_their_registers_whatever_the_size_of_the_hosts_area(stand_in, area_bytes, case):
    assert stand_in(area_bytes, case) == (0, "", "")


def test_an_area_beyond_the_largest_known_is_refused_in_words(stand_in):
    assert stand_in(1 << 17, "too-large") == (0, "", "leowarp: the host's XSAVE area has 65536 bytes or more\n")
