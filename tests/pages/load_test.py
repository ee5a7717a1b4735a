# SPDX-License-Identifier: Apache-2.0
"""Tests that the page of `leowarp view` shows the load of all links on the globe and in a table. The page's address
must say which load is shown."""

import pytest

from leowarp import view
from support.synthetic.run import DROPPED_PKTS, FRAME_BYTES, PLAN_TOML, QUEUE_PKTS, RATE_BPS

pytestmark = pytest.mark.slow

BUSY = 1000 * FRAME_BYTES * 8 / RATE_BPS
LOADS = "document.querySelector('.load')"


def state(tab):
    return tab.run("leowarp.drawNow(), leowarp.state()")


def rows(tab):
    return tab.run(f"[...{LOADS}.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))")


def press(tab, name):
    tab.run(f"[...{LOADS}.querySelectorAll('button')].find((each) => each.textContent === {name!r}).click()")
    tab.run("leowarp.drawNow()")


def test_a_path_s_links_are_as_busy_as_its_sender_makes_them(opened):
    told = {(load["link"]["a"], load["link"]["b"]): load for load in state(opened("t=5.5&load=busy"))["loads"]}
    busy = sorted((round(load["busy"], 3) for load in told.values()), reverse=True)
    # data use four directions, and acknowledgements use the four opposite directions
    assert busy[:4] == [round(BUSY, 3)] * 4
    assert len(busy) == 8
    assert all(0.02 < value < 0.03 for value in busy[4:])


def test_the_table_is_sorted_by_what_the_globe_shows_and_heads_choose_it(opened):
    tab = opened("t=19.8&load=queue")
    assert rows(tab)[0] == ["s-00-00 → s-01-00", "102 %", str(QUEUE_PKTS), "0"]
    press(tab, "drops")
    assert state(tab)["load"] == "drops"
    tab.run("leowarp.seek(50.5)")
    assert state(tab)["loads"] is not None
    assert rows(tab)[0] == ["Madrid → s-03-00", "102 %", "0", str(DROPPED_PKTS)]
    assert "load=drops" in tab.run("leowarp.writeHash(true), location.hash")


def test_a_row_chooses_its_link_and_one_of_the_whole_run_its_second_too(opened):
    tab = opened("t=5.5&load=drops")
    press(tab, "whole run")
    assert rows(tab)[0][0] == "Madrid → s-03-00"
    tab.click_on(".load tbody tr", 0)
    now = state(tab)
    assert now["link"] == ["Madrid", "s-03-00"]
    assert now["t_s"] == 50.5
    assert f"dropped, this second{DROPPED_PKTS}" in tab.text(".chosen")
    assert tab.run("document.querySelectorAll('.load tr.picked').length") == 1


def test_a_satellite_has_the_most_of_its_links(opened):
    tab = opened("t=19.8&load=queue")
    press(tab, "satellites")
    assert rows(tab)[0][:3] == ["s-00-00", "102 %", str(QUEUE_PKTS)]
    tab.click_on(".load tbody tr", 0)
    assert state(tab)["satellite"] == "s-00-00"


def test_a_row_turns_the_globe_to_what_it_chooses(opened):
    tab = opened("t=19.8&load=busy")
    hidden = [lon for lon in range(-180, 180, 30) if not seen(tab, lon)]
    assert hidden
    tab.run(f"leowarp.look({hidden[0]}, 0, 1)")
    press(tab, "satellites")
    at = [row[0] for row in rows(tab)].index("s-00-00")
    tab.run(f"{LOADS}.querySelectorAll('tbody tr')[{at}].click()")
    assert tab.run("leowarp.places()['s-00-00'].visible")


def seen(tab, lon):
    return tab.run(f"leowarp.look({lon}, 0, 1), leowarp.places()['s-00-00'].visible")


def test_a_loaded_link_is_chosen_on_the_globe(opened):
    tab = opened("t=19.8&load=queue&lon=60&lat=50&zoom=1")
    left, top, *_ = tab.box(".globe")
    places = tab.run("leowarp.places()")
    a, b = (places[name] for name in ("s-00-00", "s-01-00"))
    assert a["visible"]
    assert b["visible"]
    tab.click(left + (a["x"] + b["x"]) / 2, top + (a["y"] + b["y"]) / 2)
    assert state(tab)["link"] == ["s-00-00", "s-01-00"]


COLOURS = """(() => { const c = document.querySelector('.globe'), g = c.getContext('2d');
    const data = g.getImageData(0, 0, c.width, c.height).data; let found = 0;
    const probe = document.createElement('i'); probe.style.color = 'var(--%s)'; document.body.append(probe);
    const [r, v, b] = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
    for (let i = 0; i < data.length; i += 4)
      found += Math.abs(data[i] - r) + Math.abs(data[i + 1] - v) + Math.abs(data[i + 2] - b) < 12;
    return found; })()"""


def test_what_is_busiest_is_drawn_in_the_colour_that_the_legend_names(opened):
    tab = opened("t=5.5&load=busy&lon=60&lat=50&zoom=1")
    state(tab)
    assert "80 % and more" in tab.text(".load-legend")
    assert tab.run(COLOURS % "full") > 200
    press(tab, "queue")
    assert tab.run(COLOURS % "full") == 0


def test_a_key_goes_through_the_loads_and_back_to_the_paths(opened):
    tab = opened("t=5.5")
    found = [state(tab)["load"]]
    for _ in range(4):
        tab.key("b")
        found.append(state(tab)["load"])
    assert found == [None, "busy", "queue", "drops", None]
    assert tab.run(f"{LOADS}.hidden")


def test_a_page_of_many_flows_begins_with_the_load(browser, synthetic, tmp_path):
    flow = '[[flows]]\nsource = "Madrid"\ndestination = "Tokyo"\n'
    page = view.write_view([synthetic(f'{PLAN_TOML}stop = "1 s"\n{8 * flow}')], tmp_path / "many.html")
    tab = browser.open(f"{page.as_uri()}#t=20")
    assert state(tab)["load"] == "busy"
    # several flows have the longest lifetime, and flow 1 is the first of them
    assert state(tab)["flow"] == 1
    fragment = tab.run("leowarp.setLoad(null), leowarp.drawNow(), leowarp.writeHash(true), location.hash")
    assert state(browser.open(page.as_uri() + fragment))["load"] is None
    # each such row of the page is a hyperlink to the flows on a network link
    tab.run("leowarp.chooseLink('s-00-00', 's-01-01'), leowarp.drawNow()")
    tab.run("document.querySelectorAll('.chosen tr.pick')[3].click()")
    assert state(tab)["flow"] == 4


def test_an_access_link_has_no_load_of_all_links(browser, access_dir, tmp_path):
    page = view.write_view([access_dir], tmp_path / "access.html")
    tab = browser.open(f"{page.as_uri()}#t=1&load=busy")
    assert state(tab)["load"] is None
    assert tab.complaints == []
