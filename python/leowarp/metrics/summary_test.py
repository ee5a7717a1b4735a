# SPDX-License-Identifier: Apache-2.0
"""Tests that the summaries of the synthetic runs contain the declared scalars in the declared order.
`40-metrics.parquet` has their definitions."""

import dataclasses
import itertools
import re
from types import SimpleNamespace

import pytest

from leowarp import scalars, scenario
from leowarp.metrics import metrics, read_tables
from leowarp.metrics.summary import Evidence
from leowarp.scalars.of_flows import ACKNOWLEDGEMENTS, DATAGRAMS, REORDERING
from leowarp.scalars.of_run import COSTS, CURES
from leowarp.scenario.schema import Flow
from support.synthetic.access import PLAN_TOML, write_synthetic_access

# Every flow of these runs has its share of the goodput, so `share_reason` is null too.
NO_TRANSFERS = {"completion_ns", "share_reason"}
# The tables lack `acks`, the kernel's counters and some columns of TCP_INFO.
NOT_OF_TCP = {*NO_TRANSFERS, *scalars.names(ACKNOWLEDGEMENTS), "received_ce_pkts", "rto_p50_us", "rttvar_p50_us",
              "connection_goodput_mean_bps",  # of Multipath TCP
              "sender_reordering_events", "sender_reordering_pkts", "sender_timeouts"} - {
    "spurious_retransmissions_ratio"
}  # fmt: skip
# Pings have neither a congestion control nor a completion, and the tables lack the numbers for the reordering of pings.
NOT_OF_PROBES = {"congestion_control", "connect_ns", "completion_ns", "bytes", "error", *scalars.names(REORDERING),
                 *scalars.names(DATAGRAMS)}  # fmt: skip


@pytest.fixture(scope="module")
def both(result, tmp_path_factory):
    """Return two runs with TCP and pings, one over satellites and one over an access link."""
    numbers = itertools.count()
    named = re.sub(r"\[\[flows\]\]", lambda _: f'[[flows]]\nname = "number {next(numbers)}"', PLAN_TOML)
    path = write_synthetic_access(tmp_path_factory.mktemp("access") / "run", named)
    plan = scenario.resolve(scenario.load(path / "00-plan.toml"))
    return result, metrics(read_tables(path), plan)


def known(rows):
    return {name for row in rows for name, value in row.items() if value is not None}


def flows(both, kind):
    return [flow for each in both for flow in each.summary["flows"] if (flow["kind"] == "tcp") == (kind == "tcp")]


@pytest.mark.slow
def test_scalars_stand_in_the_declared_order(both):
    for each in both:
        run = {name: value for name, value in each.summary.items() if name != "flows"}
        assert tuple(scalars.flat(run)) == scalars.names(scalars.RUN)
        for flow in each.summary["flows"]:
            assert tuple(flow) == scalars.names(scalars.of_kind(flow["kind"]))


def test_what_is_declared_is_known_of_some_run(both):
    """The synthetic runs lack some scalars. `tests/guest/scalars_test.py` finds these scalars in guest runs."""
    of_runs = known(scalars.flat(each.summary) for each in both)
    assert set(scalars.names(scalars.RUN)) - of_runs == {
        *scalars.names(COSTS), *scalars.names(CURES), "fairness.reason"
    }  # fmt: skip
    assert set(scalars.names(scalars.TCP)) - known(flows(both, "tcp")) == NOT_OF_TCP
    assert set(scalars.names(scalars.PROBE)) - known(flows(both, "ping")) == NOT_OF_PROBES


@pytest.mark.slow
def test_every_number_of_the_summary_is_in_the_long_form_with_unit_and_definition(both):
    frame = both[1].long_form()
    for flow in both[1].summary["flows"]:
        mine = frame[frame["flow"] == flow["flow"]].set_index("metric")
        for scalar in scalars.of_kind(flow["kind"]):
            if scalar.unit.is_text or scalar.name == "flow":
                assert f"flow.{scalar.name}" not in mine.index
                continue
            row = mine.loc[f"flow.{scalar.name}"]
            assert (row["unit"], row["definition"]) == (scalar.unit.symbol, scalar.definition)
            assert flow[scalar.name] == (None if row["value"] != row["value"] else row["value"])
    of_run = frame[frame["metric"].str.startswith("run.")].set_index("metric")
    assert of_run.loc["run.fairness_jain_index", "value"] == both[1].summary["fairness"]["jain_index"]
    assert of_run.loc["run.drops_queue_pkts", "definition"] == "packets dropped at full queues"
    assert "run.cpu_s" not in of_run.index


def test_senders_and_receivers_are_counted_of_tcp_alone():
    def flow(kind, source, destination):
        return Flow(kind=kind, source=source, destination=destination)

    flows = [flow("tcp", "A", "B"), flow("ping", "A", "C"), flow("tcp", "A", "C"), flow("udp", "D", "B")]
    names = (field.name for field in dataclasses.fields(Evidence))
    run = Evidence(**(dict.fromkeys(names) | {"plan": SimpleNamespace(flows=flows)}))
    assert (run.tcp_senders["A"], run.tcp_senders["D"]) == (2, 0)
    assert (run.tcp_receivers["B"], run.tcp_receivers["C"]) == (1, 1)


def test_subflows_of_a_host_at_two_stations_are_senders_of_one_host():
    whole = Flow(source="A", destination="B", name="both", protocol="mptcp")
    further = dataclasses.replace(whole, source="A2", name=None, subflow_of="both")
    names = (field.name for field in dataclasses.fields(Evidence))
    run = Evidence(**(dict.fromkeys(names) | {"plan": SimpleNamespace(flows=[whole, further])}))
    assert (run.tcp_senders["A"], run.tcp_senders["A2"], run.tcp_receivers["B"]) == (2, 0, 2)
