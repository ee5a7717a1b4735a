# SPDX-License-Identifier: Apache-2.0
"""Tests the matrix, the distribution and the sortable tables of many flows. They must agree with the metrics of the
run."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from leowarp.metrics import metrics, read_tables
from leowarp.report import FIGURES, figure
from leowarp.report.figures import across_flows
from leowarp.report.pages.network_section import network_section
from leowarp.results.run import Run
from support.figure_texts import troubles
from support.synthetic.flows import constellation_toml, write_synthetic_flows

STATIONS = ("Madrid", "Tokyo", "Los Angeles")
PAIRS = [(a, b) for a in STATIONS for b in STATIONS if a != b]


@pytest.fixture(scope="module")
def mesh(run_dir, tmp_path_factory):
    """Two flows for each of six pairs of different stations, one with CUBIC and one with BBR."""
    path = write_synthetic_flows(run_dir, tmp_path_factory.mktemp("flows") / "mesh", constellation_toml(12, PAIRS))
    metrics(read_tables(path), Run(path, complete=False).plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    return Run(path, complete=False)


@pytest.mark.slow
def test_each_cell_of_the_matrix_is_the_number_of_its_pair(mesh):
    drawn = figure(mesh, "matrix")
    assert [axes.get_title() for axes in drawn.axes] == [name for _, name, *_ in across_flows.QUANTITIES]
    goodput = drawn.axes[0]
    sources = [text.get_text() for text in goodput.get_yticklabels()]
    destinations = [text.get_text() for text in goodput.get_xticklabels()]
    assert sources == destinations == list(STATIONS)
    shown = {
        (sources[round(text.get_position()[1])], destinations[round(text.get_position()[0])]): text.get_text()
        for text in goodput.texts
    }
    rows = mesh.pairs().itertuples(index=False)
    assert shown == {(row.source, row.destination): f"{row.goodput_mean_bps / 1e6:.3g}" for row in rows}
    assert set(shown) == set(PAIRS)
    assert troubles(drawn) == []


@pytest.mark.slow
def test_what_no_pair_knows_is_said_in_its_panel(mesh):
    to_one = [flow | {"rtt_p50_ns": None} for flow in mesh.summary["flows"] if flow["destination"] == "Tokyo"]
    view = Run(mesh.path)
    view.__dict__["summary"] = mesh.summary | {"flows": to_one}
    drawn = figure(view, "matrix")
    assert [text.get_text() for text in drawn.axes[1].texts] == ["not measured"]
    assert len(drawn.axes[0].texts) == len(STATIONS) - 1
    assert troubles(drawn) == []


@pytest.mark.slow
def test_the_distribution_has_a_step_for_each_flow(mesh):
    drawn = figure(mesh, "flows")
    flows = mesh.summary["flows"]
    for line, control in zip(drawn.axes[0].lines, ("cubic", "bbr"), strict=True):
        wanted = sorted(flow["goodput_mean_bps"] / 1e6 for flow in flows if flow["congestion_control"] == control)
        assert line.get_xdata()[1:] == pytest.approx(wanted)
        assert line.get_ydata()[1:] == pytest.approx(np.arange(1, 7) / 6)
    assert troubles(drawn) == []


@pytest.mark.slow
def test_a_run_of_one_flow_has_neither(run_dir, mesh):
    assert all(FIGURES[name].concerns([mesh]) for name in ("matrix", "flows"))
    assert not any(FIGURES[name].concerns([Run(run_dir, complete=False)]) for name in ("matrix", "flows"))


@pytest.mark.slow
def test_the_network_has_a_row_for_each_pair_satellite_and_direction(mesh, run_dir):
    text = network_section(mesh)
    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.S)
    run = mesh
    assert [body.count("<tr>") for body in bodies] == [len(run.pairs()), len(run.satellites()), len(run.links())]
    longest = run.links()["queue_max_pkts"].max()
    first = bodies[2].split("</tr>")[0]
    assert f'data-v="{longest}"' in first
    assert text.count("<details open>") == 3
    assert "<details open>" not in network_section(Run(run_dir, complete=False))


@pytest.fixture(scope="module")
def sized(mesh):
    """The twelve flows with sizes of 1, 2, 4, ... kB."""
    view = Run(mesh.path)
    flows = [dataclasses.replace(flow, size_bytes=1000 * 2**n) for n, flow in enumerate(view.observed_plan.flows)]
    view.__dict__["observed_plan"] = dataclasses.replace(view.plan, flows=tuple(flows))
    took = [{"completion_ns": 1_000_000 * 2**n if n < 10 else None} for n in range(12)]
    found = [flow | ends for flow, ends in zip(mesh.summary["flows"], took, strict=True)]
    view.__dict__["summary"] = mesh.summary | {"flows": found}
    return view


@pytest.mark.slow
def test_time_to_completion_stands_over_the_size_and_what_was_not_done_is_marked(sized, mesh):
    drawn = figure(sized, "completion")
    points = {line.get_label(): line for line in drawn.axes[0].lines}
    # The first six flows use CUBIC, and the others BBR.
    assert set(points) == {"cubic, 6 flows", "bbr, 4 flows", "bbr, 2 not done, took longer"}
    for label, numbers in (("cubic, 6 flows", range(6)), ("bbr, 4 flows", range(6, 10))):
        assert points[label].get_xdata() == pytest.approx([2**n for n in numbers])
        assert points[label].get_ydata() == pytest.approx([2**n / 1000 for n in numbers])
    rest = points["bbr, 2 not done, took longer"]
    had_s = [(sized.plan.run.duration_ns - sized.observed_plan.flows[n].start_ns) / 1e9 for n in (10, 11)]
    assert rest.get_xdata() == pytest.approx([2**10, 2**11])
    assert rest.get_ydata() == pytest.approx(had_s)
    assert troubles(drawn) == []
    assert FIGURES["completion"].concerns([sized])
    assert not FIGURES["completion"].concerns([mesh])


def test_the_median_of_flows_of_like_size_counts_what_was_not_done_as_longer():
    frame = pd.DataFrame({
        "size_kbytes": [1.0, 1.1, 1.2, 1.3, 1.4, *[10.0] * 5, *[100.0] * 4],
        "took_s": [0.1, 0.2, 0.3, 0.4, 0.5, *[1.0] * 5, *[1.0] * 4],
        "is_complete": [False, True, True, True, True, *[False] * 3, *[True] * 6],
    })  # fmt: skip
    size_kbytes, median_s = across_flows._medians(frame)
    # In the first bin, one flow is not complete. The median in the first bin is therefore the median of 0.2, 0.3, 0.4,
    # 0.5 and infinity. In the second bin most flows are not complete, and the third bin has too few flows.
    assert size_kbytes.tolist() == [1.2]
    assert median_s.tolist() == [0.4]
