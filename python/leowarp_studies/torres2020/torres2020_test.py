# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's runs, claims and figures on synthetic results, without the guest."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from leowarp import GuestError, ScenarioError, TraceError, reordering
from leowarp.report import style
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import example_file
from leowarp.study import parts as study_parts
from leowarp.study import reproduce
from leowarp.study.claim import judged
from leowarp.study.sweep import StudyFile
from leowarp_studies.torres2020 import claims_definitions, figures, material, results, runs, simulation
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020.claims import CLAIMS
from support.studies import torres2020 as synthetic

STUDY_MD_PER_MS = {"uniform": 7.1, "normal": 6.6, "exponential": 5.3}


@pytest.fixture(scope="module")
def as_the_study_says():
    return synthetic.frames(synthetic.as_the_study_says, md_per_ms=STUDY_MD_PER_MS)


@pytest.fixture(scope="module")
def undisturbed():
    return synthetic.frames(synthetic.undisturbed)


def outcome(number, frames):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", frames)])


# --- The runs


def test_the_studys_runs_are_16740_and_those_beside_them_are_counted():
    by_name = {part.name: part.runs for part in runs.parts()}
    assert by_name == {
        "transfers": 16_740, "yeah": 1_860, "probes": 186, "shapes": 6, "mechanisms-normal": 480, "mechanisms-bic": 240,
        "early-rack-normal": 336, "early-rack-bic": 168, "beyond": 3,
    }  # fmt: skip
    for part in runs.parts():
        file = StudyFile.of(part.content)
        count = len(file.seeds)
        for dimension in file.dimensions:
            count *= len(dimension[0].values)
        assert count == part.runs


def test_the_grid_has_62_jitters_from_0_to_10_ms_and_all_that_the_text_names():
    assert len(runs.JITTERS_US) == len(set(runs.JITTERS_US)) == 62
    assert list(runs.JITTERS_US) == sorted(runs.JITTERS_US)
    assert (runs.JITTERS_US[0], runs.JITTERS_US[-1]) == (0, 10_000)
    assert set(runs.NAMED_US) | {runs.SHAPE_US} <= set(runs.JITTERS_US)
    # A transfer is paired with the probe at the same jitter, so each jitter of the transfers needs a probe.
    assert set(runs.MECHANISM_US) <= set(runs.JITTERS_US)
    assert set(runs.QUICK_MECHANISM_US) <= set(runs.QUICK_US) & set(runs.MECHANISM_US)
    assert set(runs.EARLY_RACK_US) <= set(runs.JITTERS_US)
    assert set(runs.QUICK_EARLY_RACK_US) <= set(runs.QUICK_US) & set(runs.EARLY_RACK_US)


def test_a_quick_reproduction_makes_every_eighth_jitter_with_three_seeds():
    part = runs.parts()[0]
    values = part.content["parameters"]["jittered.jitter"]["values"]
    taken = [value for value in values if part.in_quick({"jittered.jitter": value}, 1)]
    assert set(values[::8]) <= set(taken)
    assert {"0 us", "75 us", "858.5 us", "1000 us", "1247.5 us", "10000 us"} <= set(taken)
    assert len(taken) == len(set(values[::8]) | set(taken)) == 13
    assert part.in_quick({"jittered.jitter": "75 us"}, 3)
    assert not part.in_quick({"jittered.jitter": "75 us"}, 4)
    assert not part.in_quick({"jittered.jitter": "87.5 us"}, 1)


def test_profiles_are_told_by_their_keys():
    for profile, keys in runs.PROFILE_TCP.items():
        sysctl = {**runs.BUFFERS, **keys.get("sysctl", {})}
        assert runs.profile_of(keys["profile"], sysctl, keys.get("loss_detection", "kernel")) == profile
    plan = resolve(load(example_file(runs.SCENARIO)))
    assert {name: plan.hosts[0].sysctl[name] for name in runs.BUFFERS} == runs.BUFFERS
    one = resolve(load(example_file(runs.SCENARIO), {"tcp.sysctl": {**runs.BUFFERS, "net.ipv4.tcp_recovery": "0"}}))
    assert one.hosts[0].sysctl["net.ipv4.tcp_recovery"] == "0"
    assert one.hosts[0].sysctl["net.ipv4.tcp_max_reordering"] == "300"


