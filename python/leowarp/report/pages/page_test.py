# SPDX-License-Identifier: Apache-2.0
"""Tests that a page is complete, is a single file, escapes its texts, and names every part that is missing."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leowarp.base import layout
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.metrics import goodput, read_tables
from leowarp.report import figure, html, write_comparison, write_report
from leowarp.report.figures import drawing
from leowarp.report.figures.drawing import Drawing, draw_all
from leowarp.report.pages import interactive
from leowarp.report.pages import page as pages
from leowarp.results import run_tables
from leowarp.results.run import Run, known
from leowarp.trace.manifest import maker
from support.policies import demand_policy

# Each test in this file draws whole pages.
pytestmark = pytest.mark.slow


class Checker(HTMLParser):
    """A parser that checks that tags are closed in the right order, and collects the URLs that a page would load."""

    VOID = frozenset(("meta", "img", "br", "link", "input", "hr"))

    def __init__(self):
        super().__init__()
        self.open, self.loaded, self.ids, self.without_alt = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "src" in attrs or tag == "link":
            self.loaded.append(attrs.get("src") or attrs.get("href"))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        self.without_alt += tag == "img" and not attrs.get("alt")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(page):
    checker = Checker()
    checker.feed(page.read_text(encoding="utf-8"))
    demand_policy(page.read_text(encoding="utf-8"))
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def page(run_dir):
    return write_report(run_dir)


def test_a_chart_is_data_and_no_script(page):
    text = page.read_text(encoding="utf-8")
    assert '<script type="application/json" class="chart-data" data-of="chart">' in text
    # The script that draws the charts must come after the charts.
    assert text.index("chart-data") < text.index("function leowarpChart")


def test_all_pages_are_written_by_the_two_that_give_them_a_policy():
    package = Path(html.__file__).parents[1]
    writers = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if not file.name.endswith("_test.py") and re.search("<!doctype|<html", file.read_text("utf-8"), re.IGNORECASE)
    }
    assert writers == {"report/html.py", "view/page.py"}


def test_the_page_leads_to_the_one_on_which_the_run_moves(page):
    assert '<a href="view.html">See it move</a>' in page.read_text(encoding="utf-8")
    assert (page.parent / "view.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_page_loads_nothing(page):
    checker = checked(page)
    assert checker.loaded
    assert all(source.startswith("data:") for source in checker.loaded)
    assert len(set(checker.ids)) == len(checker.ids)
    assert checker.without_alt == 0
    assert "fetch(" not in page.read_text(encoding="utf-8")


def test_the_page_is_small(page):
    assert page.stat().st_size < 3_000_000


def test_the_page_shows_numbers_rules_and_plan(page):
    text = page.read_text(encoding="utf-8")
    for words in ("11.58", "41.00 → 30.00", "any pair within 3000 km", "leowarp verify", "00-plan.toml",
                  "A route change, packet by packet", "of Frederiksen et al., 2024"):  # fmt: skip
        assert words in text


def test_the_page_says_what_each_change_caused(page):
    text = page.read_text(encoding="utf-8")
    section = text[text.index('<section id="reordering">') :]
    section = section[: section.index("</section>")]
    assert 'id="figure-reordering"' in section
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in section.split("<tr>")]
    (first,) = [row for row in rows if row[:1] == ["20"]]
    (none,) = [row for row in rows if row[:1] == ["no change"]]
    # The table's third column is the number of late packets. Its last three columns are the numbers of lost packets,
    # needed retransmissions and spurious retransmissions.
    assert (first[2], first[-3:]) == ("26", ["0", "0", "10"])
    assert (none[2], none[-3:]) == ("0", ["3", "3", "0"])


def test_every_figure_has_its_files(page):
    text = page.read_text(encoding="utf-8")
    files = re.findall(r'href="(figures/[^"]+)"', text)
    assert [file.endswith(".csv") for file in files] == [False, True] * 12
    assert all((page.parent / file).exists() for file in files)


def test_the_page_is_the_same_twice(few_figures, run_dir, tmp_path):
    pages = []
    for folder in ("a", "b"):
        copy = tmp_path / folder / "run"
        shutil.copytree(run_dir, copy, ignore=shutil.ignore_patterns("50-report"))
        pages.append(write_report(copy).read_bytes())
    assert pages[0] == pages[1]


@pytest.fixture
def few_figures(monkeypatch):
    """Draw only two figures, which are enough to test the rest of the page."""
    from leowarp.report.figures import drawing as module

    monkeypatch.setattr(module, "FIGURES", {name: module.FIGURES[name] for name in ("goodput", "packets")})


def test_warnings_stand_at_the_top_and_are_escaped(few_figures, run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    (copy / "manifest.json").write_text(json.dumps({"warnings": ["<b>3 < 4</b> & more"]}))
    text = write_report(copy).read_text(encoding="utf-8")
    assert text.index("&lt;b&gt;3 &lt; 4&lt;/b&gt; &amp; more") < text.index("<h2>")


def test_a_run_without_stored_packets_says_what_is_not_drawn(few_figures, run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    (copy / "30-trace" / "packets.parquet").unlink()
    page = write_report(copy)
    text = page.read_text(encoding="utf-8")
    assert "Not drawn" in text
    assert "none were stored" in text
    checked(page)


def test_a_run_whose_reordering_was_not_measured_says_so(few_figures, run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    for name in ("reordering", "densities"):
        (copy / "30-trace" / f"{name}.parquet").unlink()
    assert "Reordering was not measured" in write_report(copy).read_text(encoding="utf-8")


def test_a_run_that_took_no_samples_says_so(few_figures, run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    for table in ("sockets", "links"):
        (copy / "30-trace" / f"{table}.parquet").unlink()
    plan = copy / "00-plan.toml"
    text = plan.read_text(encoding="utf-8")
    for key in ("sockets", "queues"):
        assert f'{key} = "50 ms"' in text
        text = text.replace(f'{key} = "50 ms"', f'{key} = "none"')
    plan.write_text(text, encoding="utf-8")
    page = write_report(copy)
    checked(page)
    assert "the run recorded no sockets" in page.read_text(encoding="utf-8")
    with pytest.raises(TraceError, match="the run recorded no links") as caught:
        figure(copy, "queues")
    assert "observe.queues" in str(caught.value.hint)


def test_comparison_has_a_column_a_run(few_figures, run_dir, other_run_dir, tmp_path):
    page = write_comparison([run_dir, other_run_dir], tmp_path / "both", command="leowarp compare one two")
    checked(page)
    text = page.read_text(encoding="utf-8")
    assert "<title>Runs compared: CUBIC, Reno</title>" in text
    assert ">CUBIC</th>" in text
    assert ">Reno</th>" in text
    assert "leowarp compare one two" in text


def test_one_run_cannot_be_compared(run_dir, tmp_path):
    with pytest.raises(ScenarioError, match="compare 1 run"):
        write_comparison([run_dir], tmp_path / "one")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0"),
        (12345, "12,345"),
        (1.23456, "1.235"),
        (123456.7, "123,457"),
        (True, "yes"),
    ],
)
def test_cells_show_missing_as_a_dash_and_zero_as_zero(value, shown):
    assert html.cell(value) == shown


def test_what_is_0_in_the_whole_run_has_no_row_in_the_chart_and_is_named(run_dir, monkeypatch):
    nothing = (np.arange(3.0), np.zeros(3))
    some = (np.arange(3.0), np.ones(3))
    monkeypatch.setattr(interactive, "_series", lambda run, most, queues: [some, nothing, some, (nothing[0][:1],) * 2])
    text = interactive.chart([Run(run_dir, complete=False)], "chart")
    assert '"rows":["goodput, Mbit/s","smoothed RTT, ms"]' in text
    assert "not recorded: window, queue." in text
    monkeypatch.setattr(interactive, "_series", lambda run, most, queues: [nothing] * 4)
    assert interactive.chart([Run(run_dir, complete=False)], "chart") == ""


def test_a_reason_why_figures_are_not_drawn_is_said_once(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    (copy / "30-trace" / "sockets.parquet").unlink()
    folder = tmp_path / "figures"
    drawn, not_drawn = draw_all([Run(copy, complete=False)], folder, Drawing(names=["goodput", "goodput_cdf"]))
    assert drawn == []
    assert len(set(not_drawn.values())) == 1
    assert 'run it again with --set observe.sockets="50 ms"' in not_drawn["goodput"]


def test_the_page_says_what_happened_before_any_number(page):
    text = page.read_text(encoding="utf-8")
    told = re.search(r'<p class="outcome">(.*?)</p>', text)
    assert told is not None
    assert told[1].startswith(
        "One cubic flow from Madrid to Tokyo ran for 60 s of virtual time over the links of a con"
    )
    assert "packets came late, overtaken by others" in told[1]
    assert told.start() < text.index('<dl class="numbers">')


def test_a_figure_has_the_rules_once_for_the_page_and_in_its_files_for_papers(run_dir, tmp_path):
    draw_all([Run(run_dir, complete=False)], tmp_path, Drawing(names=["goodput"], formats=["pdf"]))
    svg = (tmp_path / "goodput.svg").read_text(encoding="utf-8")
    assert "queue discipline: fifo" in re.search(r"<dc:description>(.*?)</dc:description>", svg, re.S)[1]
    assert '<g id="rules">' not in svg
    assert (tmp_path / "goodput.pdf").exists()


def test_a_figure_drawn_again_is_the_same_whatever_other_files_it_has(run_dir, tmp_path, monkeypatch):
    # With a limit of 0 bytes, every SVG is too large for a page. The page therefore gets a PNG instead.
    monkeypatch.setattr(drawing, "LARGEST_SVG_BYTES", 0)
    first, again, asked = tmp_path / "first", tmp_path / "again", tmp_path / "asked"
    goodput_only = Drawing(names=["goodput"])
    draw_all([Run(run_dir, complete=False)], first, goodput_only)
    for _ in range(2):
        draw_all([Run(run_dir, complete=False)], again, goodput_only)
    assert {file.name: file.read_bytes() for file in again.iterdir()} == {
        file.name: file.read_bytes() for file in first.iterdir()
    }
    for formats in (["pdf", "png"], []):
        draw_all([Run(run_dir, complete=False)], asked, Drawing(names=["goodput"], formats=formats))
        assert (asked / "goodput.svg").read_bytes() == (first / "goodput.svg").read_bytes()
        # In the PNG that the user requested for a paper, the rules are still printed below the figure.
        assert (asked / "goodput.png").read_bytes() != (first / "goodput.png").read_bytes()


def test_the_numbers_of_a_figure_are_those_that_it_shows(run_dir, tmp_path):
    draw_all([Run(run_dir, complete=False)], tmp_path, Drawing(names=["goodput", "cwnd"]))
    first, *_ = (tmp_path / "goodput.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("# panel 1: CUBIC, in order at the receiver, 50 ms bins; x: time, s")
    shown = pd.read_csv(tmp_path / "goodput.csv", comment="#")
    expected = goodput(read_tables(run_dir), 0)
    assert shown["x"].to_numpy() == pytest.approx(expected["t_ns"].to_numpy() / 1e9)
    assert shown["y"].to_numpy() == pytest.approx(expected["goodput_bps"].to_numpy() / 1e6, rel=1e-8, nan_ok=True)
    bars = pd.read_csv(tmp_path / "cwnd.csv", comment="#")
    assert (bars["y"] > bars["y_low"])[bars["line"] == "needed"].all()


def test_a_figure_that_was_asked_for_and_cannot_be_drawn_is_an_error(run_dir, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_dir, run, ignore=shutil.ignore_patterns("50-report"))
    (run / "30-trace" / "sockets.parquet").unlink()
    with pytest.raises(TraceError, match="the figure 'goodput' of run: the run recorded no sockets"):
        write_report(run, figures=["goodput", "map"])
    # The requested figure with data is drawn, and the page names the requested figure without data.
    assert (run / "50-report" / "figures" / "map.svg").exists()
    assert "the run recorded no sockets" in (run / "50-report" / "index.html").read_text(encoding="utf-8")


def test_of_thousands_of_flows_the_chart_has_some_evenly_by_their_goodput():
    flows = [{"goodput_mean_bps": float((number * 7919) % 2000)} for number in range(2000)]
    chosen = pages._evenly(SimpleNamespace(summary={"flows": flows}), range(2000))
    means = sorted(flows[number]["goodput_mean_bps"] for number in chosen)
    assert len(set(chosen)) == pages.MOST_CHARTED
    assert chosen == sorted(chosen)
    assert (means[0], means[-1]) == (0, 1999)
    assert max(np.diff(means)) <= 11


def test_the_page_says_that_its_chart_has_not_all_flows(run_dir, monkeypatch):
    view = Run(run_dir, complete=False)
    assert "flows it has" not in pages._chart([view])
    monkeypatch.setattr(pages, "MOST_CHARTED", 2)
    monkeypatch.setattr(Run, "tcp_flows", property(lambda self: [0, 0, 0]))
    assert "Of 3 flows it has 2, evenly spaced by their mean goodput." in pages._chart([view])


def test_a_run_that_is_known_is_not_read_again(run_dir, monkeypatch):
    read = Run(run_dir)
    plan, numbers = read.plan, read.numbers
    monkeypatch.setattr("leowarp.metrics.read_tables", lambda path: pytest.fail("its tables were read"))
    assert write_report(known(Run(run_dir), plan, numbers), figures=["goodput_cdf"]).exists()


def test_a_summary_that_these_sources_wrote_again_is_of_these_sources(run_dir, monkeypatch):
    other = {**maker(), "package_sha256": "0" * 64}
    again = {**maker(), "files": [layout.SUMMARY]}
    for manifest, is_ours in ((maker(), True), (other, False), ({**other, "later": [again]}, True)):
        monkeypatch.setattr(Run, "manifest", property(lambda self, manifest=manifest: manifest))
        assert run_tables.is_of_these_sources(Run(run_dir)) is is_ours


def test_scalars_of_a_run_of_many_flows_are_taken_from_it_only_if_these_sources_wrote_them(run_dir, monkeypatch):
    monkeypatch.setattr(run_tables, "MANY_FLOWS", 0)
    written = Run(run_dir).numbers.summary | {"name": "as written"}
    monkeypatch.setattr(Run, "summary", property(lambda self: written))
    monkeypatch.setattr(run_tables, "is_of_these_sources", lambda run: False)
    assert Run(run_dir).numbers.summary["name"] != "as written"
    monkeypatch.setattr(run_tables, "is_of_these_sources", lambda run: True)
    assert Run(run_dir).numbers.summary is written
