# SPDX-License-Identifier: Apache-2.0
"""Tests that control characters and markup in a file have no effect on a terminal or a page."""

import ast
import json
import shutil
from pathlib import Path

import pytest

from leowarp.base import layout
from support.hostile import NASTY, OBEYED, refused
from support.synthetic.whole import forge


@pytest.mark.slow
def test_nothing_of_a_file_is_obeyed_by_a_terminal(leowarp, run):
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0] |= {"congestion_control": NASTY}
    (run / layout.SUMMARY).write_text(json.dumps(summary | {"name": NASTY}))
    forge(run, warnings=[NASTY])
    show = ("show", run, "--metrics")
    for words in (show, (*show, "--json"), ("compare", run, run, "--out", run.parent / "out")):
        answer = leowarp(*words)
        assert answer.status == 0, answer.err
        assert not OBEYED & set(answer.out + answer.err)
        assert "[red]" in answer.out
        if "--json" in words:
            assert answer.json()["name"] == NASTY
        else:
            assert "\\x1b" in answer.out


def test_a_reason_why_a_run_is_incomplete_is_not_obeyed(leowarp, run):
    (run / layout.INCOMPLETE).write_bytes(NASTY.encode(errors="surrogateescape"))
    answer = leowarp("show", run, "--metrics")
    assert refused(answer, "owned", "\\x1b")
    assert not OBEYED & set(answer.out + answer.err)


def test_names_of_files_are_not_obeyed(leowarp, run, tmp_path):
    strange = tmp_path / "a\x1b[31m[red]\udcff.toml"
    strange.write_text("x = 1")
    (run / "\x1b[31m").symlink_to("nowhere")
    for answer in (leowarp("plan", strange), leowarp("show", run, "--metrics")):
        assert refused(answer)
        assert not OBEYED & set(answer.err)


def test_progress_shows_names_as_they_are(capsys):
    from leowarp.base.progress import Progress, building, shown

    with shown(True) as show:
        show(Progress("[/red]\x1b[31m", "guest", 10**9, 10**9, 1.0))
    with building(True) as built:
        built.message("warning: \x1b[31m")
    said = capsys.readouterr().err
    assert "[/red]\\x1b[31m" in said
    assert not OBEYED & set(said)


def test_verbs_print_by_one_function():
    for path in (Path(__file__).parents[3] / "python" / "leowarp" / "cli").rglob("*.py"):
        if path.name in ("output.py", "__init__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                # Only a progress bar that redraws its own line may write to the terminal without say().
                assert "\\r" in ast.unparse(node), f"{path.name}:{node.lineno}: use say()"


@pytest.mark.slow
def test_pages_show_markup_and_do_not_obey_it(run):
    from leowarp.report import write_comparison, write_report

    markup = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0] |= {"congestion_control": markup}
    (run / layout.SUMMARY).write_text(json.dumps(summary))
    forge(run, warnings=[markup], kernel={"linux_version": markup, "source": markup})
    other = run.parent / "<img src=x onerror=alert(1)>"
    shutil.copytree(run, other)
    pages = [write_report(run), write_comparison([run, other], run.parent / "out")]
    for page in pages:
        text = page.read_text()
        assert "alert(1)&lt;/script&gt;" in text
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_names_are_not_set_as_formulas(tmp_path):
    from matplotlib.figure import Figure

    from leowarp.report import save
    from leowarp.report.style import styled

    with styled():
        figure = Figure()
        figure.subplots().set_title("$\\frac$ and $")
        save(figure, tmp_path / "figure", ["svg"])
    assert (tmp_path / "figure.svg").exists()


@pytest.mark.slow
def test_what_no_rule_foresees_is_no_traceback(leowarp, run, monkeypatch):
    def broken(*given, **named):
        raise KeyError("\x1b[31m")

    monkeypatch.setattr("leowarp.cli.printed.tables.print_scalars", broken)
    answer = leowarp("show", run, "--metrics")
    assert answer.status == 70
    assert "KeyError" in answer.err
    assert "terminals_test.py" in answer.err
    assert "Traceback" not in answer.err
    assert not OBEYED & set(answer.err)
    assert leowarp("show", run, "--metrics", "--json").status == 0
    monkeypatch.setenv("LEOWARP_DEBUG", "1")
    monkeypatch.setattr("sys.argv", ["leowarp", "show", str(run), "--metrics"])
    from leowarp.cli import main

    with pytest.raises(KeyError):
        main()
