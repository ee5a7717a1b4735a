# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.media import routes_of, timeline_of
from leowarp.routes import paths_of
from leowarp.scenario.schema import Jittered, Plan
from leowarp.scenario.text.key import InputFile
from support.plans import chain
from support.replay import replayed


def jittered(**changed) -> Plan:
    return dataclasses.replace(chain(), medium=Jittered(**changed))


def from_table(folder, text: str, **changed) -> Plan:
    path = folder / "delays.txt"
    path.write_text(text, encoding="utf-8")
    return jittered(distribution="table", table=InputFile("delays.txt", "0" * 64, path), **changed)


def of_kind(plan: Plan, event: str) -> list[dict]:
    rows = [row for row in timeline_of(plan).to_pylist() if row["event"] == event]
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def test_the_study_has_one_link_that_matters():
    plan = jittered(distribution="exponential")
    wire, link = of_kind(plan, "link")
    assert (wire["a"], wire["b"], wire["discipline"]) == ("host:A", "s1", "leolink")
    assert (link["a"], link["b"], link["kind"], link["discipline"]) == ("s1", "host:B", "wire", "jitter")
    assert (link["limit_pkts"], link["overhead_bytes"]) == (5000, 14)
    towards_b = {"t_ns": 0, "a": "s1", "b": "host:B"}
    assert of_kind(plan, "rate") == [towards_b | {"event": "rate", "rate_bps": 100_000_000}]
    assert of_kind(plan, "delay") == [towards_b | {"event": "delay", "delay_ns": 100_000_000}]
    assert of_kind(plan, "jitter") == [
        towards_b | {"event": "jitter", "sigma_ns": 1_000_000, "distribution": "exponential"}
    ]
    assert of_kind(plan, "loss") == []
    kinds = timeline_of(plan)["event"].to_pylist()
    assert kinds == sorted(kinds, key=["node", "link", "rate", "delay", "jitter", "route", "path"].index)


def test_packets_cross_it_both_ways():
    state = replayed(timeline_of(jittered(loss_ratio=0.25)), 0)
    assert state.walk("host:A", "host:B") == ["host:A", "s1", "host:B"]
    assert state.walk("host:B", "host:A") == ["host:B", "s1", "host:A"]
    assert state.sigma_ns == {("s1", "host:B"): 1_000_000}
    assert state.loss_ratio == {("s1", "host:B"): 0.25}


def test_a_delay_or_a_rate_back_is_that_of_the_router():
    plan = jittered(delay_up_ns=7, rate_up_bps=8_000)
    back, _ = of_kind(plan, "link")
    assert (back["a"], back["b"], back["discipline"], back["limit_pkts"]) == ("host:A", "s1", "jitter", 5000)
    state = replayed(timeline_of(plan), 0)
    assert state.delay_ns == {("s1", "host:B"): 100_000_000, ("s1", "host:A"): 7}
    assert state.rate_bps == {("s1", "host:B"): 100_000_000, ("s1", "host:A"): 8_000}
    assert of_kind(jittered(delay_up_ns=7), "rate")[1] == {"t_ns": 0, "event": "rate", "a": "s1", "b": "host:A"}


def test_no_jitter_is_a_plain_delay():
    plan = jittered(jitter_ns=0, delay_ns=0)
    assert of_kind(plan, "jitter") == []
    assert of_kind(plan, "link")[1]["discipline"] == "jitter"


def test_the_routes_name_the_links_that_have_values():
    routes = routes_of(jittered(delay_up_ns=7))
    assert paths_of(routes.table) == {("A", "B"): {0: ("s1", "host:B")}, ("B", "A"): {0: ("s1", "host:A")}}
    assert routes.table["delay_ns"].to_pylist() == [100_000_000, 7]


def test_a_table_of_ones_own_stands_in_the_metadata_standardised(tmp_path):
    table = timeline_of(from_table(tmp_path, "# ms\n120\n\n100\n 110.0 \n"))
    values = np.array(json.loads(table.schema.metadata[b"jitter_table"]))
    assert (len(values), values.mean(), values.std()) == (16384, pytest.approx(0, abs=1e-12), pytest.approx(1))
    assert np.all(np.diff(values) >= 0)
    assert table.schema.metadata[b"warnings"] == b"[]"
    assert b"jitter_table" not in timeline_of(jittered()).schema.metadata


