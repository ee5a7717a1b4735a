# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's runs, claims, tables and figures on synthetic results, without the guest."""

import numpy as np
import pandas as pd
import pytest

from leowarp import TraceError
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import example_file
from leowarp.study.claim import judged
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.dotted import plain_value
from leowarp.study.sweep.parameters.expand import expand, values_of
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures import figures, results, runs, scalar, tables, variants
from leowarp_studies.cures.changes import LONGER, SHORTER
from leowarp_studies.cures.claims import CLAIMS
from leowarp_studies.cures.rules import Rules
from leowarp_studies.cures.variants import BOTH, BY_NAME, FROZEN, NONE, TCPS, VARIANTS, name_of, parts_of
from support.studies import cures as synthetic


@pytest.fixture(scope="module")
def as_expected():
    return synthetic.frames()


def outcome(number, frames):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", frames)])


def changed(where, **columns):
    """Return synthetic runs with some columns replaced in rows where `where(frame)` is true."""
    around = synthetic.around()
    around.loc[where(around), list(columns)] = list(columns.values())
    return synthetic.frames(around=around)


# --- The changes


def test_changes_are_of_both_directions_and_of_the_first_hour():
    found = route_changes.changes(runs.CHANGES)
    assert len(found) == len(route_changes.PAIRS) * 2 * runs.CHANGES
    assert all((change.step_ns > 0) == (change.direction == LONGER) for change in found)
    assert all(0 < change.at_s < route_changes.HOUR_S and change.at_s % 30 == 0 for change in found)
    assert len({(change.pair.name, change.at_s) for change in found}) == len(found)


def test_the_node_that_switches_is_where_the_paths_part():
    path = ["Madrid", "s-00-05", "s-01-06", "s-06-07", "Tokyo"]
    assert route_changes._node_place(path, path) is None
    assert route_changes._node_place(path, ["Madrid", "s-00-04", *path[2:]]) == 0
    assert route_changes._node_place(path, [*path[:3], "s-07-07", "Tokyo"]) == 2


def test_changes_of_the_senders_satellite_are_among_those_of_both_directions():
    often = route_changes.per_hour()
    assert (often["at_sender"] > 0).all()
    assert (often["at_sender"] < often[LONGER] + often[SHORTER]).all()


def test_more_changes_than_an_hour_has_are_refused():
    with pytest.raises(ValueError, match=r"has \d\d changes to a longer path in an hour, not 30"):
        route_changes.changes.__wrapped__(30)


def test_a_path_that_is_kept_changes_less_often():
    often, seldom = (route_changes.per_hour(margin)[[LONGER, SHORTER]].sum(axis=1) for margin in ("0 %", "unlimited"))
    assert (seldom < often).all()


# --- The runs


@pytest.mark.parametrize("name", ["saturated", "loaded", "close"])
def test_a_part_has_as_many_runs_as_it_says_and_a_quick_one_some_of_them(name):
    (part,) = (part for part in runs.parts() if part.name == name)
    values = [{key: plain_value(node) for key, (_, node) in given.items()}
              for given in values_of(StudyFile.of(part.content))]  # fmt: skip
    assert len(values) == part.runs
    assert 0 < sum(part.in_quick(given, 1) for given in values) <= part.runs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["saturated", "loaded", "close"])
def test_every_variant_is_a_plan_and_so_is_every_change(name):
    (part,) = (part for part in runs.parts() if part.name == name)
    content = dict(part.content)
    if len(content["together"]) > 1:
        # All combinations would be thousands of plans, so the test uses only two sets: one change with all variants,
        # and one variant with all changes.
        changes, variants = content["together"]
        content["only"] = [{"run.start": changes["run.start"]["values"][:1]}, {"name": variants["name"][:1]}]
    assert len(expand(StudyFile.of(content))) >= len(content["together"][-1]["name"])


def test_names_tell_variant_and_tcp():
    pairs = [(variant, tcp) for variant in BY_NAME for tcp in TCPS]
    assert [parts_of(name_of(*pair)) for pair in pairs] == pairs
    assert len(BY_NAME) == len(VARIANTS)


def test_a_variant_has_its_links_modules_and_senders():
    (part,) = (part for part in runs.parts() if part.name == "close")
    given = part.content["together"][0]
    at = given["name"].index("fq-codel.cubic")
    assert {given[f"{link}.queue_discipline"][at] for link in ("isl", "ground")} == {"fq_codel"}
    at = given["name"].index("queue-50.cubic")
    assert {given[f"{link}.queue"][at] for link in ("isl", "ground")} == {"50 pkts"}
    at = given["name"].index("scheduled.cubic")
    assert given["flows.0.congestion_control"][at] == "cubic_handover"
    assert given["modules"][at]["cubic_handover"] == {"period_ns": "30 s", "phase_ns": "30 s"}
    assert "emptied.cubic" not in given["name"]
    usual = given["name"].index("none.cubic")
    assert (given["modules"][usual], given["isl.queue"][usual]) == ({}, "500 pkts")


