# SPDX-License-Identifier: Apache-2.0
"""Tests in a browser that a run's page fits into a narrow screen, can be sorted, and loads nothing from other hosts."""

import json

import pytest

from leowarp.report import html, write_report

pytestmark = pytest.mark.slow

LOADED = "document.readyState === 'complete'"
COLUMN = """(() => { const table = document.querySelectorAll('#changes table')[0];
    return [...table.tBodies[0].rows].map((row) => row.cells[0].innerText); })()"""


@pytest.fixture(scope="module")
def report(run_dir):
    return write_report(run_dir).as_uri()


def test_the_page_asks_for_nothing_and_nothing_goes_wrong(browser, report):
    tab = browser.open(report, ready=LOADED)
    assert [url for url in tab.requests if not url.startswith("data:")] == [report]
    assert tab.complaints == []


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_is_no_wider_than_the_screen(browser, report, width):
    tab = browser.open(report, size=(width, 900), ready=LOADED)
    assert tab.run("document.scrollingElement.scrollWidth") <= width


# Width of the table, width of its caption's text, and width of the page.
CAPTION = """(() => { const holder = document.createElement('div');
    holder.innerHTML = %s;
    document.body.append(holder);
    const table = holder.querySelector('table'), words = document.createRange();
    words.selectNodeContents(table.caption);
    return [table.tBodies[0].offsetWidth, words.getBoundingClientRect().width, holder.offsetWidth]; })()"""


@pytest.mark.parametrize("width", [400, 1200])
def test_a_caption_is_as_wide_as_the_page_and_its_table_as_its_cells(browser, report, width):
    tab = browser.open(report, size=(width, 900), ready=LOADED)
    without, _, page = tab.run(CAPTION % json.dumps(html.table("", ["a", "b"], [[1, 2]])))
    table, words, _ = tab.run(CAPTION % json.dumps(html.table("a word " * 60, ["a", "b"], [[1, 2]])))
    assert table == without < 100
    assert 0.8 * min(page, 900) < words < page + 1  # the browser rounds offsetWidth
    assert tab.run("document.scrollingElement.scrollWidth") <= width


def test_a_click_on_a_head_sorts_and_a_second_one_sorts_the_other_way(browser, report):
    tab = browser.open(report, ready=LOADED)
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    as_written = tab.run(COLUMN)
    assert as_written == sorted(as_written, key=float)
    press = "document.querySelector('#changes thead th button').click()"
    tab.run(press)
    assert tab.run(COLUMN) == as_written[::-1]
    assert tab.run("document.querySelector('#changes thead th').getAttribute('aria-sort')") == "descending"
    tab.run(press)
    assert tab.run(COLUMN) == as_written
