# SPDX-License-Identifier: Apache-2.0
"""Tests the reordering of a run. It is computed from the run's tables."""

import pytest

import leowarp as lw
from leowarp import scenario
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.metrics import metrics, read_tables
from leowarp.trace import TABLES
from support.synthetic import run as syn
from support.synthetic.bbr import MODES_NS, write_synthetic_bbr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = syn.write_synthetic_run(tmp_path_factory.mktemp("runs") / "one")
    metrics(read_tables(path), scenario.resolve(scenario.load(path / "00-plan.toml"))).write(path)
    return lw.open(path)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    path = write_synthetic_bbr(tmp_path_factory.mktemp("runs") / "named")
    metrics(read_tables(path), scenario.resolve(scenario.load(path / "00-plan.toml"))).write(path)
    return lw.open(path)


def test_a_flow_is_asked_for_by_its_name_wherever_its_number_does(named):
    assert named.flow_number("upload") == 0
    assert named.flow("upload") == named.flow(0) == named.summary["flows"][0]
    assert named.flow("upload")["name"] == "upload"
    for read in (named.sockets, named.packets, named.bins, named.delays, named.echoes, named.reordering,
                 named.densities, named.causes, named.recovery):  # fmt: skip
        assert read("upload").equals(read(0))
        assert read(flow="upload").equals(read(flow=0))
    assert named.series("cwnd", "upload").equals(named.series("cwnd", 0))


def test_a_name_that_no_flow_has_is_answered_with_the_names_that_there_are(named, run):
    with pytest.raises(ScenarioError, match="there is no flow 'uplaod'") as caught:
        named.sockets("uplaod")
    assert caught.value.hint == 'did you mean "upload"? the run has only flow 0; names: upload'
    with pytest.raises(ScenarioError, match="there is no flow 'upload'") as caught:
        run.sockets("upload")
    assert caught.value.hint == "the run has only flow 0"


def test_the_mode_of_bbr_is_a_column_and_a_series_in_words(named, run):
    sockets = named.sockets()
    assert sockets["bbr_mode"].cat.categories.tolist() == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]
    first = sockets[sockets["bbr_mode"] != sockets["bbr_mode"].shift()]
    assert dict(zip(first["t_ns"], first["bbr_mode"], strict=True)) == MODES_NS
    series = named.series("bbr_mode", "upload")
    assert series["bbr_mode"].tolist() == sockets["bbr_mode"].tolist()
    assert run.sockets()["bbr_mode"].isna().all()
    assert run.series("bbr_mode")["bbr_mode"].isna().all()


def test_states_are_series_in_words(run):
    assert set(run.series("ca_state")["ca_state"]) == {"Open", "Recovery"}
    assert run.series("ca_state")["ca_state"].tolist() == run.sockets()["ca_state"].tolist()


def test_the_computed_column_is_read_with_others_or_alone(named):
    some = named.table("sockets", columns=["bbr_mode", "t_ns"], filters=[("t_ns", "<", 2_000_000_000)])
    assert some.column_names == ["bbr_mode", "t_ns"]
    assert set(some["bbr_mode"].to_pylist()) == {"STARTUP", "DRAIN"}
    draining = named.table("sockets", columns=["t_ns"], filters=[("bbr_mode", "==", "DRAIN")])
    assert 1_000_000_000 <= min(draining["t_ns"].to_pylist()) <= max(draining["t_ns"].to_pylist()) < 2_000_000_000
    with pytest.raises(ScenarioError, match="bbr_mode is never 'DRIAN'"):
        named.table("sockets", filters=[("bbr_mode", "==", "DRIAN")])
    assert named.table("sockets", columns=["t_ns"]).column_names == ["t_ns"]
    assert named.table("sockets").column_names[-1] == "bbr_mode"


@pytest.mark.slow
def test_a_run_has_its_reordering_by_scope(run):
    assert run.reordering()["scope"].tolist() == ["run"] + ["window"] * 7 + ["change"] * 2
    (whole,) = run.reordering(flow=0, scope="run").itertuples()
    assert whole.reordered_pkts == syn.LATE_PKTS
    assert run.reordering(scope="change")["change_ns"].tolist() == list(syn.CHANGES_NS)
    with pytest.raises(ScenarioError, match="no flow 1") as caught:
        run.reordering(flow=1)
    assert caught.value.hint == "the run has only flow 0"


def test_a_run_has_its_densities_by_kind(run):
    bars = run.densities(flow=0, scope="run", kind="density")
    assert bars["share_ratio"].sum() == pytest.approx(1.0)
    assert set(run.densities()["kind"]) == {"density", "buffer_density", "n_reordering", "extent"}