# --- Results


def test_a_transfer_that_was_not_done_counts_with_what_it_delivered():
    slow = synthetic.transfer_rows(lambda *of: 0.005, ("bic",), distributions=("normal",), jitters_us=(0,), seeds=1)
    (row,) = results.transfers(slow).to_dict("records")
    assert not row["finished"]
    assert row["duration_s"] == 1000.0
    assert row["throughput_bps"] == pytest.approx(0.005 * synthetic.UNDISTURBED_BPS, rel=1e-3)


def test_failed_runs_are_left_out_of_the_results():
    rows = synthetic.transfer_rows(synthetic.undisturbed, ("bic",), distributions=("normal",), jitters_us=(0,))
    rows.loc[0, "status"] = "failed"
    assert len(results.transfers(rows)) == len(rows) - 1
    with pytest.raises(TraceError, match="no column flow0_entropy_nats"):
        results.probes(synthetic.probe_rows((0,)).drop(columns="flow0_entropy_nats"))


def test_a_curve_is_the_mean_over_seeds_against_the_probe_with_the_same_jitter(as_the_study_says):
    line = ev.curve(as_the_study_says["transfers"], as_the_study_says["probes"], "normal", "bic")
    assert len(line) == 62
    assert line["ratio"].iloc[0] == 1.0
    at = line[line["jitter_ns"] == 1_100_000].iloc[0]
    assert at["runs"] == 3
    assert at["mean_bps"] == pytest.approx(synthetic.UNDISTURBED_BPS * synthetic.collapse_at(1.15)(1.1))
    assert at["q1_bps"] < at["median_bps"] < at["q3_bps"]
    assert at["mean_displacement_pkts"] == pytest.approx(6.6 * 1.1)
    first = ev.first_below(line, 0.5)
    assert first["jitter_ms"] == 1.2475
    assert ev.last_at_or_above(line, 0.9)["jitter_ms"] == 0.8585
    assert ev.first_below(line, 0.0) is None
    assert ev.ratio_at(line, "jitter_ms", 1.05) == pytest.approx(
        (line[line.jitter_ms == 1.0].ratio.iloc[0] + at["ratio"]) / 2
    )


def test_without_an_undisturbed_transfer_nothing_can_be_compared(undisturbed):
    transfers = undisturbed["transfers"]
    with pytest.raises(TraceError, match="no transfer without jitter"):
        ev.curve(transfers[transfers["jitter_ns"] > 0], undisturbed["probes"], "normal", "bic")


def test_the_order_of_distributions_is_judged_from_its_last_breach_on():
    table = pd.DataFrame({"a": [1.0, 3, 3, 3], "b": [2.0, 2, 4, 2]}, index=[0.1, 0.2, 0.3, 0.4])
    assert ev.ordered_from_ms(table, ("a", "b")) == 0.4
    assert ev.ordered_from_ms(table.iloc[1:2], ("a", "b")) == 0.2
    assert ev.ordered_from_ms(table.iloc[:3], ("a", "b")) is None


# --- Claims, for both outcomes


def test_all_claims_of_the_list_are_there_and_say_how_they_are_tested():
    assert [claim.number for claim in CLAIMS] == [f"2.{number}" for number in range(1, 16)]
    for claim in CLAIMS:
        assert claim.test
        assert set(claim.runs) <= set(material.CLAIM_PARTS)


# Claim 2.14 does not hold in the fixture, because the fixture's RD has exactly the shape of the distributions.
@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.number != "2.14"], ids=lambda claim: claim.number)
# Tests claims 2.1 to 2.13 of torres2020.
# Tests claim 2.15 of torres2020.
def test_every_claim_holds_where_all_is_as_the_study_says(claim, as_the_study_says):
    row = judged(claim, [("made up", as_the_study_says)])
    assert row["verdict"] == "holds", row["measured"]
    assert not row["cause"]


# Tests claim 2.1 of torres2020.
def test_the_worked_example_is_told_apart_from_a_library_that_errs(as_the_study_says, monkeypatch):
    from leowarp_studies.torres2020 import claims_metrics

    monkeypatch.setattr(claims_metrics, "EXAMPLE", (1, 2, 3, 4, 5, 6, 7, 8))
    row = outcome("2.1", as_the_study_says)
    assert row["verdict"] == "does not hold"
    assert row["cause"]


