# SPDX-License-Identifier: Apache-2.0
"""Tests that the numbers on the pages equal the stored results of the runs (docs/numbers.toml,
tools/quoted_numbers.py)."""

import importlib.util
import json
import sys

import pytest

from support.pages import ROOT

_spec = importlib.util.spec_from_file_location("quoted_numbers", ROOT / "tools" / "quoted_numbers.py")
assert _spec is not None
assert _spec.loader is not None
quoted_numbers = importlib.util.module_from_spec(_spec)
sys.modules["quoted_numbers"] = quoted_numbers
_spec.loader.exec_module(quoted_numbers)

RUNS, QUOTES, BLOCKS = quoted_numbers.listed()
STORED = quoted_numbers.stored(list(RUNS))


def place(of: dict[str, str]) -> str:
    return f"{of['page']}: {quoted_numbers.one_line(of.get('text', of.get('block', '')))[:60]}"


@pytest.mark.parametrize("quote", QUOTES, ids=place)
def test_a_quoted_number_is_the_stored_one(quote: dict[str, str]) -> None:
    assert not list(quoted_numbers.wrong_quotes([quote], STORED))


@pytest.mark.parametrize("block", BLOCKS, ids=place)
def test_a_printed_block_is_the_stored_one(block: dict[str, str]) -> None:
    assert not list(quoted_numbers.wrong_blocks([block], STORED))


def test_every_run_is_stored_as_it_is_made() -> None:
    for name, run in RUNS.items():
        stored = json.loads((quoted_numbers.STORE / f"{name}.json").read_text())
        assert stored["make"] == list(run.make), f"python tools/quoted_numbers.py --store {name}"
        assert set(stored.get("values", {})) == {value for value in run.values if not value.startswith("_")}
    assert {path.stem for path in quoted_numbers.STORE.iterdir()} == set(RUNS)


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize("run", [run for run in RUNS.values() if not run.long], ids=lambda run: run.name)
def test_the_run_made_again_gives_the_stored_numbers(run) -> None:
    assert not quoted_numbers.changes(run, quoted_numbers.again(run))


def test_wrong_numbers_are_found(tmp_path) -> None:
    (tmp_path / "page.md").write_text("CUBIC has 12.35\nMbit/s.\n\n```\nlost   3 of 7\n...\nsent   7\n```\n")
    results = {
        "a_run": quoted_numbers.Stored(
            {
                "summary": {"drops_pkts": 4, "flows": [{"goodput_mean_bps": 12_345_678}, {"late_pkts": 9}]},
                "values": {"change": {"lost_pkts": 2.0}},
                "printed": {"leowarp x": [" lost       3 of 7 ", " more", " sent       7 "]},
            }
        )
    }

    def wrong(text: str) -> list[str]:
        return list(quoted_numbers.wrong_quotes([{"page": "page.md", "text": text}], results, tmp_path))

    assert not wrong("CUBIC has {a_run.goodput_mean_bps / 1e6:.2f} Mbit/s")
    assert wrong("CUBIC has {a_run.goodput_mean_bps / 1e6:.3f} Mbit/s") == [
        "page.md: the stored results make this: CUBIC has 12.346 Mbit/s"
    ]
    assert "no stored number goodput_bps" in wrong("CUBIC has {a_run.goodput_bps}")[0]
    assert (
        quoted_numbers.rendered("{a_run.drops_pkts} {a_run[1].late_pkts} {a_run.change['lost_pkts']:.0f}", results)
        == "4 9 2"
    )

    def wrong_block(text: str) -> list[str]:
        (tmp_path / "page.md").write_text(f"```\n{text}\n```\n")
        block = {"page": "page.md", "run": "a-run", "block": text.splitlines()[0]}
        return list(quoted_numbers.wrong_blocks([block], results, tmp_path))

    assert not wrong_block("lost   3 of 7\n...\nsent   7")
    assert wrong_block("lost   4 of 7") == ["page.md: a-run does not print, at this place: lost 4 of 7"]
    assert wrong_block("sent   7\nlost   3 of 7") == ["page.md: a-run does not print, at this place: lost 3 of 7"]


def test_what_moved_is_named() -> None:
    old = {"values": {"rtt_ns": [1, 2.0], "late_pkts": 3}}
    assert not list(quoted_numbers.moved(old, {"values": {"rtt_ns": [1, 2.0 + 1e-15], "late_pkts": 3}}, "run"))
    assert list(quoted_numbers.moved(old, {"values": {"rtt_ns": [1, 2.5], "late_pkts": 4}}, "run")) == [
        "run.values.late_pkts: 3 -> 4",
        "run.values.rtt_ns.1: 2.0 -> 2.5",
    ]
