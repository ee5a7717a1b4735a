# SPDX-License-Identifier: Apache-2.0
"""Tests the content of figures, and the messages if a figure cannot be drawn. A figure that is drawn twice must give
identical files."""

import dataclasses
import hashlib
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.report import FIGURES, figure, save, views
from leowarp.report.figures import distributions, packets
from leowarp.report.figures.land import LAND_DEG
from leowarp.report.figures.queues import queue_map
from leowarp.report.labels import footer_of, labels, styles
from leowarp.results.run import Run
from leowarp.trace import TABLES
from support.synthetic import run as syn
from support.synthetic.run import PLAN_TOML

TCP_FIGURES = [name for name, kind in FIGURES.items() if kind.shows in ("tcp", "changes", "routes", "any")]


@pytest.mark.slow
@pytest.mark.parametrize("name", TCP_FIGURES)
def test_every_figure_is_drawn_with_units_and_rules(run_dir, name):
    drawn = figure(run_dir, name)
    texts = [text.get_text() for text in drawn.texts]
    assert any("in flight: drain" in text.replace("\n", " ") for text in texts)
    assert any("seed: 1" in text.replace("\n", " ") for text in texts)
    if name != "map":
        for axes in drawn.axes:
            if axes.get_xlabel():
                assert any(unit in axes.get_xlabel() for unit in (", s", ", ms", "Mbit/s", "packets"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TCP_FIGURES if FIGURES[name].several])
def test_several_runs_share_a_figure(run_dir, other_run_dir, name):
    drawn = figure([run_dir, other_run_dir], name)
    words = " ".join(
        [axes.get_title() + axes.get_title("left") for axes in drawn.axes]
        + [text.get_text() for axes in drawn.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    )
    assert "CUBIC" in words
    assert "Reno" in words


@pytest.mark.slow
def test_queues_of_runs_whose_route_never_changed_are_laid_out(run_dir, other_run_dir, tmp_path):
    runs = [Run(path, complete=False) for path in (run_dir, other_run_dir)]
    for run in runs:
        run.__dict__["changes"] = run.changes[:0]
    drawn = figure(runs, "queues")
    # If the layout fails, matplotlib gives a warning, and warnings are errors in these tests.
    save(drawn, tmp_path / "queues", ("png",))
    assert all(axes.get_position().height > 0.2 for axes in drawn.axes)


def test_a_run_is_drawn_as_its_directory_is(run_dir):
    # `leowarp.Run` has a path, like a directory. A `Run` must not be treated as a sequence of runs.
    run = Run(run_dir)
    view = Run(run_dir, complete=False)
    for given in (run, [run], str(run_dir), (run_dir,), view, {"a": view}.values()):
        assert [each.path for each in views(given)] == [run_dir]


@pytest.mark.parametrize("name", ["goodput", "cwnd"])
def test_a_flow_that_never_got_anything_has_an_empty_figure(run_dir, name):
    run = Run(run_dir)
    run.__dict__["tables"] = dataclasses.replace(run.tables, sockets=run.tables.sockets[:0])
    drawn = figure([run], name)
    assert all(np.isfinite(axes.get_ylim()).all() for axes in drawn.axes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["goodput", "map", "packets"])
def test_equal_runs_give_equal_bytes(run_dir, tmp_path, name):
    sums = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        files = save(figure(run_dir, name), tmp_path / folder / name)
        sums.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in files])
    assert sums[0] == sums[1]


@pytest.mark.slow
def test_the_users_matplotlibrc_changes_nothing(run_dir, tmp_path):
    import matplotlib as mpl

    save(figure(run_dir, "rtt_ccdf"), tmp_path / "plain", ["svg"])
    with mpl.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9, "svg.hashsalt": "other"}):
        save(figure(run_dir, "rtt_ccdf"), tmp_path / "odd", ["svg"])
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "odd.svg").read_bytes()


def test_goodput_cdf_ends_at_one_and_marks_the_capacity(run_dir):
    (axes,) = figure(run_dir, "goodput_cdf").axes
    (line,) = [line for line in axes.lines if line.get_label() == "CUBIC"]
    assert line.get_ydata()[-1] == 1.0
    (capacity,) = [line for line in axes.lines if line.get_linestyle() == ":"]
    # At 100 Mbit/s, 1448 of every 1514 bytes are payload.
    assert capacity.get_xdata()[0] == pytest.approx(100 * 1448 / 1514)


def test_packet_diagram_has_limits_where_a_waiting_sender_sent_nothing_near_the_change():
    data = pd.DataFrame({"sent_ns": [400_000_000], "received_ns": [500_000_000.0], "number": [7.0], "is_late": [False]})
    low, high, left_ms, right_ms = packets._Around(1_000_000_000, data, data[:0], 0.0, 1000.0).frame()
    assert low < 7 < high
    assert left_ms < -600 < -500 < right_ms


