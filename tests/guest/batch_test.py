# SPDX-License-Identifier: Apache-2.0
"""Several runs in one boot: each as if it were alone, and none the worse for another's failure."""

import re
from pathlib import Path

import pytest

from leowarp import ephemeris, guest, media, scenario
from leowarp.errors import GuestError
from leowarp.running import shared_boot

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


EXAMPLES = Path(__file__).parents[2] / "examples"


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


@pytest.mark.parametrize(("example", "duration"), [("one-change", "40 s"), ("starlink-new-york-london", "6 s")])
def test_a_run_by_itself_is_the_run_of_a_batch(tmp_path, example, duration):
    # Where threads of the agent wake at one instant: as the route changes a ping leaves, or a call is due.
    plan = scenario.resolve(scenario.load(EXAMPLES / f"{example}.toml", {"run.duration": duration}))
    timeline = media.timeline_of(plan, ephemeris.ephemeris_of(plan))
    (tmp_path / "alone").mkdir()
    result = guest.run(guest.guest_image("default"), plan, timeline, tmp_path / "alone")
    alone = {path.name: path.read_bytes() for path in result.out_dir.iterdir()}
    (in_batch,) = records([plan], tmp_path / "batch")
    assert len(alone["bins.rec"]) > 10_000
    assert [name for name, content in alone.items() if content != in_batch[name]] == []


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


def test_a_run_that_runs_out_of_memory_says_what_to_type_by_itself_and_in_a_batch(tmp_path):
    # 4,408 satellites need some 600 MiB; the kernel ends the process of the run, not the guest's first.
    settings = {"run.duration": "1 s", "network.instantiate": "all", "guest.memory": "128 MiB"}
    plan = scenario.resolve(scenario.load(EXAMPLES / "starlink-gen1.toml", settings))
    timeline = media.timeline_of(plan, ephemeris.ephemeris_of(plan))
    (tmp_path / "alone").mkdir()
    with pytest.raises(GuestError, match="ended by signal 9") as alone:
        guest.run(guest.guest_image("default"), plan, timeline, tmp_path / "alone")
    (in_batch,) = guest.run_batch(guest.guest_image("default"), [(plan, timeline)], tmp_path / "batch")
    assert [alone.value.hint, in_batch.hint] == ["the guest is out of memory; raise guest.memory"] * 2


def test_a_batch_and_a_run_directory_come_to_the_same_numbers(tmp_path):
    plan = plan_of(tmp_path, JITTERED)
    kept = tmp_path / "kept"
    summed, whole = shared_boot.make([plan, plan], tmp_path / "scratch", out=[None, kept])
    if summed.index == 1:
        summed, whole = whole, summed
    without_cost = {"cpu_s": 0, "wall_s": 0}
    assert {**summed.summary, **without_cost} == {**whole.summary, **without_cost}
    assert (kept / "manifest.json").is_file()


def test_random_numbers_of_the_kernel_begin_anew_with_each_run(tmp_path):
    # BBR draws where its cycle begins by the run's seed, not by that of the boot: that of its first run.
    bbr = [plan_of(tmp_path, LOSSY_CHAIN, run__seed=seed, flows__0__congestion_control="bbr") for seed in (1, 2, 3)]
    alone = [records([plan], tmp_path / f"alone-{plan.run.seed}")[0]["sockets.rec"] for plan in bbr]
    assert len(set(alone)) == len(bbr)
    together = records([*bbr, *bbr], tmp_path / "together")
    assert [run["sockets.rec"] for run in together] == [*alone, *alone]
    # A writer that finds no memory waits by chance (sk_stream_wait_memory, net/core/stream.c): Reno's of this seed does
    # at once, and the second run of a boot went on with the numbers of the first.
    settings = {"run.seed": 1, "run.duration": "3 s", "mobile.snr": "11 dB"}
    waits = scenario.resolve(scenario.load(EXAMPLES / "mobile-tcp.toml", settings))
    first, *others = records([waits] * 3, tmp_path / "waits")
    assert others == [first, first]


def test_keys_that_the_kernel_draws_once_are_drawn_once_a_run(tmp_path):
    def first_time_stamp(run: dict[str, bytes]) -> int:
        # Of the SYN (RFC 7323, 3.2: kind, length, TSval, no TSecr yet): ms since the boot, and an offset by a key.
        return int.from_bytes(re.search(rb"\x08\x0a(.{4})\0{4}", run["source.pcapng"], re.DOTALL)[1])

    one, two = (plan_of(tmp_path, LOSSY_CHAIN, run__seed=seed, observe__pcap="source") for seed in (1, 2))
    alone, (first, second) = records([two], tmp_path / "alone")[0], records([one, two], tmp_path / "together")
    # Its start is later by whole times 4.096 s; by no key of another run would the rest be the same.
    later = (first_time_stamp(second) - first_time_stamp(alone)) % 2**32
    assert later % 4096 == 0
    assert 0 < later < 100_000
    assert (first_time_stamp(first) - first_time_stamp(alone)) % 4096 != 0


def test_the_scheduler_owes_nobody_for_what_ran_before(tmp_path):
    # ksoftirqd outlives a run. After the first of these it was owed processor time, and in the second it came before a
    # reader that was woken at the same instant (guest/sched/lag.c): a packet left 256 ns earlier.
    settings = {"run.seed": 3, "jittered.distribution": "normal"}
    first, second = (
        scenario.resolve(scenario.load(EXAMPLES / "jittered-transfer.toml", {**settings, "jittered.jitter": jitter}))
        for jitter in ("300 us", "600 us")
    )
    (alone,) = records([second], tmp_path / "alone")
    assert records([first, second], tmp_path / "together")[1] == alone


def test_memory_of_sockets_that_a_run_left_uncounted_is_none_of_the_next(tmp_path):
    # Up to 1 MiB either way (guest/tcp/memory.c), here a third of what TCP may have: the second run met that later.
    limited = {"guest.sysctl": {"net.ipv4.tcp_mem": "300 500 700"}, "chain.loss": "0.02 %", "chain.delay": "30 ms"}
    first, second = (
        plan_of(tmp_path, LOSSY_CHAIN.replace("cubic", congestion_control), **{"run.seed": seed, **limited})
        for seed, congestion_control in ((1, "cubic"), (2, "reno"))
    )
    (alone,) = records([second], tmp_path / "alone")
    assert records([first, second], tmp_path / "together")[1] == alone


def test_what_is_older_than_a_run_keeps_it_from_sharing_a_boot(tmp_path):
    assert shared_boot.shareable(plan_of(tmp_path, JITTERED))
    assert not shared_boot.shareable(plan_of(tmp_path, LOSSY_CHAIN, network__neighbours="arp"))