# Tests claim 2.9 of torres2020.
def test_the_sums_of_density_fail_where_packets_are_missing_from_them(as_the_study_says):
    rds = as_the_study_says["counted"]
    # `with_threshold` contains the library's counts for the same probes if the study's threshold is used.
    with_threshold = {}
    for (name, jitter_ms), full in rds.items():
        rd = reordering.density(simulation.probe(name, jitter_ms / 1e3, 1, 5_000), threshold_pkts=200)
        beyond = rd.early_beyond_pkts + rd.late_beyond_pkts
        with_threshold[name, jitter_ms] = results.Counted(rd.displacement_pkts, rd.pkts, full.received_pkts, beyond)
    row = outcome("2.9", as_the_study_says | {"counted": with_threshold})
    assert row["verdict"] == "partly"
    assert row["numbers"]["mean_pkts"]["uniform_10_ms"] == pytest.approx(0, abs=1e-9)
    assert abs(row["numbers"]["mean_pkts"]["exponential_10_ms"]) > 0.05
    assert "exponential_10_ms: " in row["cause"]
    # These are the results of two faulty libraries. One loses a packet, and the other shifts all packets by one
    # position.
    lossy = {key: replace(rd, received_pkts=rd.received_pkts + 1) for key, rd in rds.items()}
    assert outcome("2.9", as_the_study_says | {"counted": lossy})["verdict"] == "partly"
    shifted = {key: replace(rd, displacement_pkts=rd.displacement_pkts + 1, received_pkts=1) for key, rd in rds.items()}
    assert outcome("2.9", as_the_study_says | {"counted": shifted})["cause"].startswith("not so: (3), (4)")


# Tests claim 2.10 of torres2020.
def test_sequences_that_percentages_rate_alike_mislead_nobody(as_the_study_says, monkeypatch):
    monkeypatch.setattr(claims_definitions, "TWO_SEQUENCES", ((1, 2, 4, 5, 3, 6), (1, 2, 4, 5, 3, 6)))
    row = outcome("2.10", as_the_study_says)
    assert row["verdict"] == "partly"
    assert "readings disagree" in row["cause"]
    monkeypatch.setattr(claims_definitions, "TWO_SEQUENCES", ((1, 2, 3), (1, 2, 3)))
    assert outcome("2.10", as_the_study_says)["verdict"] == "does not hold"


# Tests claim 2.10 of torres2020.
def test_by_the_studys_own_displacement_one_of_its_three_packets_is_in_its_place(as_the_study_says):
    row = outcome("2.10", as_the_study_says)
    assert row["numbers"]["displaced_ratio"] == pytest.approx([3 / 6, 2 / 6])
    assert row["numbers"]["mean_displacement_pkts"] == pytest.approx([4 / 6, 4 / 6])


# Tests claim 2.11 of torres2020.
def test_another_entropy_at_the_studys_jitters_refutes_them(as_the_study_says):
    probes = as_the_study_says["probes"].copy()
    probes.loc[probes["jitter_ns"] == 75_000, "entropy_nats"] = 1.2
    row = outcome("2.11", as_the_study_says | {"probes": probes})
    assert row["verdict"] == "partly"
    assert row["cause"] == "0.075 ms: by arithmetic without a kernel E_r is 0.801"
    probes["entropy_nats"] *= 2
    assert outcome("2.11", as_the_study_says | {"probes": probes})["verdict"] == "does not hold"


# Tests claim 2.2 of torres2020.
def test_a_shape_that_is_anothers_does_not_mirror_its_distribution(as_the_study_says):
    shapes = as_the_study_says["shapes"]
    swapped = {"uniform": shapes["exponential"], "normal": shapes["normal"], "exponential": shapes["uniform"]}
    row = outcome("2.2", as_the_study_says | {"shapes": swapped})
    assert row["verdict"] == "partly"
    assert "uniform: uniform" in row["cause"]


