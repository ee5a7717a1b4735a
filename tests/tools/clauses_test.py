# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/clauses.py reads citations, and reports every fault in lists and citations."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = """\
document = "RFC 1"
title = "A standard"
sections = ["1", "2"]

[no_clause]
"2" = "references"

[[clause]]
section = "1"
name = "length"
kind = "must"
says = "Lengths are in bytes."

[[clause]]
section = "1"
name = "table 1"
kind = "example"
says = "2 and 2 are 4."
"""
CODE = """\
/// How long it is.
/// Implements RFC 1, 1 (length).
#[inline]
pub fn length() -> usize {
    4
}

// Tests RFC 1, 1 (length).
// Tests RFC 1, 1 (table 1).
#[test]
fn two_and_two() {}
"""
CLAIMS = """\
document = "somebody1999"
title = "Somebody: Something"

[[claim]]
number = "1.1"
source = "figure 3"
says = "It is fast."
"""
STUDY = """\
# Implements claim 1.1 of somebody1999 (figure 3).
def fast(frames):
    return frames


CLAIMS = (Claim("1.1", "It is " "fast.", "3", "Timed.", (), fast),)
"""
STUDY_TEST = """\
@parametrized
# Tests claims 1.1 to 1.1 of somebody1999.
def test_it_is_fast():
    pass
"""


@pytest.fixture(scope="module")
def clauses():
    spec = importlib.util.spec_from_file_location("clauses", ROOT / "tools" / "clauses.py")
    module = sys.modules["clauses"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["clauses"]


@pytest.fixture
def tree(tmp_path):
    """A function that makes a project without faults. A call may replace the text `old` by `new` in the project's
    files."""
    files = {
        "design/clauses/rfc1.toml": LIST, "crates/one.rs": CODE, "design/clauses/somebody1999.toml": CLAIMS,
        "python/somebody1999/claims_all.py": STUDY, "python/somebody1999/all_test.py": STUDY_TEST,
    }  # fmt: skip

    def made(old="", new=""):
        assert any(old in text for text in files.values())
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text.replace(old, new) if old else text)
        return tmp_path

    return made


def test_where_all_is_well_nothing_is_told_and_each_document_has_a_line(clauses, tree, capsys):
    assert clauses.main([], tree()) == 0
    told = capsys.readouterr()
    assert not told.err
    assert told.out.splitlines() == [
        "RFC 1: 2 clauses, 1 implemented, 2 tested, 0 with departures, 0 exceptions",
        "somebody1999: 1 claims, 1 implemented, 1 tested",
    ]


def test_claims_may_lie_in_a_folder_of_their_study(clauses, tree):
    root = tree()
    flat = root / "python/somebody1999/claims_all.py"
    folder = root / "python/somebody1999/claims"
    folder.mkdir()
    flat.rename(folder / "speed.py")
    assert clauses.main([], root) == 0
    (folder / "speed.py").unlink()
    assert clauses.main([], root) == 1


def test_a_document_is_printed_clause_by_clause(clauses, tree, capsys):
    assert clauses.main(["rfc1"], tree()) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 (length), must: Lengths are in bytes.",
        "    implements: crates/one.rs:2",
        "    tests: crates/one.rs:8",
        "1 (table 1), example: 2 and 2 are 4.",
        "    tests: crates/one.rs:9",
    ]
    assert clauses.main(["rfc2"], tree()) == 2
    assert "there are: rfc1, somebody1999" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "telling"),
    [
        ("/// Implements RFC 1, 1 (length).\n", "", "RFC 1, 1 (length) is implemented nowhere"),
        ("// Tests RFC 1, 1 (table 1).\n", "", "RFC 1, 1 (table 1) is tested nowhere"),
        ("// Tests RFC 1, 1 (length).\n", "// Tests RFC 1, 1 (width).\n", "crates/one.rs:8: cites RFC 1 1 width"),
        ("// Tests RFC 1, 1 (length).", "// Tests RFC 1, section 1.", "crates/one.rs:8: cannot read the citation"),
        ("#[test]\n", "", "crates/one.rs:8: no test stands below"),
        ("def test_it", "def it", "python/somebody1999/all_test.py:2: no test stands below"),
        ('"must"', '"shall"', "there is no kind 'shall'"),
        ('are 4."\n', 'are 4."\nexception = "so not"\n', "crates/one.rs:9: cites RFC 1, 1 (table 1), which the list"),
        ('["1", "2"]', '["1", "2", "3"]', "RFC 1, 3: has neither a clause nor a reason"),
        ('["1", "2"]', '["1"]', "RFC 1 has no section 2"),
        ('"2" =', '"1" =', "RFC 1, 1: has clauses and a reason"),
        ('name = "table 1"', 'name = "length"', "RFC 1, 1 (length) stands in the list twice"),
        ("It is fast.", "It is slow.", "claim 1.1 of somebody1999 has other words"),
        ('"3", "Timed."', '"4", "Timed."', "claim 1.1 of somebody1999 has other words, or another source"),
        ("(figure 3)", "(figure 4)", "the source of claim 1.1 of somebody1999 is figure 3, not figure 4"),
        ("# Implements claim 1.1", "# See claim 1.1", "claim 1.1 of somebody1999 is implemented nowhere"),
        ("# Tests claims", "# See claims", "claim 1.1 of somebody1999 is tested nowhere"),
        ("def fast(", "def quick(frames):\n    pass\n\n\ndef fast(", "is judged by fast in"),
        ('Claim("1.1"', 'Claim("1.2"', "claim 1.1 of somebody1999 is judged nowhere"),
        ("(Claim(", "(Claim('1.1', 'It is fast.', '3', '', (), fast), Claim(", "stands in the code twice"),
        ('document = "somebody1999"', 'document = "nobody"', "the claims of somebody1999 have no list"),
    ],
)
def test_whatever_is_wrong_is_told(clauses, tree, capsys, old, new, telling):
    assert clauses.main([], tree(old, new)) == 1
    assert telling in capsys.readouterr().err


def test_an_exception_takes_the_place_of_code_and_test_and_cannot_depart(clauses, tree, capsys):
    assert clauses.main([], tree("// Tests RFC 1, 1 (table 1).\n", "")) == 1
    excepted = 'are 4."\nexception = "not so in base 3"\n'
    root = tree('are 4."\n', excepted)
    code = root / "crates" / "one.rs"
    code.write_text(code.read_text().replace("// Tests RFC 1, 1 (table 1).\n", ""))
    assert clauses.main([], root) == 0
    document = root / "design" / "clauses" / "rfc1.toml"
    document.write_text(document.read_text().replace(excepted, excepted + 'departure = "3"\n'))
    capsys.readouterr()
    assert clauses.main([], root) == 1
    assert "cannot depart" in capsys.readouterr().err


def test_what_a_string_says_is_no_citation(clauses):
    text = 'WORDS = """\n# Tests RFC 1, 1 (length).\n"""\n# Implements RFC 1, 1 (length).\nLENGTH = 4\n'
    (found,) = clauses.citations(text, "one.py")
    assert (found.verb, found.line, found.item) == ("Implements", 4, "LENGTH")


