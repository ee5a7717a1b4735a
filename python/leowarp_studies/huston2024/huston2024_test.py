# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's runs, claims, tables and figures on synthetic results, without the guest."""

import itertools
import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leowarp import GuestError, TraceError
from leowarp.base import units
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import example_file
from leowarp.study import parts as study_parts
from leowarp.study import reproduce
from leowarp.study import statistics as st
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp.trace.schema.hosts import CA_CWR, CA_LOSS, CA_RECOVERY
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024 import figures, groups, material, questions, results, runs, tables, traces, variants
from leowarp_studies.huston2024 import pings as pg
from leowarp_studies.huston2024.groups import OFF_PEAK, PEAK
from leowarp_studies.huston2024.rules import Rules
from leowarp_studies.huston2024.traces import cuts, losses
from support.studies import huston2024 as synthetic

S, MS = 1_000_000_000, 1_000_000


@pytest.fixture(scope="module")
def as_the_study_says():
    return synthetic.frames()


# --- The runs


@pytest.mark.slow
def test_every_part_has_as_many_runs_as_it_says_and_a_quick_one_some_of_each():
    for part in runs.parts():
        if part.name == "capacity":
            continue
        planned = expand(StudyFile.of(part.content))
        assert len(planned) == part.runs, part.name
        assert 0 < sum(part.in_quick(run.values, run.seed) for run in planned) < len(planned)


