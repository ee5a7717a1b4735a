# SPDX-License-Identifier: Apache-2.0
"""Tests the contents of the built kernel. Also tests runs with other kernels."""

import json
import re
import shutil
from pathlib import Path

import pytest

from leowarp.base.progress import BuildProgress
from leowarp.guest import GuestImage, drive
from leowarp.guest.building.cache import sha256_of_file
from leowarp.guest.building.course import STEP, STEPS
from leowarp.guest.building.kernel import kernel

pytestmark = pytest.mark.guest

ROOT = Path(__file__).resolve().parents[2]


def options(text: str) -> set[str]:
    return set(re.findall(r"^CONFIG_\w+=.*$", text, re.MULTILINE))


def test_every_option_asked_for_is_in_the_kernel(built_kernel):
    asked = options((ROOT / "guest" / "kernel.config").read_text())
    assert len(asked) > 50
    assert asked - options((built_kernel.program.parent / "config").read_text()) == set()


def test_the_kernel_ticks_a_thousand_times_a_second_and_is_not_patched(built_kernel):
    assert "CONFIG_HZ=1000" in options((built_kernel.program.parent / "config").read_text())
    assert built_kernel.facts["linux_version"].startswith("6.12.")
    assert len(built_kernel.facts["source_sha256"]) == 64


def test_the_facts_name_the_bytes_and_nothing_of_the_machine(built_kernel):
    assert built_kernel.facts["linux_sha256"] == sha256_of_file(built_kernel.program)
    text = json.dumps(built_kernel.facts)
    assert str(Path.home()) not in text
    assert str(ROOT) not in text


def test_it_is_built_once(built_kernel):
    def building(at: BuildProgress) -> None:
        raise AssertionError("it is built again")

    assert kernel(on_progress=building) == built_kernel


def test_the_steps_that_are_expected_are_those_of_a_build(built_kernel):
    log = (built_kernel.program.parent / "build.log").read_text()
    assert sum(1 for line in log.splitlines() if STEP.match(line)) == pytest.approx(STEPS, rel=0.01)


@pytest.fixture
def own_binary(built_kernel, tmp_path):
    """A copy of the default kernel's file. The tests treat it as a user's own kernel."""
    path = tmp_path / "my-linux"
    shutil.copy(built_kernel.program, path)
    return path


def test_a_binary_of_ones_own_runs(own_binary, fault_image, guest_directory):
    own = kernel(own_binary)
    assert own.facts["source"] == "a binary of the user's own"
    assert own.facts["warnings"] == []
    assert own.symbols == {}, "the shipped kernel is stripped: its clock cannot be watched, its words must do"
    (guest_directory / "in" / "fault").write_text("none")
    result = drive(
        GuestImage(own.program, fault_image.agent, own.symbols),
        guest_directory,
        guest_directory / "console.txt",
        duration_ns=3_000_000_000,
        seed=1,
        memory_bytes=96 << 20,
    )
    assert result.end["ok"] is True


def test_a_binary_without_our_objects_is_used_with_warnings(own_binary):
    own_binary.write_bytes(
        own_binary.read_bytes().replace(b"leolink", b"xxxlink").replace(b"LEOWARP_SEED", b"XXXWARP_SEED")
    )
    warnings = kernel(own_binary).facts["warnings"]
    assert len(warnings) == 2
    assert "no run with it repeats" in warnings[0]
    assert 'only network.link_model = "netem" works' in warnings[1]


def test_a_binary_without_cures_is_known_by_a_text_of_theirs(own_binary):
    assert kernel(own_binary).facts["left_out"] == {}
    own_binary.write_bytes(own_binary.read_bytes().replace(b"a switch between links", b"x switch between links"))
    assert kernel(own_binary).facts["left_out"] == {"cures": "its program does not name it"}