def test_a_run_tells_what_each_change_caused(run):
    assert run.causes(flow=0)["late_pkts"].tolist() == [syn.LATE_PKTS, 0, 0]


def test_a_run_has_its_changes_and_the_recovery_from_them(run):
    assert run.route_changes()["t_ns"].drop_duplicates().tolist() == list(syn.CHANGES_NS)
    assert run.recovery(flow=0)["t_ns"].tolist() == list(syn.CHANGES_NS)


def test_a_series_is_found_with_and_without_its_unit(run):
    whole = run.series("cwnd_pkts", flow=0)
    assert whole.columns.tolist() == ["t_ns", "flow", "cwnd_pkts"]
    assert whole.equals(run.series("cwnd"))
    assert whole["cwnd_pkts"].tolist() == run.sockets(flow=0)["cwnd_pkts"].astype("float64").tolist()
    assert run.series("goodput").columns[-1] == "goodput_in_order_bps"
    delay = run.series("path_delay")
    assert delay.attrs["units"]["path_delay_ns"] == "ns"
    assert set(syn.CHANGES_NS) <= set(delay["t_ns"])


@pytest.mark.parametrize(("typed", "meant"), [("srrt", "srtt"), ("goodput_in_oder_bps", "goodput_in_order_bps")])
def test_a_misspelt_series_is_answered_with_the_nearest_name(run, typed, meant):
    with pytest.raises(ScenarioError, match="there is no series") as caught:
        run.series(typed)
    assert f'did you mean "{meant}"?' in caught.value.hint


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        (lambda run: run.table("bnis"), ["bins", "packets", "routes", "timeline", "metrics"]),
        (lambda run: run.series("foo"), ["cwnd", "srtt", "path_delay", "goodput_in_order"]),
        (lambda run: run.figure("foo"), ["goodput", "cwnd", "queues_change"]),
        (lambda run: run.reordering(scope="foo"), ["run", "window", "change"]),
        (lambda run: run.densities(scope="foo"), ["run", "window", "change"]),
        (lambda run: run.densities(kind="extend"), ["density", "buffer_density", "n_reordering", "extent"]),
        (lambda run: run.table("bins", filters=[("direction", "==", 0)]), ["data", "back"]),
        (lambda run: run.table("packets", filters=[("drop_cause", "==", "ques")]), ["queue", "loss", "link_down"]),
    ],
)
def test_a_name_that_there_is_not_is_answered_with_those_that_there_are(run, asked, listed):
    with pytest.raises((ScenarioError, TraceError)) as caught:
        asked(run)
    hint = caught.value.hint
    assert set(listed) <= set(hint.partition("one of ")[2].split(", "))
    if "bnis" in caught.value.message or "extend" in caught.value.message:
        assert hint.startswith(f'did you mean "{"bins" if "bnis" in caught.value.message else "extent"}"? ')


def test_each_table_has_the_same_values_as_arrow_and_as_a_data_frame(run):
    coded = 0
    for table in TABLES.values():
        if not run.tables.has(table.name):
            continue
        told = run.table(table.name)
        frame = {"links": run.queues}.get(table.name) or getattr(run, table.name)
        for column in table.columns:
            # Other code computes the words of the tables `reordering` and `densities`, so these words are not tested
            # here.
            if (column.words or column.names) and table.name not in ("reordering", "densities"):
                assert told.column(column.name).to_pylist() == [
                    None if each != each else each for each in frame()[column.name].tolist()
                ]
                coded += told.num_rows > 0
    assert coded > 5
    rows = run.table("bins", filters=[("direction", "==", "data")]).num_rows
    bins = run.bins()
    assert rows == len(bins[bins["direction"] == "data"]) > 0
    assert set(run.table("reordering")["scope"].to_pylist()) == set(run.reordering()["scope"])
    assert set(run.table("densities")["kind"].to_pylist()) == set(run.densities()["kind"])


def test_enumerations_are_words_and_counts_integers(run):
    packets = run.packets()
    assert set(packets["direction"]) == {"data", "back"}
    assert set(packets["drop_cause"].dropna()) == {"queue"}
    assert str(packets["received_ns"].dtype) == "Int64"
    assert packets["received_ns"].isna().any()
    assert str(run.sockets()["cwnd_pkts"].dtype) == "Int64"


def test_a_run_whose_reordering_was_not_measured_says_why(run):
    (run.path / "30-trace" / "densities.parquet").unlink()
    with pytest.raises(TraceError, match="table densities") as caught:
        run.reordering()
    assert "[observe]" in str(caught.value)
