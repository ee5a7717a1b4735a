# SPDX-License-Identifier: Apache-2.0
"""Tests which runs follow from a study file."""

import itertools

import pytest

from leowarp import scenario
from leowarp.base.errors import ScenarioError
from leowarp.scenario.names.examples import example_file
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp.study.sweep.parameters.file_test import WHOLE


def runs_of(path):
    return expand(StudyFile.load(path))


def test_runs_are_the_product_seeds_outermost_without_what_is_excluded(study_file):
    runs = runs_of(study_file(text=WHOLE))
    wanted = [
        (seed, delay, hops, cc)
        for seed in (3, 5)
        for delay, hops, cc in itertools.product(("1 ms", "2 ms"), (1, 2, 3), ("bic", "cubic"))
        if not (delay == "2 ms" and hops in (2, 3))
    ]
    keys = ("chain.delay", "chain.hops", "flows.0.congestion_control")
    assert [(run.seed, *(run.values[key] for key in keys)) for run in runs] == wanted
    assert [run.number for run in runs] == list(range(len(wanted)))
    assert {run.values["chain.queue"] for run in runs if run.values[keys[2]] == "cubic"} == {"64 kB"}


def test_only_leaves_nothing_else(study_file):
    only = '[[only]]\n"chain.hops" = 1\n"chain.delay" = "2 ms"\n[seeds]'
    runs = runs_of(study_file(("[seeds]", only), text=WHOLE))
    assert {(run.values["chain.hops"], run.values["chain.delay"]) for run in runs} == {(1, "2 ms")}


def test_a_runs_plan_is_that_of_the_scenario_with_the_keys_set(study_file, tmp_path):
    run = runs_of(study_file(text=WHOLE))[-1]
    by_hand = {
        "run.duration": "20 s", "tcp.sysctl": {"net.ipv4.tcp_ecn": "1"}, "flows.0.size": "1 MB", "run.seed": 5,
        "chain.delay": "2 ms", "chain.hops": 1, "flows.0.congestion_control": "cubic", "chain.queue": "64 kB",
    }  # fmt: skip
    plan = scenario.resolve(scenario.load(example_file("chain.toml"), by_hand))
    assert run.plan_text == plan.to_toml()
    assert run.combination.columns == {
        "chain_delay_ns": 2_000_000, "chain_delay": "2 ms", "chain_hops": 1, "cc": "cubic", "chain_queue_pkts": None,
        "chain_queue_bytes": 64_000, "chain_queue": "64 kB",
    }  # fmt: skip


def test_without_seeds_the_scenarios_own_counts(study_file):
    (run,) = runs_of(study_file(text='name = "one"\nscenario = "chain"\n'))
    assert run.seed == 1
    assert str(run) == "seed 1"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("chain.hops =", "chain.hoops =", ["study.toml:9: chain.hoops: there is no such key", 'did you mean "hops"?']),
        ('["1 ms", "2 ms"]', '["1 ms", "2 mss"]', ["study.toml:8: chain.delay: ", '"mss" is not a unit of a time']),
        ('"20 s"', '"20 km"', ["study.toml:4: run.duration: ", '"km" is not a unit of a time']),
        ('["bic", "cubic"]', '["bic", "cubik"]', ["study.toml:11: ", 'did you mean "cubic"?', "cubik, chain.queue ="]),
        ('"2 ms"]', '"1000 us"]', ["two combinations give the same plan", "chain.delay = 1000 us"]),
        ('"chain.hops" = [2, 3]', "", []),
    ],
)
def test_a_combination_that_is_no_plan_is_named(study_file, old, new, says):
    path = study_file((old, new), ('"chain.delay" = "2 ms"\n', '"chain.delay" = "1 ms"\n'), text=WHOLE)
    if not says:
        assert {run.values["chain.delay"] for run in runs_of(path)} == {"2 ms"}
        return
    if "hoops" in new:
        path.write_text(path.read_text().replace('"chain.hops" = [2, 3]\n', ""))
    with pytest.raises(ScenarioError) as told:
        runs_of(path)
    for words in says:
        assert words in str(told.value)


def test_values_that_break_a_rule_together_are_named_with_their_combination(study_file):
    text = 'name = "x"\nscenario = "chain"\n[parameters]\n"run.duration" = ["10 s", "60 s"]\n'
    text += '"flows.0.start" = ["0 s", "20 s"]\n'
    with pytest.raises(ScenarioError) as told:
        runs_of(study_file(text=text))
    assert 'study.toml:5: flows.0.start: "20 s" is not before the end of the run (10 s)' in str(told.value)
    assert "in the combination run.duration = 10 s, flows.0.start = 20 s" in str(told.value)


