# SPDX-License-Identifier: Apache-2.0
"""Tests `show --links`, `compare --diff`, and commands about groups of runs."""

import json

import pytest

from leowarp import scenario
from leowarp.base import layout
from leowarp.metrics import link_use, metrics, read_tables
from leowarp.scenario.schema import Shell
from support.elements import orbits_of, written
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import PLAN_TOML, write_synthetic_run

# These tests are slow, because each test computes metrics of runs, and most tests draw a page.
pytestmark = pytest.mark.slow


def finished(path):
    """Write metrics, summary and manifest of a synthetic run."""
    plan = scenario.resolve(scenario.load(path / layout.PLAN))
    metrics(read_tables(path), plan).with_cost(cpu_s=1.5, wall_s=2.0).write(path)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two groups of runs, one with CUBIC and one with Reno, with two seeds each."""
    top = tmp_path_factory.mktemp("runs")
    for name in ("cubic", "reno"):
        for seed in (1, 2):
            toml = PLAN_TOML.replace('"cubic"', f'"{name}"').replace('"60 s"', f'"60 s"\nseed = {seed}')
            finished(write_synthetic_run(top / name / f"seed-{seed}", toml))
    return top


def test_links_are_directions_then_satellites(leowarp, made):
    out = leowarp("show", made / "cubic" / "seed-1", "--links", "--top", "3", "--by", "queue").out
    assert "3 of 18 directions of links that carried packets, longest queue in bytes first" in out
    assert out.index("s-00-00 > s-01-00") < out.index("Tokyo > s-04-00")
    # There are 15 packets, of which the first leaves at 19 s
    assert " 22,710 " in out
    assert " 19.000 " in out
    assert "satellites that forwarded packets" in out


def test_the_use_of_links_is_computed_once(leowarp, made, monkeypatch):
    calls = []
    monkeypatch.setattr("leowarp.metrics.link_use", lambda *args: calls.append(1) or link_use(*args))
    assert "satellites that forwarded" in leowarp("show", made / "cubic" / "seed-1", "--links").out
    assert len(calls) == 1


def test_links_as_json_are_the_documented_columns(leowarp, made):
    from leowarp.metrics import LINK_COLUMNS, SATELLITE_COLUMNS

    found = json.loads(leowarp("show", made / "cubic" / "seed-1", "--links", "--json").out)
    assert set(found["links"][0]) == set(LINK_COLUMNS)
    assert set(found["satellites"][0]) == set(SATELLITE_COLUMNS)


def test_links_of_elements_say_which_planes_were_found(leowarp, made, tmp_path):
    (tmp_path / "run" / layout.INPUTS).mkdir(parents=True)
    shell = Shell(planes=8, satellites_per_plane=9, phasing=3, altitude_m=1200e3, inclination_deg=60.0)
    written(tmp_path / "run" / layout.INPUTS / "set.tle", orbits_of(shell))
    elements = 'tle = "set.tle"\nepoch = "2025-06-01T00:00:00Z"\n[isl]\nrule = "plus-grid"'
    run = finished(write_synthetic_run(tmp_path / "run", PLAN_TOML.replace('preset = "oneweb-study"', elements)))
    sentence = "set.tle: +Grid found in the elements: 8 planes of 9 slots at 60.0 deg"
    assert sentence in leowarp("show", run, "--links").out
    (said,) = json.loads(leowarp("show", run, "--links", "--json").out)["grid"]
    assert said.startswith(sentence)
    assert json.loads(leowarp("show", made / "cubic" / "seed-1", "--links", "--json").out)["grid"] == []


def test_a_run_without_satellites_says_what_to_type(leowarp, tmp_path):
    dish = finished(write_synthetic_access(tmp_path / "dish"))
    said = leowarp("show", dish, "--links").out
    assert "all 2 directions" in said
    assert "satellites that forwarded packets" not in said
    failed = leowarp("show", dish, "--links", "--satellites")
    assert failed.status == 5
    assert "has no satellites that forward packets: its medium is [access]" in " ".join(failed.err.split())
    assert f"leowarp show {dish} --links" in " ".join(failed.err.split())


def test_a_directory_that_is_no_run_is_an_error(leowarp, tmp_path, made):
    for words in (
        ("show", tmp_path),
        ("compare", tmp_path, tmp_path),
        ("compare", made / "cubic" / "seed-1", tmp_path),
    ):
        failed = leowarp(*words, "--links" if words[0] == "show" else "--diff")
        assert failed.status == 5
        assert "hint:" in failed.err


def test_diff_names_the_keys_and_nothing_else(leowarp, made):
    first, second = made / "cubic" / "seed-1", made / "reno" / "seed-1"
    out = leowarp("compare", first, second, "--diff").out
    # If two directories have the same name, their labels contain the part of their paths that differs.
    assert "cubic/seed-1" in out
    assert "flows.0.congestion_control" in out
    assert "run.duration" not in out
    assert "Every scalar is the same." in out
    (only,) = json.loads(leowarp("compare", first, second, "--diff", "--json").out)["differences"]
    assert (only["part"], only["a"], only["b"]) == ("plan", "cubic", "reno")


def test_groups_are_compared_by_medians_with_bands(leowarp, made, tmp_path):
    out = leowarp("compare", made / "cubic", made / "reno", "--out", tmp_path / "page").out
    assert "flows.0.congestion_control" in out
    assert "run.seed" not in out
    assert "median [interval]" in out
    assert "of 2 runs from the smallest to the largest value" in " ".join(out.split())
    page = (tmp_path / "page" / "index.html").read_text()
    assert page.index("Differences; everything else") < page.index("median [interval]")
    assert (tmp_path / "page" / "figures" / "goodput.svg").exists()


def test_a_group_beside_a_run_says_what_to_type(leowarp, made):
    failed = leowarp("compare", made / "cubic", made / "reno" / "seed-1")
    assert failed.status == 2
    assert "which is none" in failed.err
    assert "--seeds 1..10" in " ".join(failed.err.split())


def test_a_comparison_states_its_instant_and_takes_another(leowarp, made, tmp_path):
    runs = made / "cubic" / "seed-1", made / "reno" / "seed-1"
    leowarp("compare", *runs, "--out", tmp_path / "page")
    page = (tmp_path / "page" / "index.html").read_text()
    assert "show all runs at 20 s: of the instants at which a path changed in most of the runs" in page
    assert page.index("Differences; everything else") < page.index("Figures around a route change")
    failed = leowarp("compare", *runs, "--change", "3")
    assert failed.status == 2
    assert "1: 20 s, 2: 40 s" in " ".join(failed.err.split())


@pytest.mark.parametrize(("seeds", "hint"), [("10..1", "--seeds 1..10"), ("3", "--set run.seed=3")])
def test_bad_seeds_end_before_anything_is_built(leowarp, seeds, hint):
    failed = leowarp("run", "chain", "--seeds", seeds)
    assert failed.status == 2
    assert hint in " ".join(failed.err.split())
