# SPDX-License-Identifier: Apache-2.0
"""Tests that a list that is too long is rejected before it is parsed."""

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import document, load
from leowarp.scenario.text.counts import MOST_FLOWS, MOST_STATIONS

FLOW = '[[flows]]\nsource = "A"\ndestination = "B"\n'
INLINE = '{source = "A", destination = "B"}'


@pytest.mark.parametrize(
    "text",
    [
        "[chain]\n" + FLOW * (MOST_FLOWS + 1),
        "[chain]\n" + FLOW.replace("[[flows]]", " [[ flows ]] # one") * (MOST_FLOWS + 1),
        "flows = [" + ",".join([INLINE] * (MOST_FLOWS + 1)) + "]\n[chain]\n",
    ],
    ids=["headers", "blanks", "inline"],
)
def test_too_many_flows_are_refused_before_any_of_them_is_looked_at(text, tmp_path, monkeypatch):
    monkeypatch.setattr(document, "plant", lambda *_: pytest.fail("the flows were taken apart"))
    (tmp_path / "a.toml").write_text('name = "x"\n' + text)
    with pytest.raises(ScenarioError, match=r"20,001 flows, and at most 20,000 are possible") as caught:
        load(tmp_path / "a.toml")
    assert "traffic" in str(caught.value.hint)


def test_too_many_stations_are_refused_too(tmp_path):
    (tmp_path / "a.toml").write_text('name = "x"\n' + '[[stations]]\nname = "a"\n' * (MOST_STATIONS + 1))
    with pytest.raises(ScenarioError, match="5,001 stations, and at most 5,000"):
        load(tmp_path / "a.toml")


def test_as_many_as_are_possible_are_read(tmp_path):
    text = 'name = "x"\n[run]\nduration = "1 s"\n[chain]\n' + FLOW * 50
    (tmp_path / "a.toml").write_text(text)
    assert len(load(tmp_path / "a.toml").flows) == 50
