# SPDX-License-Identifier: Apache-2.0
"""Tests a notebook that a kernel executes, and its outputs in a browser."""

import re
import sys
from pathlib import Path

import pytest

import leowarp
from leowarp.base.recorded import read_summary
from leowarp.report.figures.bands import GROUP_FIGURES
from leowarp.results.replicates import open_group
from leowarp.scalars import overview
from support.notebooks import as_page, executed, is_png, shown
from support.synthetic.run import PLAN_TOML

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"


@pytest.fixture(scope="module")
def cells(run_dir, tmp_path_factory):
    return executed(
        [f"import leowarp as lw\nrun = lw.open({str(run_dir)!r})\nrun", "run.figure('srtt')", "run.view()"],
        tmp_path_factory.mktemp("notebook"),
    )


@pytest.mark.slow
def test_a_run_shows_the_numbers_of_its_page_and_figures(cells, run_dir, browser, tmp_path):
    tab = browser.open(as_page(cells, tmp_path / "notebook.html"), ready="document.images.length >= 5")
    first = tab.text(".output")
    (flows, *_) = overview.overview(read_summary(run_dir))
    for name, (value, *_) in flows.rows:
        assert name in first
        assert value is None or value in first
    assert "look twice" in first
    assert tab.run("[...document.images].every((image) => image.complete && image.naturalWidth > 300)")
    # No output may be wider than the notebook.
    tab.resize(400, 900)
    assert tab.run("[...document.images].every((image) => image.getBoundingClientRect().right <= innerWidth)")


@pytest.mark.slow
def test_a_figure_is_a_picture(cells):
    assert is_png(shown(cells[1])["image/png"])


@pytest.mark.slow
def test_the_globe_moves_in_its_frame(cells, browser, tmp_path):
    tab = browser.open(as_page(cells[2:], tmp_path / "view.html"), ready="document.querySelector('iframe')")
    frame = tab.frame()
    frame.wait("window.leowarp && leowarp.frames.count > 0")
    assert frame.complaints == []


@pytest.mark.slow
def test_a_group_shows_medians_and_bands(synthetic, tmp_path):
    for seed in (1, 2):
        toml = PLAN_TOML.replace('"60 s"', f'"60 s"\nseed = {seed}')
        synthetic(toml, path=tmp_path / "group" / f"seed-{seed}", warning="look <twice>")
    shown_html = open_group(tmp_path / "group")._repr_html_()
    assert "2 seeds: 1, 2" in shown_html
    assert "median" in shown_html
    assert shown_html.count("data:image/png;base64,") == len(GROUP_FIGURES)
    assert "seed 2: look &lt;twice&gt;" in shown_html


@pytest.mark.slow
def test_a_figure_that_cannot_be_drawn_says_why_and_others_stand(synthetic):
    run = synthetic()
    (run / "30-trace" / "sockets.parquet").unlink()
    shown_html = leowarp.open(run)._repr_html_()
    assert "Goodput over time: cannot draw" in shown_html
    assert "A route change, packet by packet: " not in shown_html
    assert "data:image/png;base64," in shown_html


@pytest.mark.guest
def test_progress_is_one_quiet_output_of_a_cell_whatever_makes_the_runs(tmp_path):
    short = "{'run.duration': '3 s', 'flows.0.name': 'upload'}"
    one, many, command, flow = executed(
        [
            f"import leowarp as lw\nrun = lw.run({str(CHAIN)!r}, {short}, 'one')",
            f"runs = lw.run_many([lw.Job({str(CHAIN)!r}, name, {short}) for name in 'abc'], at_once=2)",
            f"!{sys.executable} -m leowarp run {CHAIN} --out command --set run.duration='1 s' --no-report --force",
            "run.flow('upload')['name']",
        ],
        tmp_path,
    )
    for cell, last in ((one, "one: done"), (many, "3 done")):
        (output,) = cell["outputs"]
        assert output["output_type"] == "display_data"
        assert output["data"] == {"text/plain": last}
    # In a cell, a command writes lines as in a log, without a progress bar.
    text = "".join(output["text"] for output in command["outputs"])
    assert "command: done" in text
    # Jupyter renders bold text (SGR), but shows the characters of other escape sequences.
    assert re.sub(r"\x1b\[[0-9;]*m|\r\n", "", text).isprintable()
    assert shown(flow)["text/plain"] == "'upload'"
