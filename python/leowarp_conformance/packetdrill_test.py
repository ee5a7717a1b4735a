# SPDX-License-Identifier: Apache-2.0
"""Tests of packetdrill's sources: which directories are rejected, and how the sources are compiled."""

from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp_conformance import packetdrill
from leowarp_conformance.__main__ import main


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """Make a small checkout that can be compiled. Its files have the names of packetdrill's files."""
    top = tmp_path / "checkout" / packetdrill.PROGRAM
    top.mkdir(parents=True)
    (top / "packetdrill.c").write_text("int main(void) { return 0; }\n")
    (top / "configure").write_text("#!/bin/sh\nln -sf Makefile.Linux Makefile\n")
    (top / "Makefile.Linux").write_text("packetdrill: packetdrill.o\n\t$(CC) -static -o $@ $^\n")
    (top / packetdrill.NETNS).write_text('#!/bin/sh\nexec "$@"\n')
    return tmp_path / "checkout"


@pytest.mark.parametrize("arguments", [[], [""]])
def test_without_a_path_the_goal_says_where_packetdrill_is_and_which_commit(arguments, capsys):
    assert main(arguments) == HostError.exit_code
    told = capsys.readouterr().err
    assert "packetdrill's sources are not named" in told
    assert packetdrill.ADDRESS in told
    assert packetdrill.COMMIT in told
    assert "make conformance PACKETDRILL=packetdrill" in told


def test_a_directory_that_is_no_checkout_is_refused(tmp_path, capsys):
    assert main([str(tmp_path)]) == HostError.exit_code
    told = capsys.readouterr().err
    assert f"{tmp_path} is no checkout of packetdrill: it has no gtests/net/packetdrill/packetdrill.c" in told
    assert packetdrill.COMMIT in told


def test_sources_are_compiled_once_and_left_as_they_are(stand_in):
    before = {path: path.stat().st_mtime_ns for path in stand_in.rglob("*")}
    told: list[str] = []
    entry = packetdrill.compiled(stand_in, told.append)
    assert packetdrill.compiled(stand_in, told.append) == entry
    assert {path: path.stat().st_mtime_ns for path in stand_in.rglob("*")} == before
    assert told == [f"compiling packetdrill of {stand_in}"]
    assert sorted(path.name for path in entry.iterdir()) == ["files.json", packetdrill.NETNS, "packetdrill"]


def test_what_a_compilation_in_the_checkout_left_is_not_taken(stand_in):
    fresh = packetdrill.compiled(stand_in, print)
    top = stand_in / packetdrill.PROGRAM
    for name in ("packetdrill", "packetdrill.o", "parser.c", "checksum_test"):
        (top / name).write_text("of another machine")
    assert packetdrill.compiled(stand_in, print) == fresh


def test_another_source_is_another_program(stand_in):
    first = packetdrill.compiled(stand_in, print)
    (stand_in / packetdrill.PROGRAM / "packetdrill.c").write_text("int main(void) { return 1; }\n")
    assert packetdrill.compiled(stand_in, print) != first


def test_sources_that_do_not_compile_are_told_with_the_first_error(stand_in):
    (stand_in / packetdrill.PROGRAM / "packetdrill.c").write_text("#error no such system\n")
    with pytest.raises(HostError, match=r"`make packetdrill` failed: packetdrill\.c:1:2: error: #error no such system"):
        packetdrill.compiled(stand_in, print)
    assert not list((Path(stand_in).parent / "cache" / "packetdrill").glob("*/packetdrill"))


def test_a_configuration_that_fails_is_told(stand_in):
    (stand_in / packetdrill.PROGRAM / "configure").write_text("echo 'configure: not found: a compiler'\nexit 1\n")
    with pytest.raises(HostError, match=r"`sh \./configure` failed: configure: not found: a compiler"):
        packetdrill.compiled(stand_in, print)
