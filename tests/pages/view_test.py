# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `leowarp view` in a browser. It must show the run's values, and must load nothing from other
hosts."""

import math

import numpy as np
import pytest

import leowarp
from leowarp import view
from leowarp.ephemeris import ephemeris_of
from support.synthetic.bbr import MODES_NS, write_synthetic_bbr
from support.synthetic.run import CHANGES_NS, PATHS, PLAN_TOML, QUEUE_PKTS

pytestmark = pytest.mark.slow

CHANGES_S = [t_ns / 1e9 for t_ns in CHANGES_NS]


def state(tab, run=0):
    return tab.run(f"leowarp.state({run})")


def at(tab, t_s):
    tab.run(f"leowarp.seek({t_s!r}), leowarp.drawNow()")
    return state(tab)


def test_nothing_is_asked_for_and_nothing_goes_wrong(opened, page):
    tab = opened("t=20")
    tab.key(" ")
    tab.frames(5)
    assert tab.requests == [page]
    assert tab.complaints == []


def test_the_policy_of_the_page_lets_no_request_out(opened):
    tab = opened()
    asked = tab.run("fetch('https://example.org/').then(() => 'answered', () => 'refused')")
    assert asked == "refused"
    tab.run("new Promise((done) => Object.assign(new Image(), {onerror: done, src: 'https://example.org/x.png'}))")
    assert any("Content Security Policy" in text for text in tab.complaints)
    strange = [url for url in tab.requests if "example.org" in url]
    assert tab.forbidden == strange


def projected(positions_m, radius_m, tab):
    """Return positions in pixels on the page's canvas, by a second implementation of the orthographic projection."""
    lon, lat, zoom = tab.run("[leowarp.camera.lon, leowarp.camera.lat, leowarp.camera.zoom]")
    width, height = tab.run(
        "(() => { const c = document.querySelector('.globe'); return [c.clientWidth, c.clientHeight]; })()"
    )
    radius_px = min(width, height) / 2 / 1.22 * zoom
    rotated = math.radians(lon), math.radians(lat)
    east = np.array([-math.sin(rotated[0]), math.cos(rotated[0]), 0])
    towards = np.array(
        [math.cos(rotated[1]) * math.cos(rotated[0]), math.cos(rotated[1]) * math.sin(rotated[0]), math.sin(rotated[1])]
    )
    north = np.cross(towards, east)
    unit = positions_m / radius_m
    return np.stack([width / 2 + radius_px * unit @ east, height / 2 - radius_px * unit @ north], axis=-1)


@pytest.mark.parametrize("t_s", [0.0, 17.3, 59.9])
def test_satellites_are_where_the_ephemeris_has_them_to_a_pixel(opened, run_dir, t_s):
    tab = opened(f"t={t_s}&lon=30&lat=45&zoom=1.5")
    sky = ephemeris_of(leowarp.open(run_dir).plan)
    places = tab.run("leowarp.places()")
    assert list(places) == sky.names
    wanted = projected(sky.positions_ecef_m(round(t_s * 1e9)), sky.stations.sphere_radius_m, tab)
    found = np.array([[places[name]["x"], places[name]["y"]] for name in sky.names])
    assert np.abs(found - wanted).max() < 1.0


def test_the_path_is_that_of_the_routes_table_at_every_update(opened, run_dir):
    tab = opened()
    routes = leowarp.open(run_dir).routes()
    for row in routes[(routes["source"] == "Madrid")].itertuples():
        assert at(tab, float(row.t_ns) / 1e9)["path"] == list(row.path)
    for change_s, before, after in zip(CHANGES_S, PATHS, PATHS[1:], strict=False):
        assert at(tab, change_s - 1e-4)["path"] == list(before)
        assert at(tab, change_s)["path"] == list(after)


