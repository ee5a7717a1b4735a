# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/prose.py finds sentences that break the rules of CONTRIBUTING.md, and reads prose only."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prose():
    spec = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module
    spec.loader.exec_module(module)
    return module


def faults(prose, path, text):
    return [(each.line, each.faults) for each in prose.sentences(path, text) if each.faults]


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("What is read whole has a largest size.", "its subject does not come first"),
        ("Of each transfer the last sample counts.", "its subject does not come first"),
        ("The result hangs on the seed alone.", "'hangs on': depends on"),
        ("The sender retransmits all of them in vain.", "'in vain': spurious, needless"),
        ("Packets are held back until the old path is empty.", "'held back': buffered, held"),
        ("One packet " + "and another " * 20 + "leaves.", "43 words"),
    ],
)
def test_a_sentence_that_is_read_twice_is_found(prose, sentence, fault):
    assert faults(prose, "page.md", sentence) == [(1, [fault])]


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue of the abandoned link holds 307 packets.",
        "What does a route change do to CUBIC?",
        "Two words.",
        "Whatsoever the seed, every run repeats.",
    ],
)
def test_a_plain_sentence_and_a_question_pass(prose, sentence):
    assert not faults(prose, "page.md", sentence)


def test_code_tables_and_headings_are_no_prose(prose):
    text = "# What it is of all\n\n```\nWhat is in a block of code.\n```\n\n| What is in a table. |\n|---|\n"
    assert not list(prose.sentences("page.md", text))


def test_docstrings_and_comments_are_prose_and_code_is_not(prose):
    text = (
        '"""What a module has in it."""\n\nname = "What a text says to its user."\n# Of all runs the last one counts.\n'
    )
    assert [line for line, _ in faults(prose, "module.py", text)] == [1, 4]
    assert [line for line, _ in faults(prose, "lib.rs", "//! What a crate has in it.\nlet a = 1;\n")] == [1]
    assert not list(prose.sentences("lib.rs", "#[derive(Debug, Clone, Copy, Eq)]\n*first += second + third;\n"))


def test_a_sentence_over_several_lines_has_the_number_of_its_first(prose):
    text = "A plain sentence comes first. What follows\nafter it begins on line one,\nand ends here.\n"
    assert faults(prose, "page.md", text) == [(1, ["its subject does not come first"])]


def test_a_reason_beside_a_sentence_excuses_it(prose):
    sentence = "What is quoted stays as it was written."
    (plain,) = prose.sentences("page.md", sentence)
    (excused,) = prose.sentences("page.md", f"<!-- prose: a quotation -->\n{sentence}")
    assert (plain.has_reason, excused.has_reason) == (False, True)
    assert prose.share([plain, excused]) == 0.5


def test_numbers_have_share_and_lengths(prose):
    found = list(prose.sentences("page.md", "One two three four. What is five words long.\n"))
    assert prose.numbers(found) == "2 sentences, 50.0 % suspicious; median 4 words, 0.0 % above 30"