# Tests claim 2.3 of torres2020.
def test_displacement_as_the_closed_forms_have_it_holds_in_part_and_says_why():
    probes = results.probes(synthetic.probe_rows())
    row = outcome("2.3", {"probes": probes})
    assert row["verdict"] == "partly"
    assert row["numbers"]["off_ratio"]["exponential"] == pytest.approx(6.059 / 5.3 - 1, abs=0.001)
    assert "tc's table `pareto`" in row["cause"]
    bent = probes.assign(mean_displacement_pkts=probes["mean_displacement_pkts"] ** 2)
    row = outcome("2.3", {"probes": bent})
    assert row["numbers"]["bent_ratio"]["normal"] > 0.05


# Tests claim 2.4 of torres2020.
def test_entropy_that_grows_in_a_straight_line_is_no_logarithm(as_the_study_says):
    probes = as_the_study_says["probes"]
    straight = probes.assign(entropy_nats=probes["mean_displacement_pkts"] / 10)
    row = outcome("2.4", as_the_study_says | {"probes": straight})
    # Neither the shape of the curve nor the order of the distributions is as in the study: MD is largest for the
    # uniform distribution.
    assert row["verdict"] == "does not hold"
    assert row["cause"]


# Tests claim 2.4 of torres2020.
def test_entropy_out_of_order_at_the_smallest_jitter_holds_in_part(as_the_study_says):
    probes = as_the_study_says["probes"].copy()
    smallest = (probes["jitter_ns"] == 12_500) & (probes["distribution"] == "uniform")
    probes.loc[smallest, "entropy_nats"] *= 2
    row = outcome("2.4", as_the_study_says | {"probes": probes})
    assert row["verdict"] == "partly"
    assert row["numbers"]["ordered_from_ms"] == 0.025
    assert "0.121 ms apart" in row["cause"]


@pytest.mark.parametrize(
    ("number", "verdict"), [("2.5", "does not hold"), ("2.7", "does not hold"), ("2.8", "does not hold")]
)
# Tests claim 2.5 of torres2020.
# Tests claim 2.7 of torres2020.
# Tests claim 2.8 of torres2020.
def test_a_tcp_that_no_reordering_touches_refutes_the_collapses(number, verdict, undisturbed):
    row = outcome(number, undisturbed)
    assert row["verdict"] == verdict, row["measured"]
    assert "recoveries" in row["cause"]


# Tests claim 2.6 of torres2020.
def test_of_two_numbers_at_one_entropy_one_still_holds_without_a_collapse(undisturbed):
    row = outcome("2.6", undisturbed)
    assert row["verdict"] == "partly"
    assert row["numbers"]["ratio_at_3_8"]["uniform"] == pytest.approx(1.0)


# Tests claim 2.7 of torres2020.
def test_the_cause_says_on_which_tcp_the_claim_would_hold():
    row = outcome("2.7", synthetic.frames(synthetic.only_old_tcp_falls))
    assert row["verdict"] == "does not hold"
    for profile in runs.PROFILES[1:]:
        assert f"{profile}: holds" in row["cause"], row["cause"]
    assert "Westwood 0.075 ms, 0.075 ms" in row["cause"]
    assert "70 recoveries, 60 of them taken back, 390 spurious retransmissions" in row["cause"]


@pytest.mark.parametrize("number", ["2.5", "2.6", "2.7", "2.8", "2.12", "2.13"])
def test_each_tcp_has_a_verdict_of_its_own(number):
    """In these synthetic results, only TCPs with the RACK of the study's years collapse at the study's values."""

    def only_early_rack_falls(distribution, algorithm, profile, jitter_ms):
        of_the_study = synthetic.as_the_study_says(distribution, algorithm, profile, jitter_ms)
        return of_the_study if profile in runs.EARLY_RACK else 1.0

    frames = synthetic.frames(only_early_rack_falls)
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    row = judged(claim, [(material.LINUX, frames), *material._other_tcps(frames)])
    found = {sample["sample"]: sample["verdict"] for sample in row["samples"]}
    assert list(found) == [material.LINUX, *runs.PROFILES[1:]]
    assert {name for name, verdict in found.items() if verdict == "holds"} == set(runs.EARLY_RACK)
    assert row["verdict"] == found[material.LINUX] != "holds"
    (norack,) = (sample for sample in row["samples"] if sample["sample"] == "norack")
    assert norack["cause"].startswith("BIC, normal jitter of 0.8585 ms: norack 70 recoveries")


