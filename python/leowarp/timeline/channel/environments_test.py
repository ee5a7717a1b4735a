# SPDX-License-Identifier: Apache-2.0
"""Tests of leowarp's parameter sets and of the user's own files."""

import json

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel.environments import environment, environments

GOOD = """
[[environments]]
name = "canyon"
elevation_deg = 55
states = [
  { name = "open", mean_db = 0, deviation_db = 0.5, multipath_db = -15 },
  { name = "shut", mean_db = -15, deviation_db = 3, multipath_db = -20 },
]
transitions = [[0.9, 0.1], [0.3, 0.7]]
correlation_m = 2
state_lengths_m = [5, 4]
transition_m = 3
"""


def written(tmp_path, text, name="mine.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# Published shares of the states. Parameter sets whose shares are not known are omitted. environments.toml names the
# publications.
PUBLISHED_SHARES = {
    ("intermediate-tree-shadowed", 40): (0.3929, 0.3571, 0.25),
    ("open", 40): (0.5, 0.375, 0.125),
    ("suburban", 40): (0.4545, 0.4545, 0.091),
    ("heavy-tree-shadowed", 40): (0.5, 0.5),
}


def test_the_chains_stationary_distribution_is_the_published_share_of_each_state():
    for (name, elevation), shares in PUBLISHED_SHARES.items():
        # Each transition is published with four digits.
        assert environment(name, elevation).state_shares == pytest.approx(shares, abs=5e-4), name


def test_every_row_of_ours_sums_to_one_and_names_its_source():
    entries = environments()
    assert len(entries) == 12
    for entry in entries:
        assert entry.chain.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert entry.source
        assert entry.state_shares @ entry.chain == pytest.approx(entry.state_shares, abs=1e-12)


def test_an_unknown_environment_or_elevation_lists_what_there_is():
    with pytest.raises(ScenarioError) as unknown:
        environment("intermediate-tree-shadow", 40)
    assert 'did you mean "intermediate-tree-shadowed"?' in str(unknown.value)
    assert "open (40/60/70/80 deg)" in str(unknown.value)
    with pytest.raises(ScenarioError) as between:
        environment("intermediate-tree-shadowed", 50)
    assert "elevation of 50 degrees" in str(between.value)
    assert "intermediate-tree-shadowed (40 deg)" in str(between.value)


def test_a_file_of_the_users_is_read_from_toml_and_from_json(tmp_path):
    canyon = environment("canyon", 55, written(tmp_path, GOOD))
    assert canyon.state_shares == pytest.approx((0.75, 0.25))
    assert [state.name for state in canyon.states] == ["open", "shut"]
    document = {
        "environments": [
            {
                "name": "canyon",
                "elevation_deg": 55,
                "states": [{"mean_db": -1, "deviation_db": 1, "multipath_db": -10}],
                "transitions": [[1]],
            }
        ]
    }
    alone = environment("canyon", 55, written(tmp_path, json.dumps(document), "mine.json"))
    assert alone.states[0].name == "state 1"
    assert alone.correlation_m is None
    assert alone.state_shares == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.9, 0.1]", "[0.9, 0.2]", "row 1 of `transitions` sums to 1.1, not to 1"),
        ("[0.9, 0.1]", "[1.1, -0.1]", "1.1 is not between 0 and 1"),
        ("[0.9, 0.1], [0.3, 0.7]", "[1, 0], [0, 1]", "from state 1 there is no way to state 2"),
        ("[0.9, 0.1], [0.3, 0.7]", "[0.9, 0.1]", "2 rows of 2 numbers"),
        ("correlation_m = 2", "correlation_m = 0", "correlation_m: 0 is not between"),
        ("correlation_m = 2", "corelation_m = 2", 'did you mean "correlation_m"?'),
        ("elevation_deg = 55", "elevation_deg = 95", "95 is not between 0 and 90"),
        ("mean_db = 0,", "", "`mean_db` is missing"),
        ("mean_db = 0,", 'mean_db = "0 dB",', "'0 dB' is not a number"),
        ("mean_db = 0,", "mean_db = nan,", "nan is not a number"),
        ("state_lengths_m = [5, 4]", "state_lengths_m = [5]", "not a list of 2 lengths"),
        ("[[environments]]", "[[environment]]", "no list `environments`"),
        ("= 55", "= ", "mine.toml"),
        ("correlation_m = 2", f"correlation_m = {10**400}", "correlation_m: 10000000000000000000 is not between"),
        ("correlation_m = 2", "correlation_m = inf", "inf is not a number"),
        ("states = [", "states = [" + "{ mean_db = 0 }, " * 126, "128 states, more than 127"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(ScenarioError) as error:
        environments(written(tmp_path, GOOD.replace(old, new, 1)))
    assert message in str(error.value)
    assert "mine.toml" in str(error.value)


def test_what_is_twice_in_a_file_or_no_file_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="twice"):
        environments(written(tmp_path, GOOD + GOOD))
    with pytest.raises(ScenarioError, match="No such file"):
        environments(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match=r"deep\.json"):
        environments(written(tmp_path, "[" * 100_000, "deep.json"))


def test_rounding_to_the_published_digits_is_divided_out(tmp_path):
    canyon = environments(written(tmp_path, GOOD.replace("[0.9, 0.1]", "[0.9001, 0.1]")))[0]
    assert canyon.chain.sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert np.all(canyon.chain >= 0)
