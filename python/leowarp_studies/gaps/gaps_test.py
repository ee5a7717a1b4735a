# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's runs and claims on synthetic results, and of its samples on the constellation. No guest is
needed."""

import pandas as pd
import pytest

from leowarp.ephemeris import ephemeris_of
from leowarp.media.registry import routes_of, timeline_of
from leowarp.scenario import load, resolve
from leowarp.study.claim import judged
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp_studies.gaps import arms, results, runs, tables
from leowarp_studies.gaps.arms import ARMS, CALL, LOADS, PAGE, ROUTES, TCPS
from leowarp_studies.gaps.claims_harm import CLAIMS, FRAME

EXTRA_MS = {arms.LOST: 100, arms.BUFFERED: 30, arms.PLAIN: 10, arms.LASER_LOST: 1500, arms.LASER_BUFFERED: 1200,
            arms.DISH_HOLD: 40, arms.DISH_PROFILE: 2000}  # fmt: skip
LATE = {arms.PLAIN: 50, arms.MOVED: 4}


def frame():
    """Return synthetic results for which every claim holds."""
    rows = []
    for route in ROUTES:
        for arm in ARMS:
            for at_s in runs.samples(route, arm.family):
                for load_ in LOADS:
                    harm = EXTRA_MS.get(arm.name, 0) * (0.5 if load_ == arms.BBR else 1)
                    # A gap occurs at a change, so the harm of the gap is added to the harm of the change.
                    harm += EXTRA_MS[arms.PLAIN] if arm.control == arms.PLAIN else 0
                    row = {"route": route.name, "at_s": at_s, "arm": arm.name, "load": load_, "family": arm.family}
                    row |= {results.MAIN.get(load_, "missing_ms"): 1000 + at_s + harm}
                    row |= {"lost_frames": 2 if arm.name == arms.LOST else 0} if load_ == CALL else {}
                    row |= {name: LATE.get(arm.name, 0) for name in results.COUNTS} if load_ in TCPS else {}
                    rows.append(row)
    return pd.DataFrame(rows, columns=["route", "at_s", "arm", "load", "family", *results.MEASURES, *results.COUNTS])


def verdict(number, data):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", {FRAME: data})])["verdict"]


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.number for claim in CLAIMS])
# Tests claims 7.1 to 7.15 of gaps.
def test_a_claim_holds_where_it_was_made_to(claim):
    assert judged(claim, [("made up", {FRAME: frame()})])["verdict"] == "holds"


@pytest.mark.parametrize(
    ("number", "arm", "column", "value"),
    [
        ("7.1", arms.ORDERED, "missing_ms", 1e4), ("7.2", arms.MOVED, "missing_ms", 1e4),
        ("7.3", arms.PLAIN, "late_pkts", 5), ("7.4", arms.PLAIN, "missing_ms", 1e4),
        ("7.5", arms.LOST, "missing_ms", 0), ("7.6", arms.LOST, "missing_ms", 0),
        ("7.7", arms.BUFFERED, "missing_ms", 1e4), ("7.8", arms.OLD, "missing_ms", 0),
        ("7.9", arms.LOST, "lost_frames", 0), ("7.10", arms.BUFFERED, "slowest_ms", 1e4),
        ("7.11", arms.LOST, "load_ms", 0), ("7.12", arms.LASER_WAIT, "missing_ms", 0),
        ("7.13", arms.LASER_LOST, "missing_ms", 0), ("7.14", arms.DISH_HOLD, "missing_ms", 1e4),
        ("7.15", arms.DISH_PROFILE, "missing_ms", 0),
    ],
)  # fmt: skip
def test_and_does_not_hold_where_the_results_say_otherwise(number, arm, column, value):
    data = frame()
    data.loc[(data["arm"] == arm) & data[column].notna(), column] = value
    assert verdict(number, data) in ("does not hold", "partly")


def test_what_was_not_run_cannot_be_told():
    data = frame()
    assert verdict("7.13", data[data["family"] != arms.LASERS]) == "cannot be told"
    assert verdict("7.12", data[data["load"] != PAGE]) == "holds", "transfers alone decide then"


def test_an_extra_is_of_the_same_change_and_a_change_that_one_lacks_is_left_out():
    data = frame()
    route = ROUTES[0]
    whole = results.extra(data, route.name, arms.LOST, arms.CUBIC)
    assert (whole.median, whole.low, whole.high, whole.count) == (100, 100, 100, 5)
    fewer = data[~((data["arm"] == arms.PLAIN) & (data["at_s"] == route.changes_s[0]))]
    assert results.extra(fewer, route.name, arms.LOST, arms.CUBIC).count == 4


def test_rows_of_the_engine_become_measures():
    name = runs.name_of(ROUTES[0], 117, arms.LOST, arms.RENO)
    scalars = {f"flow0_{scalar}": 3 for scalar in results.COUNTS.values()}
    good = {"name": name, "status": "ok", "flow0_goodput_sacked_mean_bps": 0.9 * results.PAYLOAD_BPS}
    good |= {"flow0_start_ns": 2e9, "flow0_stop_ns": 18e9} | scalars
    made = results.frame_of({"one": pd.DataFrame([good, good | {"status": "failed"}])})
    assert made["missing_ms"].tolist() == [pytest.approx(1600)]
    assert made[list(results.COUNTS)].iloc[0].tolist() == [3] * len(results.COUNTS)


def test_tables_have_a_row_for_each_arm_and_route():
    text = tables.guide(frame())
    for arm in (arm for arm in ARMS if arm.control != arm.name):
        assert text.count(f"| {arm.label}, over") == (1 if arm.family == arms.LASERS else 2)
    assert "<table" in tables.harm(frame())
    assert tables.counts(frame()).count("<tr") == 1 + sum(
        len(TCPS) for route in ROUTES for arm in ARMS if runs.samples(route, arm.family)
    )


def planned(part):
    return {runs.parts_of(run.values["name"]): run.values for run in expand(StudyFile.of(part.content))}


@pytest.mark.parametrize("part", runs.parts(), ids=lambda part: part.name)
def test_a_group_has_a_run_for_each_arm_load_and_sample(part):
    found = planned(part)
    assert len(found) == part.runs
    assert {name[0] for name in found} <= {route.name for route in ROUTES}
    quick = [values for values in found.values() if part.in_quick(values, 1)]
    assert len(quick) == (6 if part.name.endswith(arms.CHANGES) else 0)


def scenario_of(route, family, arm, at_s):
    (part,) = (part for part in runs.parts() if part.name == runs.group_of(route, family))
    (together,) = part.content["together"]
    place = together["name"].index(runs.name_of(route, at_s, arm, arms.CUBIC))
    values = {key: each[place] for key, each in together.items()}
    plan = resolve(load(route.scenario, {**part.content["set"], **values}))
    sky = ephemeris_of(plan)
    routes = routes_of(plan, sky)
    return plan, routes, timeline_of(plan, sky, routes).to_pylist()


@pytest.mark.parametrize(
    ("route", "at_s"), [(route, at_s) for route in ROUTES for at_s in route.changes_s], ids=lambda one: str(one)[:20]
)
def test_at_each_sample_the_senders_station_alone_takes_another_satellite(route, at_s):
    _, routes, rows = scenario_of(route, arms.CHANGES, arms.LOST, at_s)
    before, after = routes.paths[0][0], routes.paths[1][0]
    assert before[1] != after[1]
    assert before[-2] == after[-2]
    gaps = [row for row in rows if row["event"] == "loss" and row["loss_ratio"] == 1.0]
    assert [row["t_ns"] for row in gaps] == [arms.CHANGE_S * 10**9] * 2
    assert scenario_of(route, arms.CHANGES, arms.FROZEN, at_s)[1].summary["route_changes"] == 0


@pytest.mark.parametrize("at_s", ROUTES[0].lasers_s)
def test_at_each_sample_of_lasers_a_path_uses_one_that_is_new(at_s):
    _, routes, _ = scenario_of(ROUTES[0], arms.LASERS, arms.LASER_LOST, at_s)
    assert [(one.begin_ns, one.end_ns) for one in routes.acquisitions] == [(9 * 10**9, 10 * 10**9)]
    _, waiting, _ = scenario_of(ROUTES[0], arms.LASERS, arms.LASER_WAIT, at_s)
    assert waiting.paths[1] != routes.paths[1]