# Tests claim 2.5 of torres2020.
# Tests claim 2.8 of torres2020.
def test_collapses_at_one_displacement_are_not_at_very_different_ones():
    at_md = {"uniform": 7.13, "normal": 6.57, "exponential": 6.06}

    def same_md(distribution, algorithm, profile, jitter_ms):
        return synthetic.collapse_at(12 / at_md[distribution])(jitter_ms)

    row = outcome("2.5", synthetic.frames(same_md))
    assert row["verdict"] == "partly"
    assert "1.25 times apart: no" in row["measured"]
    # At equal MD, all curves have the same throughput; at equal E_r, their throughputs differ.
    assert outcome("2.8", synthetic.frames(same_md))["verdict"] == "partly"


# --- Figures and page


@pytest.mark.slow
def test_all_figures_are_drawn(as_the_study_says, tmp_path):
    drawn = figures.draw(as_the_study_says, tmp_path, figures.Rules(kernel="Linux", seeds=3))
    assert [figure.missing for figure in drawn] == [None] * len(figures.KINDS)
    for figure in drawn:
        for kind in style.FORMATS:
            assert (tmp_path / f"{figure.stem}.{kind}").stat().st_size > 1000


@pytest.mark.slow
def test_a_figure_whose_runs_are_missing_says_so(undisturbed, tmp_path, monkeypatch):
    only = {"probes": undisturbed["probes"]}
    monkeypatch.setattr(figures, "KINDS", (figures.KINDS[0], figures.KINDS[3], figures.KINDS[4]))
    drawn = {figure.stem: figure.missing for figure in figures.draw(only, tmp_path, figures.Rules("Linux", 3))}
    assert drawn["fig5-entropy"] is None
    assert drawn["fig6-throughput-displacement"] == "the runs `transfers` are missing"
    assert not (tmp_path / "fig2-pdf.svg").exists()


@pytest.fixture(scope="module")
def made_up():
    """Return synthetic rows of each group that agree with the study's statements."""
    old = {"jitters_us": runs.EARLY_RACK_US, "seeds": 1, "profiles": runs.EARLY_RACK}
    mechanism = {"jitters_us": runs.MECHANISM_US, "seeds": 1,
                 "profiles": [name for name in runs.PROFILES if name not in runs.EARLY_RACK]}  # fmt: skip
    ratio, four = synthetic.as_the_study_says, (*runs.ALGORITHMS, runs.FOURTH)
    rows = synthetic.transfer_rows
    return {
        "transfers": rows(ratio, runs.ALGORITHMS),
        "yeah": rows(ratio, (runs.FOURTH,), distributions=("normal",)),
        "probes": synthetic.probe_rows(),
        "shapes": synthetic.shape_rows(),
        "beyond": synthetic.probe_rows((runs.BEYOND_US,)),
        "mechanisms-normal": rows(ratio, four, distributions=("normal",), **mechanism),
        "mechanisms-bic": rows(ratio, ("bic",), distributions=("uniform", "exponential"), **mechanism),
        "early-rack-normal": rows(ratio, four, distributions=("normal",), **old),
        "early-rack-bic": rows(ratio, ("bic",), distributions=("uniform", "exponential"), **old),
    }


@pytest.fixture
def engine(monkeypatch, made_up):
    """Replace `run_study` by a function without a guest that returns synthetic rows and records its arguments."""
    asked = {}

    def run_study(file, folder, *, only, scheduler, **options):
        asked[file.name] = scheduler
        folder.mkdir(parents=True, exist_ok=True)
        rows = tables()[file.name]
        if only is not None:
            kept = [
                only(SimpleNamespace(values={"jittered.jitter": row.jitter}, seed=row.seed))
                for row in rows.itertuples()
            ]
            rows = rows[kept]
        failures = {
            row.run_id: GuestError(f"the run {row.run_id} failed") for row in rows.itertuples() if row.status != "ok"
        }
        return SimpleNamespace(
            table=lambda: SimpleNamespace(to_pandas=lambda: rows.reset_index(drop=True)), failures=failures
        )

    def tables():
        made = {name: rows.copy() for name, rows in made_up.items()}
        for name, change in run_study.changes.items():
            change(made[name])
        return made

    run_study.asked, run_study.changes = asked, {}
    monkeypatch.setattr(study_parts, "run_study", run_study)
    # Tables of the three shapes are not tested here, so a simple object replaces each run directory.
    monkeypatch.setattr(
        material, "Run", lambda path, complete: SimpleNamespace(manifest={}, tables=path.name.split("-")[0])
    )
    made = synthetic.shapes()
    monkeypatch.setattr(results, "shape", lambda shaped, unshaped: made[shaped])
    rds = iter(synthetic.counted().values())
    monkeypatch.setattr(results, "counted", lambda tables: next(rds))
    monkeypatch.setattr(figures, "KINDS", ())
    return run_study