@pytest.mark.parametrize("t_s", [19.95, 20.0005, 20.0403, 40.0007])
def test_packets_under_way_are_those_of_the_trace(opened, run_dir, t_s):
    now = at(opened(), t_s)
    assert now["packets_known"]
    packets = leowarp.open(run_dir).table("packets").to_pandas()
    t_ns = round(t_s * 1e9)
    way = packets[(packets["sent_ns"] <= t_ns) & (packets["received_ns"] > t_ns) & (packets["stored_because"] % 2 == 1)]
    wanted = sorted((int(row.sent_ns) // 1000, int(row.direction == "back")) for row in way.itertuples())
    assert len(wanted) > 20
    assert sorted((round(p["sent_s"] * 1e6), p["flags"] >> 4 & 1) for p in now["packets"]) == wanted


def test_packets_are_not_shown_where_the_page_does_not_have_them_all(opened):
    now = at(opened(), 30.0)
    assert not now["packets_known"]
    assert now["packets"] == []


def test_queues_on_the_path_are_those_of_the_trace(opened):
    tab = opened()
    assert at(tab, 19.4)["queues"] == [0, 0, 0, 0]
    assert at(tab, 19.8)["queues"] == [0, QUEUE_PKTS, 0, 0]


def test_keys_play_and_go_from_change_to_change(opened):
    tab = opened("t=5")
    tab.key("ArrowRight")
    assert state(tab)["t_s"] == CHANGES_S[0]
    tab.key("ArrowRight")
    assert state(tab)["t_s"] == CHANGES_S[1]
    tab.key("ArrowRight")
    assert state(tab)["t_s"] == CHANGES_S[1]
    tab.key("ArrowLeft")
    assert state(tab)["t_s"] == CHANGES_S[0]
    tab.key("ArrowLeft", shift=True)
    assert CHANGES_S[0] - 1 < state(tab)["t_s"] < CHANGES_S[0]
    tab.key("End")
    assert state(tab)["t_s"] == 60.0
    tab.key("Home")
    assert state(tab)["t_s"] == 0.0
    tab.key(" ")
    assert state(tab)["playing"]
    tab.wait("leowarp.clock.t_s > 0.5")
    tab.key(" ")
    assert not state(tab)["playing"]


def test_buttons_do_what_keys_do(opened):
    tab = opened("t=5")
    tab.click_on(".bar button", 2)
    assert state(tab)["t_s"] == CHANGES_S[0]
    tab.click_on(".bar button", 0)
    assert state(tab)["playing"]


def test_time_goes_slowly_around_a_change_and_fast_elsewhere(opened):
    tab = opened("t=20.05")
    slow = state(tab)["rate"]
    fast = at(tab, 30.0)["rate"]
    assert slow < 0.1 < 5 < fast


def test_the_cursor_is_dragged_on_traces_and_bar(opened):
    tab = opened("t=5")
    left, top, width, height = tab.box(".plot .u-over")
    tab.click(left + width / 2, top + height / 2)
    assert state(tab)["t_s"] == pytest.approx(30.0, abs=0.2)
    left, top, width, height = tab.box(".plot .u-over", 1)
    tab.drag((left + width / 4, top + height / 2), (left + width / 3, top + height / 2))
    assert state(tab)["t_s"] == pytest.approx(20.0, abs=0.2)
    left, top, width, height = tab.box(".scrub")
    tab.click(left + 0.75 * width, top + height / 2)
    assert state(tab)["t_s"] == pytest.approx(45.0, abs=0.2)


def test_a_satellite_is_chosen_with_a_click_and_named_in_the_address(opened):
    tab = opened("t=19.8&lon=60&lat=50&zoom=1")
    left, top, *_ = tab.box(".globe")
    place = tab.run("leowarp.places()")["s-01-06"]
    tab.click(left + place["x"], top + place["y"])
    assert state(tab)["satellite"] == "s-01-06"
    assert "s-01-06" in tab.text(".chosen h2")
    assert "sat=s-01-06" in tab.run("location.hash")
    tab.key("Escape")
    assert state(tab)["satellite"] == ""


def test_a_link_tells_its_queue_drops_and_flows(opened):
    tab = opened("t=19.8")
    tab.click_on(".hops tbody tr", 1)
    assert state(tab)["link"] == ["s-00-00", "s-01-00"]
    told = tab.text(".chosen")
    assert f"{QUEUE_PKTS} of" in told
    assert "flows on it now0" in told
    # three packets are dropped at 50 s
    tab.run("leowarp.chooseLink('Madrid', 's-03-00'), leowarp.seek(50.2), leowarp.drawNow()")
    assert "dropped until now3" in tab.text(".chosen")


def test_an_address_shows_the_same_again(opened):
    tab = opened("t=20.01")
    tab.run("leowarp.look(100, -20, 2.5), leowarp.chooseSatellite('s-04-10'), leowarp.setSpan(10)")
    # When the page is drawn, its time span is set to begin at the instant that the page shows. On a busy machine, the
    # browser may not have drawn a frame by itself when the script continues.
    tab.run("leowarp.drawNow(), leowarp.writeHash(true)")
    fragment = tab.run("location.hash").removeprefix("#")
    again = opened(fragment)
    again.run("leowarp.drawNow()")
    assert state(again) == state(tab)
    assert again.run("leowarp.places()") == tab.run("leowarp.places()")
    assert again.run("location.hash") == f"#{fragment}"


def test_an_address_that_means_nothing_shows_the_run(opened):
    tab = opened("t=nonsense&sat=%3Cimg%20src=x%3E&link=a&flow=99&speed=7&zoom=-3&lon=1e999&lat=0")
    now = state(tab)
    assert (now["satellite"], now["link"], now["flow"]) == ("", None, 0)
    assert tab.complaints == []


def test_the_globe_is_turned_by_dragging(opened):
    tab = opened("t=20&lon=0&lat=0&zoom=1")
    left, top, width, height = tab.box(".globe")
    middle = (left + width / 2, top + height / 2)
    tab.drag(middle, (middle[0] + 60, middle[1]))
    assert tab.run("leowarp.camera.lon") < -5


def test_runs_are_compared_with_one_clock(browser, run_dir, synthetic, tmp_path):
    other = synthetic(PLAN_TOML.replace('"cubic"', '"reno"'))
    page = view.write_view([run_dir, other], tmp_path / "both.html")
    tab = browser.open(f"{page.as_uri()}#t=20")
    assert tab.run("document.querySelectorAll('.globe').length") == 2
    tab.key("ArrowRight")
    assert state(tab, 0)["t_s"] == state(tab, 1)["t_s"] == CHANGES_S[1]
    assert state(tab, 0)["path"] == state(tab, 1)["path"] == list(PATHS[2])
    told = tab.text(".plot-head")
    assert "cubic" in told
    assert "reno" in told
    assert tab.complaints == []


def test_the_mode_of_bbr_is_shown_in_words(browser, tmp_path):
    page = view.write_view([write_synthetic_bbr(tmp_path / "bbr")], tmp_path / "view.html")
    tab = browser.open(f"{page.as_uri()}#t=0.5")
    for t_ns, mode in MODES_NS.items():
        at(tab, t_ns / 1e9 + 0.5)
        heads = tab.run("Array.from(document.querySelectorAll('.plot-head'), (head) => head.textContent)")
        assert f"mode of BBRmode {mode}" in heads
    assert tab.complaints == []


def test_a_notebook_shows_the_page_in_a_frame(browser, run_dir, tmp_path):
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><body>{leowarp.open(run_dir).view()._repr_html_()}</body>")
    tab = browser.open(notebook.as_uri(), ready="document.querySelector('iframe')")
    frame = tab.frame()
    frame.wait("window.leowarp && leowarp.frames.count > 0")
    frame.run("leowarp.pause()")
    assert frame.complaints == []


def test_names_of_a_plan_are_no_markup(browser, synthetic, tmp_path):
    hostile = "</script><img src=x onerror=window.hacked=1><b>"
    # A station name must not contain ">". The tag in `name` could therefore be closed only by a ">" in the text after
    # the name.
    name = '<img src=x onerror=window.hacked=1 a="&quot;'
    station = f'[[stations]]\nname = \'{name}\'\nlatitude = "10 deg"\nlongitude = "60 deg"\n'
    flow = f'[[flows]]\nsource = \'{name}\'\ndestination = "Tokyo"\nkind = "ping"\n'
    run_dir = synthetic(f"{PLAN_TOML}\n{station}\n{flow}", warning=hostile)
    page = view.write_view([run_dir], tmp_path / "hostile.html")
    assert hostile not in page.read_text()
    assert name not in page.read_text()
    tab = browser.open(f"{page.as_uri()}#t=20&flow=1")
    assert hostile in tab.text(".warnings")
    assert name in tab.text(".flow")
    assert tab.run("[window.hacked ?? null, document.querySelectorAll('img, main b b').length]") == [None, 0]
    assert tab.complaints == []


def test_an_access_link_is_shown_without_a_globe(browser, access_dir, tmp_path):
    page = view.write_view([access_dir], tmp_path / "access.html")
    tab = browser.open(f"{page.as_uri()}#t=1")
    assert tab.run("document.querySelectorAll('.globe').length") == 0
    assert "No reconfiguration yet." in tab.text(".now")
    tab.key("ArrowRight")
    assert "Reconfiguration at 12 s" in tab.text(".now")
    assert tab.complaints == []


@pytest.mark.parametrize(("size", "dark"), [((400, 800), False), ((1600, 1000), True)])
def test_the_page_fits_its_window(opened, size, dark):
    tab = opened("t=20.01", size=size, dark=dark)
    assert tab.run("document.documentElement.scrollWidth") <= size[0]
    assert tab.complaints == []
