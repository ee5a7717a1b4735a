# SPDX-License-Identifier: Apache-2.0
"""Tests that a summary without a stored run equals the summary of the complete run. Also tests that a failed run does
not affect the other runs."""

from pathlib import Path

import pytest

from leowarp import ephemeris, guest, media, scenario
from leowarp.base.errors import GuestError
from leowarp.running import summaries

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
JITTERED = """
name = "one"
[run]
duration = "30 s"
ends = "flows"
[jittered]
jitter = "1 ms"
[[flows]]
source = "A"
destination = "B"
size = "2 MB"
congestion_control = "westwood"
"""


def plan_of(folder: Path, **settings):
    path = folder / "scenario.toml"
    path.write_text(JITTERED)
    return scenario.resolve(scenario.load(path, {key.replace("__", "."): value for key, value in settings.items()}))


def without_costs(summary: dict) -> dict:
    return {**summary, "cpu_s": 0, "wall_s": 0}


def test_a_run_that_fails_takes_no_other_with_it(tmp_path):
    good = plan_of(tmp_path)
    bad = plan_of(tmp_path, tcp__sysctl={"net.ipv4.tcp_no_such_thing": "1"})
    first, failed, last = summaries.make([good, bad, good], tmp_path / "scratch")
    assert [each.index for each in (first, failed, last)] == [0, 1, 2]
    assert first.error is None
    assert first.summary["flows"][0]["bytes"] == 2_000_000
    assert isinstance(failed.error, GuestError)
    assert "tcp_no_such_thing" in str(failed.error)
    assert without_costs(first.summary) == without_costs(last.summary)


def test_a_summary_alone_and_a_run_directory_have_the_same_numbers(tmp_path):
    plan, kept = plan_of(tmp_path), tmp_path / "kept"
    summed, whole = summaries.make([plan, plan], tmp_path / "scratch", out=[None, kept])
    assert without_costs(summed.summary) == without_costs(whole.summary)
    assert summed.costs.keys() == whole.costs.keys()
    assert summed.costs["cpu_s"] == pytest.approx(summed.costs["guest_cpu_s"] + summed.costs["host_cpu_s"], abs=0.002)
    assert (kept / "manifest.json").is_file()


def test_a_run_finds_nothing_of_the_run_before_it(tmp_path):
    # The first plan has rows of capacity (tables.bin), and the second plan has a module's parameter. The third plan has
    # neither
    path = EXAMPLES / "starlink-new-york-london.toml"
    tables = scenario.resolve(scenario.load(path, {"run.duration": "2 s"}))
    other = plan_of(
        tmp_path, modules__tcp_cubic={"hystart": "0", "initial_ssthresh": "10"}, flows__0__congestion_control="cubic"
    )
    plain = plan_of(tmp_path, flows__0__congestion_control="cubic")
    *before, last = summaries.make([tables, other, plain], tmp_path / "scratch")
    (alone,) = summaries.make([plain], tmp_path / "alone")
    assert [each.error for each in before] == [None, None]
    assert without_costs(last.summary) == without_costs(alone.summary) != without_costs(before[1].summary)


def test_a_run_that_runs_out_of_memory_says_what_to_type(tmp_path):
    # 4,408 satellites need some 600 MiB, so this run fails.
    settings = {"run.duration": "1 s", "network.instantiate": "all", "guest.memory": "128 MiB"}
    plan = scenario.resolve(scenario.load(EXAMPLES / "starlink-gen1.toml", settings))
    timeline = media.timeline_of(plan, ephemeris.ephemeris_of(plan))
    with pytest.raises(GuestError, match="the guest ran out of memory") as raised:
        guest.run(guest.guest_image("default"), plan, timeline, tmp_path)
    assert "guest.memory" in raised.value.hint