def test_packet_diagram_counts_the_overtaken(run_dir):
    (axes,) = figure(run_dir, "packets").axes
    assert f"{syn.LATE_PKTS} packets overtaken" in axes.get_title("left")
    (late,) = [line for line in axes.lines if line.get_label() == "arrived late (overtaken)"]
    assert len(late.get_xdata()) == syn.LATE_PKTS
    assert late.get_ydata()[0] == 0


def test_a_change_can_be_chosen_and_a_wrong_one_is_refused(run_dir):
    drawn = figure(run_dir, "packets", change_s=40)
    assert "change at 40 s: 0 packets overtaken" in drawn.axes[0].get_title("left")
    with pytest.raises(TraceError, match="there is none") as caught:
        figure(run_dir, "map", change_s=41)
    assert "20, 40 s" in str(caught.value)


def test_queue_map_places_the_queue_at_its_link(run_dir):
    edges_ns, waiting = queue_map(Run(run_dir, complete=False))
    assert waiting.shape[0] == 4
    place, when = np.unravel_index(np.nanargmax(waiting), waiting.shape)
    # The largest value is at the second link of the first path, while that link has a queue.
    assert place == 1
    assert 19.5e9 <= edges_ns[when] < 20e9
    assert np.nanmax(waiting) == syn.QUEUE_PKTS
    # The last path has only three links, so the fourth link has no values.
    assert np.isnan(waiting[3, edges_ns[:-1] >= 40e9]).all()


def test_unknown_figures_are_refused_by_name(run_dir):
    with pytest.raises(ScenarioError, match="no figure 'cdf'") as caught:
        figure(run_dir, "cdf")
    assert "goodput_cdf" in str(caught.value)
    with pytest.raises(ScenarioError, match="of no runs"):
        figure([], "goodput")


def test_algorithms_keep_their_colour_in_any_company(run_dir, other_run_dir):
    cubic, reno = Run(run_dir, complete=False), Run(other_run_dir, complete=False)
    assert labels([cubic, reno]) == ["CUBIC", "Reno"]
    assert styles([cubic, reno])[1] == styles([reno])[0]
    both = [styles([cubic, reno])[0][key] for key in ("color", "linestyle")]
    assert both != [styles([cubic, reno])[1][key] for key in ("color", "linestyle")]


def test_runs_that_differ_in_nothing_are_named_by_their_directories(run_dir):
    assert labels([Run(run_dir, complete=False), Run(run_dir, complete=False)]) == ["one", "one"]


def test_footer_names_what_differs(run_dir, other_run_dir):
    text = footer_of([Run(run_dir, complete=False), Run(other_run_dir, complete=False)])
    assert "ISL: any pair within 3000 km" in text
    assert "queue 500 pkts" in text
    assert "|" not in text


def pinged(run_dir, copy, received_ns):
    """Make a copy of the run with two pings instead of its transfer."""
    shutil.copytree(run_dir, copy)
    scenario_text = PLAN_TOML.replace('congestion_control = "cubic"', 'kind = "ping"\ninterval = "1 s"')
    (copy / "00-plan.toml").write_text(scenario_text)
    schema = TABLES["echoes"].arrow()
    reply_ns = [None if at_ns is None else at_ns + 40 * 10**6 for at_ns in received_ns]
    rows = {"flow": [0, 0], "index": [0, 1], "sent_ns": [0, 10**9], "received_ns": received_ns, "reply_ns": reply_ns}
    pq.write_table(pa.table(rows, schema=schema), copy / "30-trace" / "echoes.parquet")
    return copy


def test_probes_of_runs_that_lost_none_are_laid_out(run_dir, tmp_path):
    runs = [pinged(run_dir, tmp_path / name, [40 * 10**6, 10**9 + 40 * 10**6]) for name in ("one", "two")]
    upper, lower = laid_out(figure(runs, "probes"))
    assert upper.height == pytest.approx(lower.height)
    assert upper.height > 0.2


@pytest.mark.parametrize("name", ["probes", "ping", "ping_slots"])
def test_probes_of_a_longer_run_beside_a_shorter_one_are_all_in_the_panel(run_dir, tmp_path, name):
    runs = [Run(pinged(run_dir, tmp_path / name, [40 * 10**6, None])) for name in ("longer", "shorter")]
    assert runs[1].numbers  # `numbers` is computed before the run is shortened, because bins reach to the run's end
    runs[1].tables = dataclasses.replace(runs[1].tables, virtual_ns=10**8)
    panels = laid_out(drawn := figure(runs, name))
    assert [axes.get_xlim() for axes in drawn.axes] == [(0, runs[0].end_ns / 1e9)] * 2
    assert min(panel.height for panel in panels) > 0.2


def laid_out(drawn):
    """Return the positions of the panels, relative to the figure's size."""
    drawn.draw_without_rendering()
    return [axes.get_position() for axes in drawn.axes]