def test_a_figure_is_put_in_words(clauses):
    words = [clauses.in_words(figure) for figure in ("4", "9a", "2, 3", "IV", "text", "table 1")]
    assert words == ["figure 4", "figure 9a", "figures 2, 3", "section IV", "text", "table 1"]


def test_the_page_names_what_stands_below_a_citation_and_not_its_line(clauses, tree, tmp_path, capsys):
    root, page = tree(), tmp_path / "clauses.md"
    assert clauses.main(["--page", str(page)], root) == 0
    assert "| 1 length | must | Lengths are in bytes. | [one.rs](../../crates/one.rs) `length` |" in page.read_text()
    assert clauses.main(["--page", str(page), "--check"], root) == 0
    code = root / "crates" / "one.rs"
    code.write_text("\n\n" + code.read_text())
    assert clauses.main(["--page", str(page), "--check"], root) == 0
    page.write_text(page.read_text() + "\n")
    assert clauses.main(["--page", str(page), "--check"], root) == 1
    assert "make docs" in capsys.readouterr().err


def test_the_page_of_the_documentation_is_current(clauses):
    documents, cited, _ = clauses.collected(ROOT)
    page = ROOT / "docs" / "reference" / "clauses.md"
    assert page.read_text(encoding="utf-8") == clauses.page(documents, cited), "type: make docs"
