# SPDX-License-Identifier: Apache-2.0
"""Tests that `leowarp doctor` boots a guest, and prints the guest's console if the boot fails."""

import json
import subprocess
import sys

import pytest

from support.without_ptrace import NO_PTRACE

pytestmark = pytest.mark.guest

# Source of a program that passes every check of a kernel's file, but does not boot.
FOREIGN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char objects[] = "LEOWARP_SEED leolink";
int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "--version"))
		return !puts("6.12.0");
	if (count == 2 && !strcmp(words[1], "--showconfig"))
		return !puts("CONFIG_UML_TIME_TRAVEL_SUPPORT=y");
	puts("userspace - ptrace set fp regs failed, errno = 14");
	puts("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b");
	fflush(stdout);
	abort();
}
"""


def doctor(*words: object, before: tuple[str, ...] = ()) -> tuple[int, str]:
    command = [*before, sys.executable, "-m", "leowarp", "doctor", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_the_doctor_boots_a_guest_whose_probes_are_answered_in_time(built_kernel):
    status, out = doctor("--json")
    told = json.loads(out)
    assert (status, told["ok"], told["booted"]) == (0, True, True)
    row = told["checks"][-1]
    assert row["name"] == "guest"
    # the round trip is four delays of 10 ms, plus the transmission of 98 bytes at 10 Mbit/s (78.4 us) on each of four
    # links
    assert f"Linux {built_kernel.facts['linux_version']} boots, 4 of 4 probes answered in 40.31 ms" in row["found"]


def test_a_machine_that_has_everything_takes_one_line(built_kernel):
    status, out = doctor("--quiet", "--build")
    assert status == 0
    assert len(out.splitlines()) == 1
    assert out.startswith("this machine has everything; Linux 6.12.")


def test_a_kernel_that_does_not_come_up_is_quoted_and_its_cause_named(tmp_path):
    (tmp_path / "foreign.c").write_text(FOREIGN)
    subprocess.run(["gcc", "-static", "-no-pie", "-o", tmp_path / "linux", tmp_path / "foreign.c"], check=True)
    status, out = doctor("--kernel", tmp_path / "linux", "--json")
    told = json.loads(out)
    assert (status, told["ok"], told["booted"]) == (3, False, False)
    row = told["checks"][-1]
    assert "without the cure for processors" in row["found"]
    assert "ptrace set fp regs failed, errno = 14" in row["found"]
    assert "Attempted to kill init! exitcode=0x0000000b" in row["found"]
    assert "guest/host/registers.c" in row["mend"]


def test_where_ptrace_is_forbidden_the_doctor_says_so_and_boots_nothing(built_kernel):
    status, out = doctor("--json", before=(sys.executable, "-c", NO_PTRACE))
    told = json.loads(out)
    assert (status, told["ok"], told["booted"]) == (3, False, None)
    (lacking,) = (row for row in told["checks"] if not row["ok"])
    assert lacking["name"] == "ptrace"
    assert "Operation not permitted" in lacking["found"]
    assert "--security-opt seccomp=unconfined" in lacking["mend"]