def test_a_reproduction_leaves_everything_behind(engine, tmp_path):
    done = reproduce("torres2020", tmp_path / "study", scheduler="tcp://host:8786", progress=False)
    assert set(engine.asked.values()) == {"tcp://host:8786"}
    claims = json.loads((done.path / "claims.json").read_text())
    assert [row["verdict"] for row in claims["claims"]].count("holds") >= 7
    text = done.page.read_text(encoding="utf-8")
    assert text.count('id="claim-2.') == 15
    # Claims 2.1, 2.9 and 2.10 compare the library with the definitions that it implements.
    assert "Of 12 claims: " in text
    assert "Apart from these, 3 by construction: " in text
    assert "transfers/results/" in text
    assert "leowarp reproduce torres2020" in text
    assert "16,740" in text
    assert "quick:" not in text
    assert done.cost.startswith(f"{1674 + 186 + 186 + 6 + 160 + 80 + 112 + 56 + 3:,} runs")
    (row,) = (row for row in claims["claims"] if row["number"] == "2.7")
    assert [sample["sample"] for sample in row["samples"]] == [material.LINUX, *runs.PROFILES[1:]]
    # Only the six claims in the list below have one verdict per TCP. Claims about the path, and claims that are only
    # calculated, have a single verdict.
    apart = [row["number"] for row in claims["claims"] if len(row["samples"]) > 1]
    assert apart == ["2.5", "2.6", "2.7", "2.8", "2.12", "2.13"]
    assert "CPU s a run" in done.cost


@pytest.mark.slow
def test_a_quick_one_says_that_it_is_not_the_study(engine, tmp_path):
    done = reproduce("torres2020", tmp_path / "study", quick=True, progress=False)
    text = done.page.read_text(encoding="utf-8")
    assert "quick: 13 of 62 jitters" in text
    assert "--quick" in text
    assert not done.failures


@pytest.mark.slow
def test_failed_runs_are_named_and_the_rest_is_judged(engine, tmp_path):
    def fail(rows):
        rows.loc[5, "status"] = "failed"

    engine.changes["transfers"] = fail
    done = reproduce("torres2020", tmp_path / "study", progress=False)
    (name,) = done.failures
    assert name.startswith("transfers/")
    assert all(row["verdict"] == "holds" for row in done.claims if row["number"] in ("2.2", "2.5"))
    assert "failed" in done.page.read_text(encoding="utf-8")


def test_claims_whose_runs_all_failed_cannot_be_told(engine, tmp_path):
    engine.changes["probes"] = lambda rows: rows.insert(0, "_", 0) or rows.update({"status": ["failed"] * len(rows)})
    done = reproduce("torres2020", tmp_path / "study", progress=False)
    verdicts = {row["number"]: row["verdict"] for row in done.claims}
    assert verdicts["2.3"] == verdicts["2.5"] == "cannot be told"
    assert verdicts["2.1"] == verdicts["2.2"] == "holds"


def test_each_study_refuses_the_others_options(tmp_path):
    with pytest.raises(ScenarioError, match="torres2020 has no option --samples") as caught:
        reproduce("torres2020", tmp_path, samples=1)
    assert "--quick" in str(caught.value)
    with pytest.raises(ScenarioError, match="frederiksen2024 has no option --fetch"):
        reproduce("frederiksen2024", tmp_path, fetch=True)


def test_stand_ins_for_the_exponential_give_the_studys_number():
    for name in simulation.STAND_INS:
        assert simulation.stand_in_pkts(name, 1e-3) == pytest.approx(5.3, rel=0.03)