def test_capacity_tests_are_four_hours_apart_for_eight_months_each_with_its_own_seed():
    instants = runs.capacity_instants()
    assert len(instants) == 244 * 6
    assert (instants[0].date().isoformat(), instants[-1].date().isoformat()) == ("2023-08-01", "2024-03-31")
    hours = {(later - sooner).total_seconds() // 3600 for sooner, later in itertools.pairwise(instants)}
    assert hours <= {3, 4}
    (part,) = (part for part in runs.parts() if part.name == "capacity")
    (together,) = part.content["together"]
    assert together["run.seed"]["values"] == list(range(1, 1465))
    quick = [at for at, seed in zip(instants, together["run.seed"]["values"], strict=True)
             if part.in_quick({"run.seed": seed}, seed)]  # fmt: skip
    assert len(quick) == 61
    assert {at.hour for at in quick} == {0, 4, 8, 12, 16, 20}


def test_scenarios_are_what_the_groups_take_them_for():
    plan = resolve(load(example_file(groups.CAPACITY_SCENARIO)))
    flows = {index: (flow.source, flow.stop_ns - flow.start_ns) for index, flow in enumerate(plan.flows)}
    assert {flows[index] for index in runs.DOWN_FLOWS} == {("server", runs.TEST_S * S)}
    assert {flows[index] for index in runs.UP_FLOWS} == {("dish", runs.TEST_S * S)}
    assert plan.medium.capacity_bps is None
    plan = resolve(load(example_file(groups.TCP_SCENARIO)))
    assert plan.run.duration_ns == groups.DURATION_S * S
    assert plan.flows[0].source == "server"
    assert resolve(load(example_file(groups.PING_SCENARIO))).flows[0].flood


def test_variants_differ_in_what_their_names_say():
    parts = {part.name: part for part in runs.parts()}
    by_group = {
        name: {run.values["name"]: run.combination.plan for run in expand(StudyFile.of(parts[name].content))}
        for name in (*ALONE, "beside", "clean", "bbr3-beside")
    }
    alone = {name: plan for group in ALONE for name, plan in by_group[group].items()}
    assert set(alone) == set(variants.BY_NAME)
    assert set(by_group["beside"]) == set(variants.BY_NAME) - set(variants.NEVER_BESIDE)
    newer = [plan for group in ("bbr3", "bbr3-beside") for plan in by_group[group].values()]
    assert {plan.guest.kernel for plan in newer} == {variants.BBR3_KERNEL}
    assert alone["bbr_handover-defer"].modules["bbr_handover"]["only_defer"] == "1"
    assert alone["cubic_handover-marks"].modules["cubic_handover"]["marks_only"] == "1"
    assert alone["dctcp-ecn-fq_codel"].medium.queue_parameters == {"ce_threshold_ns": 5 * MS}
    for name, plan in by_group["beside"].items():
        assert [flow.congestion_control for flow in plan.flows] == [variants.BY_NAME[name].congestion_control, "cubic"]
    for plan in by_group["clean"].values():
        assert (plan.medium.residual_loss_ratio, plan.medium.residual_loss_up_ratio) == (0, 0)
        assert plan.medium.preset == groups.PEAK
    for name, plan in [*alone.items(), *by_group["beside"].items(), *by_group["clean"].items()]:
        assert plan.flows[0].congestion_control == variants.BY_NAME[name].congestion_control
        assert plan.tcp.pacing == ("fq" if name.endswith("-fq") else "internal")
        sysctl = plan.hosts[0].sysctl
        assert (sysctl["net.ipv4.tcp_sack"] == "0") == name.endswith("-nosack")
        assert (sysctl["net.ipv4.tcp_dsack"] == "0") == (name == "cubic-nodsack")
        assert (sysctl["net.ipv4.tcp_recovery"] == "0") == (name == "cubic-norack")
        marks = "-ecn-" in name or name == "cubic_handover-marks"
        assert (sysctl["net.ipv4.tcp_ecn"] == "1") == marks
        assert (plan.medium.queue_discipline == "fifo") == ("codel" not in name and not marks)


ALONE = ("main", "cures", "proposals", "others", "repairs", "bbr3")


def test_groups_that_answer_a_question_change_one_thing_of_the_profile():
    parts = {part.name: part for part in runs.parts()}
    own = resolve(load(example_file(groups.TCP_SCENARIO))).medium
    keys = ("capacity_spread_ratio", "wander_ratio", "modulation_ratio", "base_rtt_min_ns", "base_rtt_max_ns",
            "base_step_min_ns", "jitter_ns", "jitter_up_ns")  # fmt: skip
    plans = {run.values["name"]: run.combination.plan for run in expand(StudyFile.of(parts["conditions"].content))}
    assert len(plans) == 8
    # If all properties vary, the path is the same as with the unmodified profile.
    free = plans[questions.condition(())].medium
    assert [getattr(free, key) for key in keys] == [getattr(own, key) for key in keys]
    for name, still in questions.conditions().items():
        medium = plans[name].medium
        assert (medium.capacity_spread_ratio == 0) == ("capacity" in still)
        assert (medium.base_rtt_min_ns == medium.base_rtt_max_ns) == ("base" in still)
        assert (medium.jitter_ns == medium.jitter_up_ns == 0) == ("jitter" in still)
    quiet = {run.values["name"]: run.combination.plan for run in expand(StudyFile.of(parts["jitter"].content))}
    for name, longer_ns in ((questions.NO_JITTER, 0), (questions.MEAN_KEPT, own.jitter_ns + own.jitter_up_ns)):
        assert quiet[name].medium.base_rtt_min_ns == own.base_rtt_min_ns + longer_ns
        assert quiet[name].medium.jitter_ns == quiet[name].medium.jitter_up_ns == 0
    off_peak = resolve(load(example_file(groups.TCP_SCENARIO), {"access.preset": OFF_PEAK})).medium
    for customers in questions.CUSTOMERS:
        for run in expand(StudyFile.of(parts[questions.shared_name(customers)].content)):
            assert len(run.combination.plan.flows) == 1 + customers
            assert run.combination.plan.medium.residual_loss_ratio == off_peak.residual_loss_ratio
    (plain,) = {
        run.combination.plan.modules["tcp_cubic"]["hystart"] for run in expand(StudyFile.of(parts["hystart"].content))
    }
    assert plain == "0"


# --- Statistics


@pytest.mark.parametrize(("count", "low", "high"), [(20, 6, 15), (7, 1, 7), (3, 1, 3), (10, 2, 9)])
def test_intervals_are_order_statistics(count, low, high):
    found = st.middle(np.random.default_rng(1).permutation(np.arange(1, count + 1)))
    assert (found.low, found.high, found.median) == (low, high, (count + 1) / 2)


def test_pairs_are_of_equal_seeds_and_missing_ones_are_left_out():
    rows = pd.DataFrame({"variant": ["a", "a", "b", "b"], "seed": [1, 2, 2, 3], "x": [1.0, 4.0, 2.0, 9.0]})
    found = st.paired_ratio(rows, "x", "a", "b")
    assert (found.median, found.count) == (2.0, 1)
    assert not st.paired_ratio(rows, "x", "a", "c").known
    assert st.middle([]).text() == "unknown"
    assert st.middle([1.0, math.inf, math.inf]).text() == "never (1.0 to never)"


# --- Traces and pings


def test_losses_fall_into_kinds_by_cause_and_by_their_distance_from_a_reconfiguration():
    drops = pd.DataFrame({"t_ns": [11 * S, 12 * S + MS, 20 * S, 12 * S, 5 * S], "cause": [2, 2, 2, 1, 3]})
    found = losses(drops, np.array([12 * S]))
    assert found["kind"].tolist() == ["other", "handover", "queue", "handover", "isolated"]
    assert losses(drops[:0], np.array([12 * S])).empty
    assert losses(drops[:1], np.zeros(0, dtype="int64"))["kind"].tolist() == ["isolated"]


def test_a_cut_is_put_down_to_the_first_loss_before_it_and_grows_back():
    trace = synthetic.trace("cubic", PEAK, 1)
    assert trace.cuts["kind"].tolist() == ["queue", "isolated", "handover", "handover"]
    assert trace.cuts["before_pkts"].tolist() == [1000, 1010, 1020, 1030]
    assert trace.cuts["after_pkts"].tolist() == [700, 707, 714, 721]
    # A cut reduces the window from about 1000 packets by three tenths, and the window then grows again by 100 packets
    # per second.
    assert trace.cuts["grown_after_s"].tolist() == pytest.approx([3.0] * 4, abs=0.11)


def test_a_cut_without_a_loss_is_a_mark_and_one_that_the_next_follows_never_grew_back():
    t_ns = np.arange(0, 10 * S, 50 * MS)
    cwnd, ssthresh = synthetic.window_pkts(t_ns / S, [4.0, 5.0])
    lost = losses(pd.DataFrame({"t_ns": [4 * S], "cause": [1]}), np.zeros(0, "int64"))
    found = cuts(t_ns, cwnd, ssthresh, np.full(len(t_ns), CA_RECOVERY), lost)
    assert found["kind"].tolist() == ["queue", "none"]
    assert np.isnan(found["grown_after_s"].iloc[0])
    assert cuts(t_ns, np.full(len(t_ns), 10.0), np.full(len(t_ns), 2.0**31), np.zeros(len(t_ns)), losses(
        pd.DataFrame({"t_ns": [], "cause": []}, dtype="int64"), np.zeros(0, "int64"))).empty  # fmt: skip


def test_a_threshold_that_is_put_back_while_the_window_stays_is_no_cut():
    # When cubic_handover repairs a loss, the threshold equals the window during recovery, and the old threshold is set
    # again afterwards.
    t_ns = np.arange(0, 2 * S, 20 * MS)
    cwnd = np.linspace(740.0, 760.0, len(t_ns))
    ssthresh = np.where(np.abs(t_ns - 1 * S) < 30 * MS, cwnd, 600.0)
    state = np.where(np.abs(t_ns - 1 * S) < 30 * MS, CA_RECOVERY, 0)
    lost = losses(pd.DataFrame({"t_ns": [960 * MS], "cause": [2]}), np.zeros(0, "int64"))
    assert cuts(t_ns, cwnd, ssthresh, state, lost).empty
    # Later, an ECN mark reduces the window to a new threshold. The cause of this cut is the mark, not the loss.
    later = t_ns > 1200 * MS
    window, threshold = np.where(later, 520.0, cwnd), np.where(later, 520.0, ssthresh)
    marked = cuts(t_ns, window, threshold, np.where(later, CA_CWR, state), lost)
    assert marked["t_s"].tolist() == pytest.approx([1.22])
    assert marked["kind"].tolist() == ["none"]
    assert marked["lost_pkts"].tolist() == [0]
    assert cuts(t_ns, np.where(t_ns > 1 * S, 600.0, cwnd), ssthresh, state, lost)["kind"].tolist() == ["isolated"]


def test_handovers_are_seen_by_their_rise_their_losses_and_the_time_without_a_reply():
    pings = synthetic.pings(1, 10 * MS, loses=range(0))
    found = pg.handovers(pings)
    assert len(found) == 25
    assert {handover.lost_pkts for handover in found} == {0}
    worst = max(found, key=lambda handover: handover.rise_ms)
    assert (worst.t_ns, worst.highest_ms) == (72 * S, 80.0)
    # Probes are sent every 10 ms, and nothing arrives for 40 ms plus the change of the base delay.
    assert 35 <= np.median([handover.gap_ms for handover in found]) <= 60
    schedule = pg.found_schedule(pings)
    assert schedule is not None
    assert schedule.period_ns == pytest.approx(15 * S, rel=1e-3)
    assert schedule.phase_ns == pytest.approx(12 * S, abs=200 * MS)
    assert len(pg.slot_minima_ms(pings, pg.slots_of(pings, schedule))) == 24


@pytest.mark.slow
def test_shares_of_the_path_are_of_each_sessions_own_capacity(as_the_study_says):
    used = ev.used_ratio(as_the_study_says, "cubic")
    assert used.count == synthetic.SEEDS
    assert used.median == pytest.approx(45e6 * 1.04 / 250e6)
    assert np.median(ev.estimate_ratio(synthetic.trace("bbr", PEAK, 1))) == pytest.approx(1.04)
    assert len(ev.estimate_ratio(synthetic.trace("cubic", PEAK, 1))) == 0


# --- Results


def test_rows_of_the_engine_become_sessions_and_a_session_that_never_came_back_is_told_from_one_not_known():
    row = {column: 1.0 for column in results.SESSION_COLUMNS.values()} | {"flow0_sent_pkts": 100.0}
    rows = pd.DataFrame(
        [
            row | {"status": "ok", "name": "cubic", "seed": 1, "flow0_recovery_p50_ns": None},
            row
            | {"status": "ok", "name": "bbr", "seed": 1, "flow0_recovery_p50_ns": None, "flow0_recovered_ratio": None},
            row | {"status": "failed", "name": "bbr", "seed": 2},
        ]
    )
    found = results.sessions(rows)
    assert found["variant"].tolist() == ["cubic", "bbr"]
    assert found["preset"].tolist() == [PEAK, PEAK]
    assert found["recovery_p50_ns"].iloc[0] == math.inf
    assert np.isnan(found["recovery_p50_ns"].iloc[1])
    assert found["retransmitted_ratio"].tolist() == [0.01, 0.01]
    with pytest.raises(TraceError, match="no column flow0_rtt_p99_ns"):
        results.sessions(rows.drop(columns="flow0_rtt_p99_ns"))


def test_a_group_of_which_every_run_failed_has_no_rows():
    failed = pd.DataFrame([{"status": "failed", "seed": 1, "name": "cubic", "preset": PEAK, "congestion_control": "bbr",
                            "loss_ratio": 0.0, "phase_bbr_handover": "12 s", "test": 1, "clock": "2023-08-01T00:00:00Z",
                            "cpu_s": None}])  # fmt: skip
    for made in (results.sessions, results.beside, results.losses, results.phases, results.capacity):
        assert len(made(failed)) == 0


def test_a_capacity_test_is_what_all_connections_of_a_direction_carried():
    row = {f"flow{flow}_bytes": 5e6 for flow in runs.DOWN_FLOWS} | {f"flow{flow}_bytes": 1e6 for flow in runs.UP_FLOWS}
    row |= {"flow0_path_capacity_mean_bps": 20e6, "flow4_path_capacity_mean_bps": 4e6}
    rows = pd.DataFrame([row | {"status": "ok", "test": 3, "seed": 3, "clock": "2023-08-01T04:00:07Z"}])
    (found,) = results.capacity(rows).to_dict("records")
    assert (found["down_bps"], found["up_bps"], found["hour"]) == (4 * 5e6 * 8 / 10, 4 * 1e6 * 8 / 10, 4)
    assert (found["down_link_bps"], found["up_link_bps"]) == (20e6, 4e6)
    assert results.capacity(rows[:0]).empty


def test_lateness_is_read_from_the_parameter_as_written():
    row = {"status": "ok", "congestion_control": "bbr_handover", "seed": 1, "phase_bbr_handover": "16 s"}
    row |= dict.fromkeys(("flow0_goodput_mean_bps", "flow0_sender_retransmissions_pkts", "flow0_rtt_p99_ns"), 1.0)
    assert results.phases(pd.DataFrame([row]))["late_s"].tolist() == [4.0]
    assert units.TIME.parse("16 s") == 16 * S


# --- End of slow start, and effects of timeouts


def ended(lost=(), hystart=()):
    threshold = np.array([np.nan, 2.0**31 - 1, 95.0, 60.0])
    counted = pd.DataFrame([{"t_ns": S, "by": by} for by in hystart], columns=["t_ns", "by"])
    losses = pd.DataFrame({"t_s": [at_s for at_s, _ in lost], "kind": [kind for _, kind in lost]})
    return traces.slow_start(np.array([0, 1, 2, 3]) * S // 10, threshold, counted, losses)


def test_slow_start_ends_by_a_loss_before_or_by_what_hystart_counted():
    assert ended(lost=[(0.25, "isolated")], hystart=["delay"]) == traces.SlowStart("delay", 0.2, 95.0)
    assert ended(lost=[(0.15, "queue"), (0.18, "isolated")], hystart=["delay"]).by == "queue"
    assert ended(hystart=["ACK train", "delay"]).by == "ACK train"
    assert ended().by == traces.NO_LOSS
    never = traces.slow_start(np.array([0]), np.array([np.nan]), pd.DataFrame({"by": []}), pd.DataFrame({"t_s": []}))
    assert never.by == traces.OPEN_ENDED


def test_growth_after_a_timeout_is_by_the_round_trip_until_the_next_cut():
    # The repair of losses ends at 0.4 s. From 0.4 s on, the window grows by 5 % every 40 ms, until a cut at 1.4 s.
    t_ns = np.arange(0, 2 * S, 20_000_000)
    window = 10 * 1.05 ** ((t_ns - 0.4 * S) / (0.04 * S))
    state = np.where((t_ns >= 0.1 * S) & (t_ns < 0.4 * S), CA_LOSS, 0)
    (row,) = traces.after_timeouts(t_ns, state, window, np.full(len(t_ns), 4e4), np.array([1.4])).to_dict("records")
    assert row["growth_ratio"] == pytest.approx(0.05)
    assert (row["t_s"], row["until_s"]) == (0.4, 1.38)
    assert traces.after_timeouts(t_ns, np.zeros(len(t_ns)), window, window, np.array([])).empty
    # The time from the end of the repair to a cut at 0.5 s is too short to compute a growth rate.
    assert traces.after_timeouts(t_ns, state, window, np.full(len(t_ns), 4e4), np.array([0.5])).empty


# --- Tables, figures, page


@pytest.mark.slow
def test_the_table_has_a_row_for_every_variant_and_the_same_for_machines(as_the_study_says):
    text = tables.table(as_the_study_says)
    for variant in variants.VARIANTS:
        assert variant.label in text
    found = tables.frame(as_the_study_says)
    (cell,) = found[
        (found["variant"] == "cubic") & (found["quantity"] == "goodput_bps") & (found["preset"] == PEAK)
    ].to_dict("records")
    assert cell["median"] == pytest.approx(45e6 * 1.04)
    assert cell["count"] == synthetic.SEEDS
    assert {variant.plain for variant in variants.VARIANTS} == {variant.name for variant in variants.MAIN}
    aware = ev.gain(as_the_study_says, "cubic_handover", "cubic").text(1, 2)
    (row,) = [row for row in text.split("<tr>") if variants.BY_NAME["cubic_handover"].label + "<" in row][:1]
    assert aware in row
    assert "link, at a handover" in tables.causes(as_the_study_says)


@pytest.mark.slow
def test_all_figures_are_drawn(as_the_study_says, svg_alone, tmp_path):
    drawn = figures.draw(as_the_study_says, tmp_path, Rules(kernel="Linux", seeds=7))
    pings = [figure for figure in drawn if figure.missing is not None]
    # Figures 3 to 5 are figures of a run's report, so they need run directories, which this test lacks.
    assert [figure.missing for figure in pings] == ["the runs `flood_view` are missing"] * 3
    for figure in drawn:
        if figure.missing is None:
            assert (tmp_path / f"{figure.stem}.svg").stat().st_size > 1000


@pytest.fixture
def engine(monkeypatch, as_the_study_says):
    """Replace `run_study` by a function without a guest that returns no rows."""
    asked = {}

    def run_study(file, folder, *, only, scheduler, **options):
        asked[file.name] = only
        folder.mkdir(parents=True, exist_ok=True)
        row = {"status": "ok", "seed": 1, "cpu_s": 2.0, "guest_cpu_s": 1.5, "virtual_s": 60.0, "warnings": [],
               "sends": runs.REGULAR, "run_id": "0", "name": "cubic", "preset": PEAK}  # fmt: skip
        rows = pd.DataFrame([row | ({"status": "failed"} if file.name in failing else {})])
        failures = {"0": GuestError(f"{file.name} failed")} if file.name in failing else {}
        return SimpleNamespace(table=lambda: SimpleNamespace(to_pandas=lambda: rows), failures=failures)

    failing: set[str] = set()
    run_study.asked, run_study.failing = asked, failing
    monkeypatch.setattr(study_parts, "run_study", run_study)

    def frames_of(rows, folder):
        groups = {"flood": ["flood"], "paced": ["paced"], "capacity": ["capacity"], "beside": ["beside"],
                  "sessions": ["main"], "traces": ["main"]}  # fmt: skip
        found = {name: frame for name, frame in as_the_study_says.items() if not set(groups.get(name, [])) & failing}
        return found, None

    monkeypatch.setattr(material, "_frames", frames_of)
    monkeypatch.setattr(material, "why_not", lambda kernel: None)
    monkeypatch.setattr(figures, "KINDS", ())
    return run_study


@pytest.mark.slow
def test_a_reproduction_leaves_everything_behind(engine, tmp_path):
    done = reproduce("huston2024", tmp_path / "study", progress=False)
    claims = json.loads((done.path / "claims.json").read_text())
    verdicts = {row["number"]: row["verdict"] for row in claims["claims"]}
    # Claim 3.20 needs results of the study `programs`, which was not run.
    assert verdicts.pop("3.20") == "cannot be told"
    assert set(verdicts.values()) == {"holds"}
    apart = {row["number"] for row in claims["claims"] if row["by_construction"]}
    assert apart == {"3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.8", "3.16"}
    text = done.page.read_text(encoding="utf-8")
    assert text.count('id="claim-3.') == 30
    assert "Apart from these, 8 by construction: " in text
    assert "quick:" not in text
    assert "CUBIC, ECN, fq_codel" in text
    assert (done.path / material.TABLE).exists()
    assert set(engine.asked) == {part.name for part in runs.parts()}
    assert set(engine.asked.values()) == {None}
    count = len(runs.parts())
    assert f"{count} runs, {2 * count} CPU s" in done.cost


@pytest.mark.slow
def test_without_the_kernel_of_version_3_its_claim_says_what_to_type_and_no_run_failed(engine, tmp_path, monkeypatch):
    why = "the runs on the kernel 6.12+bbr3 are left out: it is not built (leowarp kernel build 6.12+bbr3)"
    monkeypatch.setattr(material, "why_not", lambda kernel: why)
    done = reproduce("huston2024", tmp_path / "study", progress=False)
    (row,) = (row for row in done.claims if row["number"] == "3.17")
    assert (row["verdict"], row["measured"]) == ("cannot be told", why)
    assert done.left_out == [why]
    assert not done.failures
    assert not any("bbr3" in name for name in engine.asked)


@pytest.mark.slow
def test_a_quick_one_says_that_it_is_not_the_study(engine, tmp_path):
    done = reproduce("huston2024", tmp_path / "study", quick=True, progress=False)
    assert "quick: 3 of 20 seeds" in done.page.read_text(encoding="utf-8")
    for part in runs.parts():
        asked = engine.asked[part.name]
        wanted = [asked(SimpleNamespace(values={"run.seed": seed}, seed=seed)) for seed in range(1, 31)]
        assert sum(wanted) in (1, 2, 3), part.name


@pytest.mark.slow
def test_claims_whose_runs_all_failed_cannot_be_told(engine, tmp_path):
    engine.failing.add("paced")
    done = reproduce("huston2024", tmp_path / "study", progress=False)
    verdicts = {row["number"]: row["verdict"] for row in done.claims}
    assert verdicts["3.5"] == verdicts["3.2"] == "cannot be told"
    assert verdicts["3.1"] == verdicts["3.7"] == "holds"
    assert list(done.failures) == ["paced/0", "paced"]


@pytest.mark.slow
def test_off_peak_sessions_stand_in_a_table_of_their_own(as_the_study_says):
    text = tables.table(as_the_study_says)
    assert "Off-peak" in text
    assert ev.goodput_bps(as_the_study_says, "cubic", OFF_PEAK).median == pytest.approx(165e6 * 1.04)
