# SPDX-License-Identifier: Apache-2.0
"""Tests the reordering of the study's probe in the guest. It must agree with closed forms and with the probe's
packets."""

import pytest

from leowarp import scenario
from leowarp.metrics import read_tables
from leowarp.results.run import Run
from leowarp.running import summaries
from leowarp.scenario.names.examples import example_file
from leowarp_studies.torres2020 import results, simulation
from leowarp_studies.torres2020.runs import PROBE_SCENARIO

pytestmark = pytest.mark.guest

SHORT_PKTS = 20_000
"""With this number of packets, the standard error of MD is 0.5 %. With this number and the exponential distribution, MD
at 0.6 ms is 2.5 % below the closed form. Runs with the exponential distribution therefore send as many packets as the
study's probe."""

INSIDE_US, OUTSIDE_US = (600, 1000, 2000, 4000), (75, 10_000)


def packets_of(distribution: str, jitter_us: int) -> int:
    return simulation.PROBE_PKTS if distribution == "exponential" or jitter_us == 1000 else SHORT_PKTS


def plan_of(distribution: str, jitter_us: int):
    changes = {
        "jittered.distribution": distribution,
        "jittered.jitter": f"{jitter_us} us",
        "flows.0.packets": packets_of(distribution, jitter_us),
    }
    return scenario.resolve(scenario.load(example_file(PROBE_SCENARIO), changes))


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    """Return a dict from (distribution, jitter in us) to (MD, E_r), and the directory of a complete run."""
    folder = tmp_path_factory.mktemp("probes")
    keys = [(name, jitter_us) for jitter_us in (*INSIDE_US, *OUTSIDE_US) for name in simulation.DISTRIBUTIONS]
    plans = [plan_of(*key) for key in keys]
    out = [folder / "whole" if key == ("exponential", 1000) else None for key in keys]
    found = {}
    for made in summaries.make(plans, folder / "scratch", out=out):
        assert made.error is None, made.error
        (flow,) = made.summary["flows"]
        assert flow["lost_pkts"] == 0
        found[keys[made.index]] = (flow["mean_displacement_pkts"], flow["entropy_nats"])
    return found, folder / "whole"


@pytest.mark.parametrize(("distribution", "study_pkts"), [("uniform", 7.1), ("normal", 6.6)])
def test_mean_displacement_at_one_millisecond_is_the_studys(probes, distribution, study_pkts):
    assert probes[0][distribution, 1000][0] == pytest.approx(study_pkts, rel=0.03)


@pytest.mark.parametrize("jitter_us", INSIDE_US)
@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_mean_displacement_is_the_closed_form(probes, distribution, jitter_us):
    closed = simulation.closed_form_pkts(distribution, jitter_us / 1e6)
    assert probes[0][distribution, jitter_us][0] == pytest.approx(closed, rel=0.03)


@pytest.mark.parametrize("jitter_us", [*INSIDE_US, *OUTSIDE_US])
@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_both_metrics_are_those_of_arithmetic(probes, distribution, jitter_us):
    order = simulation.probe(distribution, jitter_us / 1e6, 1, packets_of(distribution, jitter_us))
    rd = simulation.density(order)
    md_pkts, nats = probes[0][distribution, jitter_us]
    assert md_pkts == pytest.approx(simulation.mean_displacement_pkts(rd), rel=0.03)
    assert nats == pytest.approx(simulation.entropy_nats(rd), abs=0.04)


@pytest.mark.parametrize("jitter_us", [jitter_us for jitter_us in (*INSIDE_US, *OUTSIDE_US) if jitter_us > 121])
def test_entropy_orders_normal_uniform_exponential_above_the_packets_spacing(probes, jitter_us):
    normal, uniform, exponential = (probes[0][name, jitter_us][1] for name in ("normal", "uniform", "exponential"))
    assert normal > uniform > exponential


def test_displacements_of_a_complete_sequence_sum_to_zero(probes):
    run = Run(probes[1])
    tables = read_tables(run.path)
    shape = results.shape(tables, tables)
    assert abs((shape.displacement_pkts * shape.share).sum()) < 1e-9
    assert len(shape.delay_ns) == simulation.PROBE_PKTS
    # With the exponential distribution, the earliest packet is one standard deviation early.
    assert shape.delay_ns.min() == pytest.approx(99e6, abs=0.2e6)
