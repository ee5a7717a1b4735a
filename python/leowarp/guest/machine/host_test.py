# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.guest.boot.drive import command_line
from leowarp.guest.building.doctor import build_checks, examine
from leowarp.guest.machine import host
from leowarp.guest.machine.host import Check


def test_all_that_is_lacking_is_in_one_error():
    checks = [Check("a", True, "fine", "fine"), Check("b", False, "no b", "a b", "get b"), Check("c", False, "0", "1")]
    with pytest.raises(HostError) as caught:
        host.demand(checks, "booting the guest")
    assert "booting the guest" in caught.value.message
    assert "b: no b; needed: a b" in caught.value.message
    assert "c: 0; needed: 1" in caught.value.message
    assert "a: fine" not in caught.value.message
    assert caught.value.hint == "get b"
    host.demand(checks[:1], "nothing")


def test_memory_goes_to_the_directory_named_first(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert host.memory_directory(1 << 20, [])[0] == tmp_path
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    directory, check = host.memory_directory(1 << 20, [])
    assert directory in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
    assert check.ok


def test_a_place_that_is_too_small_for_everybody_names_each():
    directory, check = host.memory_directory(1 << 60, [])
    assert directory is None
    assert not check.ok
    assert "/dev/shm has" in check.found
    assert "TMPDIR" in check.mend


def test_the_doctor_looks_at_everything_and_mends_what_fails(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    checks = {check.name: check for check in examine(memory_bytes=1 << 60)}
    for name in ("gcc", "flex", "bison", "bc", "xz", "rustc", "cargo", "memory", "a place for the guest's memory"):
        assert not checks[name].ok, name
        assert checks[name].mend, name
    assert "apt-get install -y --no-install-recommends flex" in checks["flex"].mend
    assert {"python", "ptrace", "cache", "kernel source", "space for the build"} <= checks.keys()


@pytest.mark.parametrize(("name", "why"), [("my cache", "a blank"), ("a:b", "a colon"), ("it's", "a quote")])
def test_the_doctor_names_a_cache_in_whose_path_make_cannot_build(monkeypatch, tmp_path, name, why):
    # With this PATH, the doctor's other checks find no compiler and run no program.
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / name))
    check = next(check for check in build_checks() if check.name == "path of the cache")
    assert not check.ok
    assert f"{tmp_path / name} (LEOWARP_CACHE), has {why}" in check.found
    assert "export LEOWARP_CACHE=" in check.mend
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "plain"))
    assert next(check for check in build_checks() if check.name == "path of the cache").ok


def test_the_command_line_holds_nothing_of_this_machine():
    line = command_line(1 << 30)
    assert line[0] == "mem=1024M"
    assert not [word for word in line if str(Path.home()) in word or str(Path.cwd()) in word]
    assert line == command_line(1 << 30)
