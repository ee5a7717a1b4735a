# SPDX-License-Identifier: Apache-2.0
"""Tests that a reader can sort the tables of a report in a browser."""

import pytest

from leowarp.report import html

# These tests are slow, because they start a browser.
pytestmark = pytest.mark.slow

ROWS = [("b", 1000, 2.5), ("a", 20, None), ("c", 3, 10.25), ("d", 20, 0)]


@pytest.fixture
def tab(browser, tmp_path):
    page = tmp_path / "page.html"
    table = html.table("Things", ["name", "packets", "share, %"], ROWS, long=True)
    page.write_text(html.page("Sorting", table), encoding="utf-8")
    return browser.open(page.as_uri(), ready="document.querySelector('th button')")


def names(tab):
    return tab.run("[...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent).join('')")


def test_a_click_sorts_by_numbers_and_the_second_turns_round(tab):
    assert names(tab) == "bacd"
    tab.click_on("th button", 1)
    # Rows with equal values keep their order.
    assert names(tab) == "badc"
    tab.click_on("th button", 1)
    assert names(tab) == "cadb"
    assert tab.run("document.querySelectorAll('th')[1].getAttribute('aria-sort')") == "ascending"
    assert tab.complaints == []


def test_what_is_missing_comes_last_either_way(tab):
    tab.click_on("th button", 2)
    assert names(tab) == "cbda"
    tab.click_on("th button", 2)
    assert names(tab) == "dbca"


def test_words_sort_by_letters_and_by_the_keyboard(tab):
    tab.run("document.querySelector('th button').focus()")
    tab.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", windowsVirtualKeyCode=13, text="\r")
    tab.send("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13)
    tab.frames()
    assert names(tab) == "dcba"