def test_probes_are_drawn_with_their_delay(run_dir, tmp_path):
    copy = pinged(run_dir, tmp_path / "run", [40 * 10**6, None])
    (axes,) = figure(copy, "probes").axes
    found = {line.get_label(): line.get_ydata().tolist()[0] for line in axes.lines if "ping" in line.get_label()}
    assert found == {"Madrid to Tokyo, ping, one way": 40.0, "Madrid to Tokyo, ping, there and back": 80.0}
    with pytest.raises(TraceError, match="no TCP flow"):
        figure(copy, "goodput")
    with pytest.raises(TraceError, match="no ping or udp flow"):
        figure(run_dir, "probes")


def test_the_figure_of_reordering_has_all_four_distributions(run_dir):
    density, buffer_density, n_reordering, extent = figure(run_dir, "reordering").axes
    assert density.get_yscale() == "log"
    (line,) = extent.lines
    # The 26 extents are 1, 3, 5 ... 51, and half of them are 27 or more.
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True))[27] == pytest.approx(0.5)
    assert line.get_ydata()[0] == pytest.approx(1.0)
    (line,) = n_reordering.lines
    assert line.get_xdata().tolist() == [1]
    # The buffer is empty after most arrivals, but the three dropped packets make later packets wait in it.
    assert buffer_density.get_xlim()[1] > 200


def test_reordering_over_time_shows_windows_and_what_is_around_changes(run_dir):
    share, displacement, entropy = figure(run_dir, "reordering_time").axes
    for axes in (share, displacement, entropy):
        windows, around = axes.lines[:2]
        assert windows.get_label() == "CUBIC, windows"
        # The packets that are overtaken at 20 s belong to the window from 15 to 25 s. The share of overtaken packets is
        # smaller in the window from 15 to 25 s than among the packets around the change.
        assert 0 < np.nanmax(windows.get_ydata()) < around.get_ydata()[0]
        assert windows.get_xdata()[-1] == 60
        assert around.get_xdata()[:2].tolist() == [19, 23]
        assert around.get_ydata()[0] > 0
        assert around.get_ydata()[3] == 0


def test_what_the_threshold_of_the_density_leaves_out_is_said(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    path = copy / "30-trace" / "reordering.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("density_beyond_pkts")
    pq.write_table(table.set_column(place, table.field(place), pa.array([7] * len(table), pa.int64())), path)
    words = figure(copy, "reordering").get_suptitle()
    assert "7 packets are displaced by more than 1000 packets" in words
    assert "26 were reordered" in words


def test_reordering_that_was_not_measured_or_is_none_is_not_drawn(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    path = copy / "30-trace" / "reordering.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 1), path)
    with pytest.raises(TraceError, match="over the whole run alone"):
        figure(copy, "reordering_time")
    place = table.column_names.index("reordered_pkts")
    pq.write_table(table.set_column(place, table.field(place), pa.array([0] * len(table), pa.int64())), path)
    with pytest.raises(TraceError, match="no packet was reordered"):
        figure(copy, "reordering")
    path.unlink()
    with pytest.raises(TraceError, match=r"recorded no reordering") as caught:
        figure(copy, "reordering")
    assert "observe.truth" in str(caught.value)


def test_the_outline_of_the_land_is_on_the_globe():
    for polygon in LAND_DEG:
        assert len(polygon) >= 3
        assert np.abs(polygon[:, 0]).max() <= 190
        assert np.abs(polygon[:, 1]).max() <= 90


@pytest.mark.parametrize(
    ("longitude", "latitude", "land"),
    [(-3.7, 40.4, True), (139.5, 36.0, True), (9.9, 57.0, True), (18.9, -33.6, True), (-30, 40, False),
     (-150, 0, False), (80, -30, False), (0, 20, True), (-100, 40, True), (-55, -10, True), (134, -25, True),
     (100, 60, True)],
)  # fmt: skip
def test_well_known_places_are_on_the_right_side_of_the_coast(longitude, latitude, land):
    from matplotlib.path import Path

    # The outline is accurate to one or two degrees, so the test allows a margin of 1 degree.
    inside = any(Path(polygon).contains_point((longitude, latitude), radius=1.0) for polygon in LAND_DEG)
    inside |= any(Path(polygon).contains_point((longitude, latitude), radius=-1.0) for polygon in LAND_DEG)
    assert inside == land


def test_a_flow_of_which_nothing_arrived_has_no_distribution_of_round_trips(run_dir):
    run = Run(run_dir)
    flow = run.main_flow
    run.numbers.srtt[flow] = run.numbers.srtt[flow][:0]
    with pytest.raises(TraceError, match="none was measured"):
        distributions.rtt_ccdf([run])


DRAWS = """
import sys
from leowarp.report.style import mpl, styled
with styled():
    assert mpl.rcParams["svg.fonttype"] == "path"
assert "matplotlib.pyplot" not in sys.modules, "a report must not import pyplot"
mpl.use("pdf")
with styled():
    assert mpl.get_backend() == "pdf"
assert mpl.get_backend() == "pdf"
"""


def test_drawing_keeps_the_callers_backend_and_needs_no_pyplot():
    subprocess.run([sys.executable, "-c", DRAWS], check=True)