def test_the_schedule_of_senders_is_that_of_routes():
    plan = resolve(load(example_file(route_changes.SCENARIO)))
    assert plan.routing.interval_ns == variants.INTERVAL_S * 1_000_000_000
    assert variants.CHANGE_S == route_changes.BEFORE_S
    assert {"queue": f"{plan.isl.queue_pkts} pkts", "queue_discipline": plan.isl.queue_discipline} == {**variants.LINKS}
    assert (plan.ground.queue_pkts, plan.ground.queue_discipline) == (plan.isl.queue_pkts, plan.isl.queue_discipline)
    assert plan.routing.interval_ns > variants.LEAD_MS * 1_000_000


# --- The results


def row_of(**columns):
    change = route_changes.changes(runs.CHANGES)[0]
    keys = change.keys()
    row = {"status": "ok", "name": "hold.cubic", "load": runs.RATES[runs.SATURATED]}
    row |= {column: keys[key] for key, column in route_changes.IDENTITY.items()}
    return row | {column: 1.0 for name, column in results.COLUMNS.items() if name not in results.COUNTED} | columns


def test_rows_are_joined_with_their_changes_and_failed_ones_left_out():
    rows = pd.DataFrame(
        [row_of(node_held_max_bytes=5.0, signals_bytes=60.0, copied_bytes=3.0), row_of(status="failed")]
    )
    frame = results.around_changes(rows)
    assert len(frame) == 1
    first = route_changes.changes(runs.CHANGES)[0]
    assert frame.iloc[0][["variant", "tcp", "load"]].tolist() == ["hold", "cubic", runs.SATURATED]
    assert frame.iloc[0]["step_ns"] == first.step_ns
    assert frame.iloc[0][["held_bytes", "held_ns", "signalling_bytes"]].tolist() == [5.0, 0.0, 63.0]


def test_a_data_set_of_an_older_version_is_told():
    rows = pd.DataFrame([row_of()]).drop(columns="flow2_owd_p99_ns")
    with pytest.raises(TraceError, match="no column flow2_owd_p99_ns"):
        results.around_changes(rows)


def test_a_missing_run_is_seen():
    around = synthetic.around()
    assert results.complete(around)
    assert not results.complete(around.drop(index=around.index[7]))


# --- The claims


@pytest.mark.parametrize("number", [claim.number for claim in CLAIMS if claim.number != "5.16"])
# Tests claims 5.1 to 5.15 of cures.
# Tests claims 5.17 to 5.24 of cures.
def test_what_was_expected_holds_on_results_that_are_so(as_expected, number):
    row = outcome(number, as_expected)
    assert row["verdict"] == "holds", (row["measured"], row["cause"])
    assert row["cause"] == ""


# Tests claim 5.16 of cures.
def test_routes_that_stay_are_counted_on_the_constellation_itself(as_expected):
    row = outcome("5.16", as_expected)
    assert row["verdict"] == "partly"
    assert row["numbers"]["delay_more_ms"]["aalborg-cape-town-18"] > 1


def is_run(variant, **columns):
    def where(frame):
        mine = frame["variant"] == variant
        for column, value in columns.items():
            mine &= frame[column] == value
        return mine

    return where


FULL = {"load": runs.SATURATED}


@pytest.mark.parametrize(
    ("number", "where", "columns", "verdict"),
    [
        ("5.1", is_run(NONE, tcp="bbr", **FULL), {"late_pkts": 3.0}, "partly"),
        ("5.2", is_run(NONE, load=runs.HALF), {"late_pkts": 99.0}, "does not hold"),
        ("5.3", is_run("move", tcp="reno", direction=LONGER, **FULL), {"late_pkts": 1.0}, "partly"),
        ("5.4", is_run("marker", tcp="reno"), {"late_pkts": 1.0}, "partly"),
        ("5.5", is_run("resequence-150", tcp="reno"), {"late_pkts": 1.0}, "partly"),
        ("5.6", is_run("hold", tcp="reno"), {"spurious_pkts": 1.0}, "partly"),
        ("5.7", is_run(NONE, tcp="cubic", **FULL), {"bytes": 100e6}, "partly"),
        ("5.8", is_run("hold", tcp="classic", **FULL), {"bytes": 100e6}, "partly"),
        ("5.9", is_run(BOTH, direction=LONGER, **FULL), {"held_ns": 9e6}, "partly"),
        ("5.10", is_run(BOTH, **FULL), {"held_bytes": 90e3}, "partly"),
        ("5.11", is_run("move", tcp="cubic", **FULL), {"call_p99_ns": 90e6}, "partly"),
        ("5.12", is_run("duplicate", **FULL), {"drops_pkts": 50.0}, "partly"),
        ("5.13", is_run("notify-late", **FULL), {"spurious_pkts": 0.0}, "partly"),
        ("5.14", is_run("pr", tcp="classic", **FULL), {"spurious_pkts": 100.0}, "partly"),
        ("5.15", is_run(f"{FROZEN}-pr", tcp="reno"), {"goodput_bps": 45e6}, "partly"),
        ("5.18", is_run("notify-ahead", **FULL), {"spurious_pkts": 90.0}, "does not hold"),
        ("5.19", is_run("scheduled", tcp="classic", **FULL), {"bytes": 140e6}, "partly"),
        ("5.19", is_run("scheduled", tcp="classic", **FULL), {"spurious_pkts": 0.0}, "partly"),
        ("5.20", is_run("emptied", **FULL), {"late_pkts": 99.0}, "partly"),
        ("5.20", is_run("emptied", **FULL), {"bytes": 130e6}, "partly"),
        ("5.21", is_run("queue-50", tcp="reno", **FULL), {"late_pkts": 90.0}, "partly"),
        ("5.22", is_run("red", **FULL), {"late_pkts": 90.0}, "partly"),
        ("5.23", is_run(f"{FROZEN}-queue-50", tcp="reno"), {"goodput_bps": 90e6}, "partly"),
        ("5.23", is_run(f"{FROZEN}-cake", tcp="bbr"), {"goodput_bps": 60e6}, "partly"),
        ("5.24", is_run("cake", tcp="cubic", **FULL), {"call_p99_ns": 69e6}, "partly"),
    ],
)
def test_what_is_not_so_does_not_hold_and_says_why(number, where, columns, verdict):
    row = outcome(number, changed(where, **columns))
    assert row["verdict"] == verdict, row["measured"]
    assert row["cause"]


