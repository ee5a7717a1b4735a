# SPDX-License-Identifier: Apache-2.0
"""Many flows as a matrix, as a distribution and as sortable tables, against the numbers of the run."""

import re

import numpy as np
import pytest

from leowarp.metrics import metrics, read_tables
from leowarp.report import FIGURES, RunView, across_flows, figure
from leowarp.report.network_section import network_section
from support.figure_texts import troubles
from support.synthetic.flows import constellation_toml, write_synthetic_flows

STATIONS = ("Madrid", "Tokyo", "Los Angeles")
PAIRS = [(a, b) for a in STATIONS for b in STATIONS if a != b]


@pytest.fixture(scope="module")
def mesh(run_dir, tmp_path_factory):
    """Two flows of each of six pairs, one CUBIC, one BBR; the third station sends to itself nowhere."""
    path = write_synthetic_flows(run_dir, tmp_path_factory.mktemp("flows") / "mesh", constellation_toml(12, PAIRS))
    metrics(read_tables(path), RunView(path).plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    return RunView(path)


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
    rows = mesh.run.pairs().itertuples(index=False)
    assert shown == {(row.source, row.destination): f"{row.goodput_mean_bps / 1e6:.3g}" for row in rows}
    assert set(shown) == set(PAIRS)
    assert troubles(drawn) == []


@pytest.mark.slow
def test_what_no_pair_knows_is_said_in_its_panel(mesh):
    to_one = [flow | {"rtt_p50_ns": None} for flow in mesh.summary["flows"] if flow["destination"] == "Tokyo"]
    view = RunView(mesh.run)
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
    assert not any(FIGURES[name].concerns([RunView(run_dir)]) for name in ("matrix", "flows"))


@pytest.mark.slow
def test_the_network_has_a_row_for_each_pair_satellite_and_direction(mesh, run_dir):
    text = network_section(mesh)
    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.S)
    run = mesh.run
    assert [body.count("<tr>") for body in bodies] == [len(run.pairs()), len(run.satellites()), len(run.links())]
    longest = run.links()["queue_max_pkts"].max()
    first = bodies[2].split("</tr>")[0]
    assert f'data-v="{longest}"' in first
    assert text.count("<details open>") == 3
    assert "<details open>" not in network_section(RunView(run_dir))
