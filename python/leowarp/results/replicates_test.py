# SPDX-License-Identifier: Apache-2.0
"""Tests the notation in which users write seeds, and the conditions for a group of runs."""

from pathlib import Path

import pytest

from leowarp.base.errors import LeowarpError
from leowarp.results.replicates import directories, is_group, open_group, seeds_of
from support.synthetic.run import PLAN_TOML, write_synthetic_run

# The tests in this file are slow, because each test computes metrics of several runs.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "seeds"), [("1..3", (1, 2, 3)), ("7,1", (7, 1)), ("1..2, 9", (1, 2, 9)), ("0..1", (0, 1))]
)
def test_seeds_are_ranges_and_numbers(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("10..1", "ends before it begins", "--seeds 1..10"),
        ("4", "one run is no group", "--set run.seed=4"),
        ("4..4", "one run is no group", "--set run.seed=4"),
        ("1,2,1", "1 is named twice", "once"),
        ("1..x", "is no seed and no range", "--seeds 1..10"),
        ("", "an empty part", "--seeds 1..10"),
        ("-3..3", "is no seed and no range", "--seeds 1..10"),
        ("1..1000000", "are the most", "leowarp study"),
    ],
)
def test_bad_seeds_say_what_to_type(text, words, hint):
    with pytest.raises(LeowarpError) as failed:
        seeds_of(text)
    assert words in failed.value.message
    assert hint in failed.value.hint


def test_directories_sort_as_their_seeds():
    assert [path.name for path in directories(Path("g"), (9, 10))] == ["seed-09", "seed-10"]


def complete(path, *replacements):
    toml = PLAN_TOML
    for old, new in replacements:
        toml = toml.replace(old, new)
    write_synthetic_run(path, toml)
    (path / "summary.json").write_text('{"name": "x", "flows": []}')
    return path


def seeded(path, seed, *replacements):
    return complete(path, ('duration = "60 s"', f'duration = "60 s"\nseed = {seed}'), *replacements)


def test_a_group_is_runs_that_differ_by_their_seeds(tmp_path):
    for seed in (2, 1):
        seeded(tmp_path / "g" / f"seed-{seed}", seed)
    assert is_group(tmp_path / "g")
    assert not is_group(tmp_path / "g" / "seed-1")
    assert not is_group(tmp_path / "nowhere")
    assert open_group(tmp_path / "g").seeds == [1, 2]


def test_a_group_of_one_has_no_median(tmp_path):
    seeded(tmp_path / "g" / "seed-1", 1)
    with pytest.raises(LeowarpError) as failed:
        open_group(tmp_path / "g")
    assert "it holds one run, seed-1" in failed.value.message
    assert "--seeds 1..10" in failed.value.hint


def test_runs_of_two_plans_are_no_group(tmp_path):
    seeded(tmp_path / "g" / "a", 1)
    seeded(tmp_path / "g" / "b", 2, ('"cubic"', '"reno"'))
    with pytest.raises(LeowarpError, match="more than their seeds") as failed:
        open_group(tmp_path / "g")
    assert "flows.0.congestion_control" in failed.value.message
    assert "leowarp compare" in failed.value.hint


def test_a_seed_twice_is_no_group(tmp_path):
    for name in "ab":
        seeded(tmp_path / "g" / name, 1)
    with pytest.raises(LeowarpError, match="two of its runs have the seed 1"):
        open_group(tmp_path / "g")


def test_an_unfinished_run_is_named(tmp_path):
    for seed in (1, 2):
        seeded(tmp_path / "g" / f"seed-{seed}", seed)
    (tmp_path / "g" / "seed-2" / "INCOMPLETE").write_text("killed\n")
    with pytest.raises(LeowarpError, match="seed-2 is incomplete"):
        open_group(tmp_path / "g")
