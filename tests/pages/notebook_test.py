# SPDX-License-Identifier: Apache-2.0
"""A notebook that is executed by a kernel, and its outputs in a browser."""

import pytest

import leowarp
from leowarp import overview
from leowarp.recorded import read_summary
from leowarp.replicates import open_group
from leowarp.report.bands import GROUP_FIGURES
from support.notebooks import as_page, executed, is_png, shown
from support.synthetic.run import PLAN_TOML


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
    # Nothing of it is wider than the notebook.
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
