# SPDX-License-Identifier: Apache-2.0
"""What a run tells of its reordering, out of its tables."""

import pytest

import leowarp as lw
from leowarp import scenario
from leowarp.errors import TraceError
from leowarp.metrics import metrics, read_tables
from support.synthetic import run as syn


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = syn.write_synthetic_run(tmp_path_factory.mktemp("runs") / "one")
    metrics(read_tables(path), scenario.resolve(scenario.load(path / "00-plan.toml"))).write(path)
    return lw.open(path)


@pytest.mark.slow
def test_a_run_has_its_reordering_by_scope(run):
    assert run.reordering()["scope"].tolist() == ["run"] + ["window"] * 7 + ["change"] * 2
    (whole,) = run.reordering(flow=0, scope="run").itertuples()
    assert whole.reordered_pkts == syn.LATE_PKTS
    assert run.reordering(scope="change")["change_ns"].tolist() == list(syn.CHANGES_NS)
    assert len(run.reordering(flow=1)) == 0


def test_a_run_has_its_densities_by_kind(run):
    bars = run.densities(flow=0, scope="run", kind="density")
    assert bars["share_ratio"].sum() == pytest.approx(1.0)
    assert set(run.densities()["kind"]) == {"density", "buffer_density", "n_reordering", "extent"}


def test_a_run_tells_what_each_change_caused(run):
    assert run.causes(flow=0)["late_pkts"].tolist() == [syn.LATE_PKTS, 0, 0]


def test_a_run_whose_reordering_was_not_measured_says_why(run):
    (run.path / "30-trace" / "densities.parquet").unlink()
    with pytest.raises(TraceError, match="table densities") as caught:
        run.reordering()
    assert "[observe]" in str(caught.value)
