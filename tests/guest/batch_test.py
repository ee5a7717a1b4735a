# SPDX-License-Identifier: Apache-2.0
"""Several runs in one boot: each as if it were alone, and none the worse for another's failure."""

from pathlib import Path

import pytest

from leowarp import ephemeris, guest, media, scenario
from leowarp.errors import GuestError
from leowarp.running import shared_boot
from leowarp.scenario.schema import CONGESTION_CONTROLS

pytestmark = pytest.mark.guest

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
LOSSY_CHAIN = """
name = "two"
[run]
duration = "3 s"
[chain]
hops = 2
loss = "0.5 %"
[[flows]]
source = "A"
destination = "B"
congestion_control = "cubic"
"""


def plan_of(folder: Path, text: str, **settings):
    path = folder / "scenario.toml"
    path.write_text(text)
    return scenario.resolve(scenario.load(path, {key.replace("__", "."): value for key, value in settings.items()}))


def records(plans, folder: Path) -> list[dict[str, bytes]]:
    """Every record file of each run of a batch."""
    runs = []
    for plan in plans:
        sky = ephemeris.ephemeris_of(plan)
        runs.append((plan, media.timeline_of(plan, sky)))
    made = guest.run_batch(guest.guest_image("default"), runs, folder)
    return [{path.name: path.read_bytes() for path in sorted(result.out_dir.iterdir())} for result in made]


def test_a_run_gives_the_same_bytes_wherever_in_a_batch_it_stands(tmp_path):
    one, two = plan_of(tmp_path, JITTERED), plan_of(tmp_path, LOSSY_CHAIN, run__seed=5)
    other = plan_of(tmp_path, JITTERED, run__seed=2)
    alone = [*records([one], tmp_path / "a"), *records([two], tmp_path / "b")]
    assert len(alone[0]["packets.rec"]) > 10_000
    # the kernel reseeds its random pool at 10.1, 15.2, 22.8, ... s after boot: some run has it in its midst
    together = records([one, two, other, two, one], tmp_path / "c")
    assert [together[i] == alone[k] for i, k in ((0, 0), (1, 1), (3, 1), (4, 0))] == [True] * 4
    assert together[2]["packets.rec"] != alone[0]["packets.rec"]


def test_a_run_that_fails_takes_no_other_with_it(tmp_path):
    good = plan_of(tmp_path, JITTERED)
    bad = plan_of(tmp_path, JITTERED, tcp__sysctl={"net.ipv4.tcp_no_such_thing": "1"})
    made = {each.index: each for each in shared_boot.make([good, bad, good], tmp_path / "scratch")}
    assert made[0].error is None
    assert made[0].summary["flows"][0]["bytes"] == 2_000_000
    assert isinstance(made[1].error, GuestError)
    assert "tcp_no_such_thing" in str(made[1].error)
    first, last = ({**made[i].summary, "cpu_s": 0, "wall_s": 0} for i in (0, 2))
    assert first == last


def test_a_batch_and_a_run_directory_come_to_the_same_numbers(tmp_path):
    plan = plan_of(tmp_path, JITTERED)
    kept = tmp_path / "kept"
    summed, whole = shared_boot.make([plan, plan], tmp_path / "scratch", out=[None, kept])
    if summed.index == 1:
        summed, whole = whole, summed
    without_cost = {"cpu_s": 0, "wall_s": 0}
    assert {**summed.summary, **without_cost} == {**whole.summary, **without_cost}
    assert (kept / "manifest.json").is_file()


def test_what_draws_from_the_random_pool_has_a_boot_of_its_own(tmp_path):
    assert shared_boot.shareable(plan_of(tmp_path, JITTERED))
    assert not shared_boot.shareable(plan_of(tmp_path, JITTERED, flows__0__congestion_control="bbr"))
    assert not shared_boot.shareable(plan_of(tmp_path, LOSSY_CHAIN, network__neighbours="arp"))
    assert set(CONGESTION_CONTROLS) - {"bbr", "bbr_handover", "cdg"} == shared_boot.WITHOUT_RANDOM_NUMBERS
