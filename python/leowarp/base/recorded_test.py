# SPDX-License-Identifier: Apache-2.0
"""Tests the summary and manifest of a run directory. Also tests the messages about a directory that is not a run."""

import pytest

from leowarp.base.errors import TraceError
from leowarp.base.layout import INCOMPLETE, MANIFEST, PLAN
from leowarp.base.recorded import refuse_incomplete, why_no_manifest, why_no_summary

OF_NO_RUN = [10**30, -(2**63), 1e300, -1e308, float("nan"), float("inf")]


@pytest.mark.parametrize("value", OF_NO_RUN)
def test_a_number_that_nothing_can_be_computed_with_is_refused(value):
    assert "goodput_mean_bps" in why_no_summary({"flows": [{"flow": 0, "goodput_mean_bps": value}]})
    assert "duration_ns" in why_no_summary({"flows": [], "duration_ns": value})
    assert "fairness" in why_no_summary({"flows": [], "fairness": {"jain_ratio": value}})
    assert "costs" in why_no_manifest({"costs": {"cpu_s": value}})


@pytest.mark.parametrize("name", ["name", "source", "congestion_control"])
def test_a_text_of_a_megabyte_is_refused_and_cut_in_the_message(name):
    why = why_no_summary({"flows": [{"flow": 0, name: "x" * (1 << 20)}]})
    assert name in why
    assert len(why) < 200


@pytest.mark.parametrize("number", [-1, 2**31, 10**30, 0.0, "0", None])
def test_a_flow_has_a_number_from_0_on(number):
    assert "the number of flow 0" in why_no_summary({"flows": [{"flow": number}]})


def test_what_runs_have_is_taken():
    flow = {"flow": 3, "kind": "ping", "source": "A", "probes_lost_pkts": 0, "owd_max_ns": 2**62, "srtt_p50_us": None}
    assert why_no_summary({"name": "n", "flows": [flow], "fairness": {"jain_ratio": 0.5}, "recovered": True}) is None
    assert why_no_manifest({"warnings": [], "costs": {"cpu_s": 1.5}, "files": {"a": "0" * 64}}) is None


def hint_of(path):
    with pytest.raises(TraceError) as caught:
        refuse_incomplete(path)
    return str(caught.value.hint)


def test_a_misspelt_run_is_answered_with_the_nearest_and_never_with_force(tmp_path):
    # Messages also name runs in neighbouring directories, so this directory is two levels below the one that all tests
    # share.
    runs = tmp_path / "runs"
    for name in ("cubic", "bbr"):
        (runs / name).mkdir(parents=True)
        (runs / name / MANIFEST).write_text("{}")
        (runs / name / PLAN).write_text("")
    # A study has a manifest as well, but no plan.
    (runs / "cubic-study").mkdir()
    (runs / "cubic-study" / MANIFEST).write_text("{}")
    assert hint_of(runs / "cubik") == f"did you mean {runs / 'cubic'}?"
    assert hint_of(runs) == f"runs there: {runs / 'bbr'}, {runs / 'cubic'}"
    assert "--force" not in hint_of(runs / "elsewhere" / "typo")


def test_a_run_that_failed_is_answered_with_the_command_that_makes_it_again(tmp_path):
    (tmp_path / INCOMPLETE).write_text("the disk is full")
    assert hint_of(tmp_path).endswith("--force")
