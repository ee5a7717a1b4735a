# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp neither reads nor writes through symbolic links in directories from other people."""

import os
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.base import layout
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.guest.building.image import GuestImage
from leowarp.metrics import read_tables
from leowarp.running.writing import Writing
from support.hostile import BELOW, CHAIN, refused

WRITTEN = (
    *(name for name in layout.ARTEFACTS if name not in (layout.INPUTS, layout.TRACE, layout.REPORT, layout.GUEST)),
    "00-inputs/table.csv", "30-trace/packets.parquet", "50-report/index.html", "50-report/figures/goodput.svg",
    ".guest/in/setup.json", ".guest/out/end.json", "summary.json.partial",
)  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_is_not_written_through_a_link(tmp_path, precious, name):
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(precious)
    for force in (False, True):
        with pytest.raises(ScenarioError, match="symbolic link"), Writing(out, force=force):
            pass
    assert (out / name).is_symlink()


@pytest.mark.parametrize("name", [layout.INPUTS, layout.TRACE, layout.REPORT, layout.GUEST])
def test_a_run_is_not_written_into_a_directory_elsewhere(tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text(BELOW)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ScenarioError, match="symbolic link"), Writing(tmp_path / "out"):
        pass
    assert (tmp_path / "elsewhere" / "file").read_text() == BELOW


def test_a_pipe_is_not_waited_for(tmp_path):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / layout.INCOMPLETE)
    with pytest.raises(ScenarioError, match="a pipe"), Writing(tmp_path / "out"):
        pass


def test_the_directory_itself_may_be_a_link_that_the_user_typed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    with pytest.raises(TraceError, match="without a manifest"), Writing(tmp_path / "out"):
        pass
    assert (tmp_path / "real" / layout.INCOMPLETE).exists()


def test_leowarp_run_says_so(leowarp, tmp_path, precious):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / layout.INCOMPLETE).symlink_to(precious)
    with pytest.MonkeyPatch.context() as patch:
        # The command must fail before it builds a kernel, so a stand-in for the guest's image is enough.
        patch.setattr("leowarp.guest.guest_image", lambda *given, **named: GuestImage(Path("linux"), Path("agent")))
        patch.setattr("leowarp.guest.check_fits", lambda *given: None)
        patch.setattr("leowarp.guest.compile_modules", lambda *given: [])
        assert refused(leowarp("run", CHAIN, "--out", tmp_path / "out"), "INCOMPLETE in it is a symbolic link")


VERBS = (
    ("verify",), ("show", "--metrics"), ("show", "--again"), ("report",), ("export", "sockets"), ("export", "pcapng"),
    ("timeline", "describe"), ("compare",), ("view",), ("export", "--czml"),
)  # fmt: skip


def typed(verb, run, leowarp):
    words = [verb[0], run, *verb[1:]] if verb[0] == "export" else [*verb, run]
    return leowarp(*words, *([run] if verb == ("compare",) else []))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "name", [layout.PLAN, "summary.json", "30-trace/packets.parquet", "30-trace/more", "50-report"]
)
def test_no_verb_reads_a_run_with_links(leowarp, run, precious, verb, name):
    if (run / name).exists():
        (run / name).unlink()
    (run / name).symlink_to(precious)
    assert refused(typed(verb, run, leowarp), "is a symbolic link")
    assert (run / name).is_symlink()


@pytest.mark.parametrize("verb", ["plan", "routes", "timeline"])
def test_no_stage_is_read_through_a_link(leowarp, run, precious, verb):
    (run / layout.PLAN).unlink()
    (run / layout.PLAN).symlink_to(precious)
    answer = leowarp(verb, run)
    assert refused(answer, "it is a symbolic link")
    assert BELOW not in answer.err


def test_python_opens_none_either(run, precious):
    (run / "30-trace" / "bins.parquet").unlink()
    (run / "30-trace" / "bins.parquet").symlink_to(precious)
    for attempt in (lw.open, read_tables):
        with pytest.raises(TraceError, match="symbolic link"):
            attempt(run)


@pytest.mark.parametrize(
    "words", [("export", "RUN", "sockets", "--out"), ("plan", "RUN", "--out"), ("view", "RUN", "--out")]
)
def test_files_that_the_user_names_are_not_written_through_links(leowarp, run, precious, tmp_path, words):
    (tmp_path / "out.csv").symlink_to(precious)
    typed_words = [run if word == "RUN" else word for word in words]
    assert refused(leowarp(*typed_words, tmp_path / "out.csv"), "nothing is written through one")


def test_the_demo_is_not_written_into_directories_elsewhere(leowarp, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "reno").symlink_to(tmp_path / "elsewhere")
    assert refused(leowarp("demo", "--out", tmp_path / "demo"), "reno in it is a symbolic link")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.slow
def test_a_comparison_is_not_written_through_links(leowarp, made, precious, tmp_path):
    from leowarp.report import write_comparison

    for name in ("figures/srtt.svg", "index.html"):
        out = tmp_path / name.replace("/", "-")
        (out / name).parent.mkdir(parents=True)
        (out / name).symlink_to(precious)
        if name == "index.html":
            write_comparison([made, made], out)
            assert not (out / name).is_symlink(), "the link gave way to the page"
        else:
            with pytest.raises(ScenarioError, match="symbolic link"):
                write_comparison([made, made], out)