def test_nothing_left_is_an_error(study_file):
    nothing = '"chain.delay" = "2 ms"', '"chain.delay" = ["1 ms", "2 ms"]'
    path = study_file(nothing, ('"chain.hops" = [2, 3]', ""), text=WHOLE)
    with pytest.raises(ScenarioError, match="leave nothing"):
        runs_of(path)


def test_files_are_found_beside_the_study_and_told_apart(study_file, tmp_path):
    table = example_file("measured-path.csv").read_text()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "path.csv").write_text(table)
    text = 'name = "files"\nscenario = "measured-path"\n[parameters]\n"measured.file" = ["a/path.csv"]\n'
    (run,) = runs_of(study_file(text=text))
    assert run.inputs == (tmp_path / "a" / "path.csv",)
    (tmp_path / "b" / "path.csv").write_text(table.replace("0.0", "0.5", 1) + "\n")
    with pytest.raises(ScenarioError, match=r"two different files are called path\.csv"):
        runs_of(study_file(('csv"]', 'csv", "b/path.csv"]'), text=text))


def test_an_environment_that_is_not_there_is_told_before_anything_runs(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('name = "far"\nscenario = "mobile"\n[parameters]\nmobile.elevation = ["40 deg", "50 deg"]\n')
    with pytest.raises(ScenarioError, match=r"far, mobile\.elevation = 50 deg: .*intermediate-tree-shadowed"):
        runs_of(path)


def test_parameters_of_queues_and_of_modules_are_varied_like_any_key(tmp_path):
    (tmp_path / "my_cc.c").write_text("int x;\n")
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "own"\nscenario = "starlink"\n[set]\nguest.cc_modules = ["my_cc.c"]\n'
        'access.queue_discipline = "codel"\n[parameters]\nmodules.my_cc.hold_ns = ["35 ms", "50 ms"]\n'
        'access.queue_parameters.target = ["5 ms"]\n'
    )
    plans = [run.combination.plan for run in runs_of(path)]
    assert [plan.modules for plan in plans] == [{"my_cc": {"hold_ns": f"{ms}000000"}} for ms in (35, 50)]
    assert {plan.guest.cc_modules[0].path for plan in plans} == {tmp_path / "my_cc.c"}
    assert all(plan.medium.queue_parameters == {"target_ns": 5_000_000} for plan in plans)


def test_a_flow_goes_by_its_name_as_by_its_number(tmp_path):
    flow = '[[flows]]\nname = "up"\nsource = "A"\ndestination = "B"\n'
    (tmp_path / "named.toml").write_text(f'name = "named"\n[chain]\n{flow}', encoding="utf-8")
    parameters = {"flows.up.size": ["1 MB", "2 MB"]}
    study = StudyFile.of({"name": "s", "scenario": "named.toml", "parameters": parameters}, tmp_path)
    columns = [run.combination.columns for run in expand(study)]
    assert columns == [{"flows_up_size_bytes": n * 10**6, "flows_up_size": f"{n} MB"} for n in (1, 2)]


MANY_HOPS = '"chain.hops" = { from = 1, to = 200, count = 200 }\n'
DELAYS = '"chain.delay" = { from = "0 ms", to = "10 s", count = %d }\n'
WITHOUT_SOME = '[[exclude]]\n"chain.hops" = 3\n'
SEEDS = '"chain.hops" = { from = 1, to = 20, count = 20 }\n[seeds]\nfirst = 1\ncount = 70000\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MANY_HOPS + DELAYS % 50_000, "10,000,000 combinations; at most 100,000"),
        (MANY_HOPS + DELAYS % 50_000 + WITHOUT_SOME, "10,000,000 combinations; at most 2,000,000"),
        (MANY_HOPS + DELAYS % 1_000 + WITHOUT_SOME, "199,000 combinations; at most 100,000"),
        (SEEDS, "1,400,000 runs; at most 1,000,000"),
    ],
)
def test_what_is_too_much_is_refused_before_any_plan_is_made(text, told, study_file, monkeypatch):
    monkeypatch.setattr(scenario, "load", lambda *_: pytest.fail("a plan was made"))
    with pytest.raises(ScenarioError, match=told) as caught:
        runs_of(study_file(text=f'name = "large"\nscenario = "chain"\n[parameters]\n{text}'))
    assert "several studies" in str(caught.value.hint)