times_ns = st.integers(0, 60_000_000_000)
rates_bps = st.none() | st.integers(8_000, 10**12)


@settings(max_examples=40)
@given(
    delay_ns=times_ns,
    delay_up_ns=st.just(0) | times_ns,
    jitter_ns=st.integers(0, 2_000_000_000),
    distribution=st.sampled_from(["uniform", "normal", "exponential"]),
    rate_bps=rates_bps,
    rate_up_bps=rates_bps,
    queue_pkts=st.none() | st.integers(1, 10**9),
    loss_ratio=st.just(0.0) | st.floats(0, 1),
)
def test_any_jittered_path_comes_back_from_its_timeline_or_is_refused(**changed):
    plan = jittered(**changed)
    try:
        table = timeline_of(plan)
    except ScenarioError as error:
        assert "below 0" in error.message or "2^31" in error.message  # noqa: PT017
        return
    state, there, back = replayed(table, 0), ("s1", "host:B"), ("s1", "host:A")
    assert (state.delay_ns[there], state.rate_bps[there]) == (changed["delay_ns"], changed["rate_bps"])
    assert (state.delay_ns.get(back, 0), state.rate_bps.get(back)) == (changed["delay_up_ns"], changed["rate_up_bps"])
    assert state.sigma_ns.get(there, 0) == changed["jitter_ns"]
    assert state.loss_ratio.get(there, 0) == changed["loss_ratio"]
    assert {ends[0] for values in (state.delay_ns, state.rate_bps, state.sigma_ns) for ends in values} == {"s1"}
    limits = {row["limit_pkts"] for row in table.to_pylist() if row["discipline"] == "jitter"}
    assert limits == {changed["queue_pkts"]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1\n2\nthree\n", r"delays\.txt:3: 'three' is not a number"),
        ("1\nnan\n", r"delays\.txt:2: 'nan'"),
        ("1\n1e999\n", r"delays\.txt:2"),
        ("1 2\n", r"delays\.txt:1: '1 2'"),
        ("# nothing\n", "0 samples"),
        ("5\n", "1 samples"),
        ("5\n5\n5\n", "all the same"),
        ("5\n" * 40_000 + "6\n", "all the same"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_line(tmp_path, text, says):
    with pytest.raises(ScenarioError, match=says):
        timeline_of(from_table(tmp_path, text))


def test_a_table_that_is_gone_or_no_text_is_refused(tmp_path):
    plan = from_table(tmp_path, "1\n2\n")
    (tmp_path / "delays.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="not a text file"):
        timeline_of(plan)
    (tmp_path / "delays.txt").unlink()
    with pytest.raises(ScenarioError, match="No such file"):
        timeline_of(plan)


@pytest.mark.parametrize(
    ("distribution", "enough_ns"),
    [("uniform", 17_320_509), ("normal", 40_090_333), ("exponential", 10_000_000)],
)
def test_a_delay_below_0_is_refused(distribution, enough_ns):
    timeline_of(jittered(distribution=distribution, jitter_ns=10_000_000, delay_ns=enough_ns))
    with pytest.raises(ScenarioError, match="some delays would be below 0") as caught:
        timeline_of(jittered(distribution=distribution, jitter_ns=10_000_000, delay_ns=enough_ns - 1000))
    assert "ms" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("distribution", "most_ns"), [("uniform", 1_239_000_000), ("normal", 1_073_000_000), ("exponential", 536_000_000)]
)
def test_a_jitter_that_netem_would_cap_is_refused(distribution, most_ns):
    timeline_of(jittered(distribution=distribution, jitter_ns=most_ns, delay_ns=10**10))
    with pytest.raises(ScenarioError, match=r"ends at 2\^31 ns"):
        timeline_of(jittered(distribution=distribution, jitter_ns=most_ns + 2_000_000, delay_ns=10**10))