def test_a_number_that_says_nothing_does_not_predict():
    frame = synthetic.jittered()
    # TCP's loss of throughput is random here, so no metric can predict it.
    rng = np.random.default_rng(1)
    frame["spurious_ratio"], frame["lost_ratio"] = rng.random(len(frame)), rng.random(len(frame))
    row = outcome("5.17", synthetic.frames(predictors=scalar.scores(frame)))
    assert row["verdict"] == "does not hold"
    assert row["cause"].startswith("no better by 5 points")


# --- The evidence


def test_an_hour_counts_the_changes_of_the_senders_satellite_and_the_others_apart():
    frames = synthetic.frames()
    often = route_changes.per_hour()
    # The synthetic runs have 200 late packets at each change of the sender's satellite, and none at other changes.
    assert ev.per_hour(frames, NONE, "late_pkts", tcp="cubic") == pytest.approx(200 * often["at_sender"].mean())
    assert ev.per_hour(frames, BOTH, "late_pkts", tcp="cubic") == 0


def test_lost_payload_is_a_share_of_what_the_path_carries():
    lost = ev.lost_ratio(synthetic.frames(), NONE, BOTH, tcp="classic", direction=LONGER)
    assert lost.median == pytest.approx(0.1)


def test_a_fitted_curve_rises_and_is_level_beyond_its_points():
    at = np.linspace(-1, 11, 50)
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, 40)
    curve = scalar.fitted(x, x + rng.normal(0, 1, 40), at)
    assert (np.diff(curve) >= 0).all()
    assert curve[0] == curve[1]


def test_no_jitter_is_in_both_halves():
    train, test = scalar.halves(synthetic.jittered())
    assert not set(train["jitter_ns"]) & set(test["jitter_ns"])
    assert len(train) + len(test) == len(synthetic.jittered())


# --- The page


def test_the_table_has_a_row_a_cure(as_expected):
    text = tables.cures(as_expected)
    assert all(BY_NAME[name].label in text for name in (NONE, FROZEN, BOTH, "pr"))
    long = tables.frame(as_expected)
    assert not long.duplicated(["variant", "tcp", "load", "direction", "quantity"]).any()


def test_the_guides_table_has_a_row_a_cure_and_its_numbers_from_the_runs(as_expected):
    lines = tables.guide(as_expected).splitlines()
    rows = {cells[1]: cells[2:-1] for cells in ([cell.strip() for cell in line.split("|")] for line in lines)}
    assert len({len(cells) for cells in rows.values()}) == 1
    assert {BY_NAME[name].label for name in ("notify-ahead", "scheduled", "emptied", "fq-codel")} <= set(rows)
    without = ev.per_hour(as_expected, NONE, "late_pkts", tcp="cubic")
    assert rows["no cure"][0].split(", ")[1] == f"{without:,.0f}"
    # Only BBR empties its queue.
    assert rows["queue emptied ahead"][0].startswith("-, -, ")
    assert rows["queue emptied ahead"][2] == "-"
    assert rows["hold"][-2] == "300 kB, 25.0 ms"


@pytest.mark.slow
def test_every_figure_is_drawn(as_expected, svg_alone, tmp_path):
    drawn = figures.draw(as_expected, tmp_path, Rules(kernel="Linux 6.12", changes=40))
    assert [figure.missing for figure in drawn] == [None] * 4
    assert {path.stem for path in tmp_path.glob("*.svg")} == {figure.stem for figure in drawn}
