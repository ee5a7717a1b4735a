# SPDX-License-Identifier: Apache-2.0
"""Tests of how study files are read, and of the errors for mistakes in them."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.base.units import TIME
from leowarp.scenario.names.examples import example_file
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.engine import layout_of
from leowarp.study.sweep.parameters.keys import plan_key
from leowarp.study.sweep.parameters.ranges import values_of_range

WHOLE = """\
name = "whole"
scenario = "chain"
[set]
run.duration = "20 s"
tcp.sysctl = { "net.ipv4.tcp_ecn" = "1" }
"flows.0" = { size = "1 MB" }
[parameters]
"chain.delay" = ["1 ms", "2 ms"]
chain.hops = { from = 1, to = 3, step = 1 }
[[together]]
"flows.0.congestion_control" = { values = ["bic", "cubic"], label = "cc" }
"chain.queue" = ["100 pkts", "64 kB"]
[[exclude]]
"chain.delay" = "2 ms"
"chain.hops" = [2, 3]
[seeds]
list = [3, 5]
[keep]
runs = "failed"
"""


def values(node):
    return [value.value for value in node.values]


def test_a_file_says_what_it_says(study_file):
    study = StudyFile.load(study_file(text=WHOLE))
    assert (study.name, study.scenario, study.keep, study.seeds) == (
        "whole", example_file("chain.toml"), "failed", (3, 5)
    )  # fmt: skip
    assert list(study.set) == ["run.duration", "tcp.sysctl", "flows.0.size"]
    assert [[p.key for p in joined] for joined in study.dimensions] == [
        ["chain.delay"], ["chain.hops"], ["flows.0.congestion_control", "chain.queue"]
    ]  # fmt: skip
    (delay,), (hops,), (cc, queue) = study.dimensions
    assert (values(delay), values(hops)) == (["1 ms", "2 ms"], [1, 2, 3])
    assert (cc.label, values(cc), values(queue)) == ("cc", ["bic", "cubic"], ["100 pkts", "64 kB"])
    assert study.exclude[0].values == {"chain.delay": ("2 ms",), "chain.hops": (2, 3)}
    assert cc.origin.line == 11


def test_the_same_from_python(tmp_path):
    study = StudyFile.of({
        "name": "mine", "scenario": str(example_file("chain.toml")), "parameters": {"chain.delay": ["1 ms", "2 ms"]},
        "seeds": {"first": 4, "count": 2},
    })  # fmt: skip
    assert study.seeds == (4, 5)
    (tmp_path / "mine.toml").write_text(study.text)
    again = StudyFile.load(tmp_path / "mine.toml")
    assert (again.name, again.scenario, again.seeds) == (study.name, study.scenario, study.seeds)
    assert values(again.dimensions[0][0]) == values(study.dimensions[0][0])


def test_a_scenario_beside_the_study_comes_before_an_example(study_file, tmp_path):
    (tmp_path / "chain").write_text(example_file("chain.toml").read_text())
    assert StudyFile.load(study_file()).scenario == tmp_path / "chain"


def test_columns_and_partition_follow_from_the_parameters(study_file):
    layout = layout_of(StudyFile.load(study_file(text=WHOLE)))
    assert {name: str(kind) for name, kind in layout.parameters.items()} == {
        "chain_delay_ns": "int64", "chain_delay": "string", "chain_hops": "int64", "cc": "string",
        "chain_queue_pkts": "int64", "chain_queue_bytes": "int64", "chain_queue": "string",
    }  # fmt: skip
    assert layout.partition == "chain_hops"
    only_delay = (('"flows.0.congestion_control" = { values = ["bic", "cubic"], label = "cc" }\n', ""),)
    assert layout_of(StudyFile.load(study_file(*only_delay))).partition == "status"


@pytest.mark.parametrize(
    ("old", "new", "line", "says", "hint"),
    [
        ('scenario = "chain"', "", 1, "scenario: is missing", "an example"),
        ('scenario = "chain"', 'scenario = "chian"', 2, "no scenario", "relative to the study's folder"),
        ('scenario = "chain"', 'scenari = "chain"', 2, "scenari: there is no such key", 'did you mean "scenario"?'),
        ('name = "whole"', 'name = "a b"', 1, "is not a name", "directory"),
        ('["1 ms", "2 ms"]', "[]", 8, "chain.delay: is an empty list", "take it out"),
        ('["1 ms", "2 ms"]', '"1 ms"', 8, "is not a list of values", 'write ["1 ms"]'),
        ('["1 ms", "2 ms"]', "{ valeus = [1] }", 8, "chain.delay.valeus: there is no such key", '"values"'),
        ("step = 1", "count = 9", 9, "comes more than once", "take fewer"),
        ("step = 1", "step = -1", 9, "does not lead from", "towards"),
        ("step = 1", "count = 3, step = 1", 9, "either `count` or `step`", "count = 5"),
        ("step = 1", 'count = 3, scale = "lgo"', 9, "'lgo' is no scale", 'did you mean "log"?'),
        ("from = 1,", "", 9, "has no `from`", "from = 1"),
        ('"64 kB"]', '"64 kB", "1 kB"]', 10, "congestion_control has 2, chain.queue has 3", "shorter"),
        ('"chain.queue" =', '"chain.delay" =', 12, "chain.delay: is varied twice", "take one"),
        ('label = "cc"', 'label = "c c"', 11, "is not a name of letters", "names a column"),
        ('"chain.delay" = "2 ms"', '"chain.dely" = "2 ms"', 14, "is not varied", 'did you mean "chain.delay"?'),
        ('"chain.delay" = "2 ms"', '"chain.delay" = "3 ms"', 14, "is none of its values", "did you mean"),
        ("[3, 5]", "[]", 16, "is empty", "first = 1"),
        ("[3, 5]", "[3, -5]", 16, "-5 is no seed", "allowed: 0 to"),
        ("list = [3, 5]", "first = 1", 16, "seeds.count: must be given", "count = 30"),
        ("list = [3, 5]", "frist = 1", 17, "seeds.frist", 'did you mean "first"?'),
        ('runs = "failed"', 'runs = "some"', 18, "none, failed or all", 'runs = "failed"'),
        ("run.duration =", "run.seed = 1 #", 4, "[seeds] sets it too", "one of them"),
        ("chain.hops = {", "run.seed = {", 9, "[seeds] sets it too", "one of them"),
        ('"chain.queue" = ["100 pkts", "64 kB"]', '"run.seed" = [1]', 12, "[seeds] sets it too", "one of them"),
    ],
)
def test_a_mistake_names_line_key_and_cure(study_file, old, new, line, says, hint):
    path = study_file((old, new), text=WHOLE)
    with pytest.raises(ScenarioError) as told:
        StudyFile.load(path)
    (found,) = [text for text in str(told.value).replace("\n    ", "\t").splitlines() if says in text]
    assert found.startswith(f"{path}:{line}: ")
    assert hint in found


def test_no_file_and_no_toml(tmp_path):
    with pytest.raises(ScenarioError, match="there is no study file"):
        StudyFile.load(tmp_path / "x.toml")
    (tmp_path / "y.toml").write_text("name = ")
    with pytest.raises(ScenarioError, match=r"y\.toml"):
        StudyFile.load(tmp_path / "y.toml")


def test_a_label_may_not_be_a_column_that_is_there(study_file):
    with pytest.raises(ScenarioError, match=r"study.toml:11: .*the column seed is taken"):
        layout_of(StudyFile.load(study_file(('label = "cc"', 'label = "seed"'), text=WHOLE)))


DELAY = plan_key(("chain", "delay"))


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(2, 40), st.sampled_from(["linear", "log"]))
def test_ranges_keep_their_ends_and_their_order(first_ns, span_ns, count, scale):
    first_ns += scale == "log"
    last_ns = first_ns + span_ns * count
    given = {"from": f"{first_ns} ns", "to": f"{last_ns} ns", "count": count, "scale": scale}
    exact_log = [first_ns * (last_ns / first_ns) ** (place / (count - 1)) for place in range(count)] if first_ns else []
    assume(scale == "linear" or min(b - a for a, b in itertools.pairwise(exact_log)) > 1)
    found = [TIME.parse(text) for text in values_of_range(given, DELAY)]
    assert (found[0], found[-1], len(found)) == (first_ns, last_ns, count)
    assert found == sorted(set(found))
    if scale == "linear":
        exact = [first_ns + Fraction(span_ns * count * place, count - 1) for place in range(count)]
        assert all(abs(a - b) <= Fraction(1, 2) for a, b in zip(found, exact, strict=True))
    else:
        assert found == pytest.approx(exact_log, abs=1)


def test_steps_and_other_quantities():
    assert values_of_range({"from": "1 ms", "to": "2 ms", "step": "0.4 ms"}, DELAY) == ["1 ms", "1.4 ms", "1.8 ms"]
    queue, loss = plan_key(("chain", "queue")), plan_key(("chain", "loss"))
    assert values_of_range({"from": "64 kB", "to": "128 kB", "count": 2}, queue) == ["64 kB", "128 kB"]
    assert values_of_range({"from": "0 %", "to": "1 %", "count": 3}, loss) == ["0 %", "0.5 %", "1 %"]
    with pytest.raises(ScenarioError, match="a logarithmic range begins"):
        values_of_range({"from": "0 ms", "to": "1 s", "count": 3, "scale": "log"}, DELAY)
