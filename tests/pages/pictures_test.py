# SPDX-License-Identifier: Apache-2.0
"""Tests that pages look as in reviewed screenshots, which `make pictures` renews.

`test_a_fault_in_a_drawing_is_seen` makes a drawing wrong on purpose, so that each comparison must fail.
"""

import pyarrow.parquet as pq
import pytest
from PIL import Image

from leowarp import scenario, view
from leowarp.base import layout
from leowarp.report import write_report
from leowarp.running.street import prepared
from support.pictures import CANVAS, KEPT, REVIEWED, apart, pin, shown
from support.synthetic.access import PLAN_TOML as ACCESS_TOML
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import PLAN_TOML

pytestmark = pytest.mark.slow

# 40 ms after the first change, packets are in flight on both paths, and the old path fades.
CHANGE = "t=20.04&lon=35&lat=10&zoom=1.5"
LOAD = "t=19.8&load=queue&lon=45&lat=25&zoom=1.1"
GEOMETRY = """
[constellation]
preset = "starlink-shell1"
"""


@pytest.fixture
def drawn(browser):
    """A function that opens a page, and draws it in the pinned font."""

    def open_(address, size=(1200, 1000), dark=False, ready=None):
        tab = browser.open(address, size=size, dark=dark, **({} if ready is None else {"ready": ready}))
        pin(tab)
        if ready is None:
            tab.run("leowarp.plots.build(0, leowarp.colours), leowarp.drawNow()")
        tab.frames(3)
        return tab

    return open_


def test_the_globe_at_a_route_change(drawn, page, album):
    album.check("globe-change", shown(drawn(f"{page}#{CHANGE}"), ".globe"), CANVAS)


def test_the_globe_with_the_load_of_all_links(drawn, page, album):
    album.check("globe-load", shown(drawn(f"{page}#{LOAD}"), ".stage"))


def test_the_moving_page_narrow_and_dark(drawn, page, album):
    album.check("moving-narrow-dark", shown(drawn(f"{page}#{CHANGE}", size=(400, 1200), dark=True)))


def test_two_runs_side_by_side(drawn, run_dir, synthetic, tmp_path, album):
    other = synthetic(PLAN_TOML.replace('"cubic"', '"reno"'))
    address = view.write_view([run_dir, other], tmp_path / "both.html").as_uri()
    album.check("side-by-side", shown(drawn(f"{address}#{CHANGE}")))


@pytest.fixture(scope="module")
def dish(tmp_path_factory):
    """The page of a run with an access link. Its satellites are computed from the geometry in the plan."""
    toml = ACCESS_TOML.replace("[access]\n", '[access]\ngeometry = "constellation"\n') + GEOMETRY
    run_dir = write_synthetic_access(tmp_path_factory.mktemp("runs") / "dish", toml)
    pq.write_table(prepared(scenario.plan_of(run_dir / layout.PLAN)).routes, run_dir / layout.ROUTES)
    return view.write_view([run_dir], tmp_path_factory.mktemp("pages") / "dish.html").as_uri()


def test_the_sky_above_a_dish(drawn, dish, album):
    album.check("sky", shown(drawn(f"{dish}#t=50"), ".sky"), CANVAS)


@pytest.mark.parametrize(
    ("name", "size", "dark"),
    [("run-light", (1200, 1600), False), ("run-dark", (1200, 1600), True), ("run-narrow", (400, 1600), False)],
)
def test_the_page_of_a_run(drawn, run_dir, album, name, size, dark):
    address = write_report(run_dir).as_uri()
    album.check(name, shown(drawn(address, size=size, dark=dark, ready="document.readyState === 'complete'")))


FAULTS = {
    "no path": "leowarp.panes[0].globe.drawPath = () => {}",
    "no packets": "leowarp.panes[0].globe.drawPackets = () => {}",
    "no old path": "leowarp.runs[0].replaced = () => null",
    "satellites 5 px away": "(() => { const g = leowarp.panes[0].globe, p = g.project.bind(g); "
    "g.project = (places) => { p(places); for (let i = 0; i < g.flat.length; i += 3) g.flat[i] += 5; }; })()",
    "no night": "leowarp.show.night = false",
    "late packets as all others": "leowarp.colours.late = leowarp.colours.packet",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_drawing_is_seen(drawn, page, fault):
    tab = drawn(f"{page}#{CHANGE}")
    tab.run(f"{FAULTS[fault]}, leowarp.drawNow()")
    kept = shown(tab, ".globe").reduce(KEPT)
    reviewed = Image.open(REVIEWED / "globe-change.png").convert("RGB")
    assert kept.size == reviewed.size
    count, most, _ = apart(kept, reviewed, CANVAS)
    assert count > 2 * most
