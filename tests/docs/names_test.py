# SPDX-License-Identifier: Apache-2.0
"""Tests that tables, columns, scalars and figures in the documentation exist in the code."""

import re
from pathlib import Path

import pytest

from leowarp import scalars
from leowarp.report.figures import FIGURES
from leowarp.trace import TABLES
from support.pages import PAGES, ROOT, name_of

READING = ROOT / "docs" / "guides" / "reading-a-run.md"
UNITS = ("ns", "us", "ms", "s", "m", "km", "deg", "bytes", "pkts", "bps", "ratio", "nats", "db", "hz", "bits", "pps")
_QUANTITY = re.compile(rf"\b[a-z][a-z0-9_]*_(?:{'|'.join(UNITS)})\b")
_OF_STUDIES = re.compile(r"^(flow0|run|isl|ground|chain|jittered)_")
_CODE = re.compile(r"`([^`\n]+)`")
# Pages that are generated from the code, or that describe other formats than results
ELSEWHERE = {"docs/reference/tables.md", "docs/reference/scenario.md", "docs/reference/clauses.md",
             "docs/reference/api.md", "CHANGELOG.md", "docs/changes/0.2.0.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
             "design/interfaces.md"}  # fmt: skip


def first_column(page: Path, heading: str) -> list[str]:
    """Return the code words in the first column of the table whose first heading begins with `heading`."""
    text = page.read_text(encoding="utf-8").split(f"| {heading} |", 1)[1]
    rows = text.split("\n\n", 1)[0].splitlines()[2:]
    return [name for row in rows for name in _CODE.findall(row.split("|")[1])]


def test_the_guide_has_every_figure() -> None:
    assert sorted(first_column(READING, "figure")) == sorted(FIGURES)


def test_the_guide_has_every_table() -> None:
    assert sorted(first_column(READING, "table")) == sorted({"routes", "timeline", *TABLES})


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Every quantity that the package's sources name, and the names of all scalars."""
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "guest").rglob("*.c"), *(ROOT / "crates").rglob("*.rs")]
    texts = [source.read_text(encoding="utf-8") for source in sources if not source.name.endswith("_test.py")]
    return {name for text in texts for name in _QUANTITY.findall(text)} | {*scalars.RUN_SCALARS, *scalars.FLOW_SCALARS}


@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in ELSEWHERE], ids=name_of)
def test_quantities_in_code_exist(page: Path, known: set[str]) -> None:
    """If a code word in a document ends in a unit, the package must have a name with this spelling."""
    quoted = {name for code in _CODE.findall(page.read_text(encoding="utf-8")) for name in _QUANTITY.findall(code)}
    # A column of a study is named after a scalar of flow 0, or after a key with its section
    wrong = {name for name in quoted - known if _OF_STUDIES.sub("", name) not in known}
    assert not wrong


def test_names_that_do_not_exist_would_be_noticed(known: set[str]) -> None:
    assert not {"queue_left_pktss", "rtt_p98_ns", "goodput_average_bps"} & known


def test_each_word_of_the_glossary_has_one_meaning() -> None:
    rows = re.findall(r"^\| ([a-z][^|]*) \|", (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8"), re.M)
    words = [word for row in rows if row != "word" for word in row.split(", ")]
    assert len(words) >= 40
    assert sorted(set(words)) == sorted(words)
