# SPDX-License-Identifier: Apache-2.0
"""Tests what the cures require from the rest of a scenario. Each mistake's message has a hint about what to write."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import GOOD, problems_of, write
from leowarp.scenario.schema import Cures


def test_cures_are_off_and_come_back_as_they_are_given(tmp_path):
    assert resolve(load(write(tmp_path, GOOD))).cures == Cures()
    keys = ["cures.move_queue=lost", "cures.hold=true", "cures.hold_buffer=5 kB", "cures.hold_full=send"]
    plan = resolve(load(write(tmp_path, GOOD), [*keys, "routing.margin=2 %"]))
    assert plan.cures == Cures(move_queue="lost", hold=True, hold_buffer_bytes=5000, hold_full="send")
    assert plan.routing.margin_ratio == 0.02
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


@pytest.mark.parametrize(
    ("keys", "cures"),
    [
        (["end_marker=true", "end_marker_wait=20 ms", "hold_buffer=5 kB", "hold=true", "move_queue=kept",
          "notify=true"],
         Cures(end_marker=True, end_marker_wait_ns=20_000_000, hold_buffer_bytes=5000, hold=True, move_queue="kept",
               notify=True)),
        (["duplicate=200 ms", "resequence=flow", "resequence_kind=advanced"],
         Cures(duplicate_ns=200_000_000, resequence="flow", resequence_kind="advanced")),
        (["notify=true", "notify_delay=5 ms", "notify_loss=10 %", "notify_false_interval=20 s"],
         Cures(notify=True, notify_delay_ns=5_000_000, notify_loss_ratio=0.1, notify_false_interval_ns=20_000_000_000)),
        (["notify=true", "notify_delay=-200 ms"], Cures(notify=True, notify_delay_ns=-200_000_000)),
    ],
)  # fmt: skip
def test_what_combines_comes_back_as_it_is_given_and_a_plan_names_nothing_idle(tmp_path, keys, cures):
    plan = resolve(load(write(tmp_path, GOOD), [f"cures.{key}" for key in keys]))
    assert plan.cures == cures
    text = plan.to_toml()
    assert resolve(load(write(tmp_path, text, "plan.toml"))) == plan
    assert ("notify_delay" in text, "end_marker_wait" in text) == (cures.notify, cures.end_marker)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        (["cures.hold=true", "network.link_model=netem"], "cures.hold", "netem gives nothing back"),
        (["cures.move_queue=kept", "network.neighbours=arp"], "cures.move_queue", "neighbours"),
        (["cures.hold=true", "isl.queue_discipline=fq_codel"], "cures.hold", "fq_codel has an order of its own"),
        (["cures.hold=true", "ground.queue_discipline=cake"], "cures.hold", "cake has an order of its own"),
        (["cures.move_queue=kept", "routing.in_flight=source"], "cures.move_queue", "keep the path"),
        (["cures.hold=true", "routing.in_flight=drop"], "cures.hold", "nothing is to wait for"),
        (["cures.hold=true", "cures.hold_buffer=300 MB"], "cures.hold_buffer", "a quarter of the guest's memory"),
        (["cures.resequence=flow", "cures.resequence_delay=60 ms", 'tcp.sysctl={"net.ipv4.tcp_rto_min_us" = "50000"}'],
         "cures.resequence_delay", "60 ms is not below the least retransmission timeout of a host, 50 ms"),
        (["cures.end_marker=true", "cures.end_marker_wait=50 ms",
          'hosts.Madrid.tcp.sysctl={"net.ipv4.tcp_rto_min_us" = "50000"}'],
         "cures.end_marker_wait", "its sender would time out meanwhile"),
        (["cures.hold_full=send"], "cures.hold_full", "has no effect without hold"),
        (["cures.hold_buffer=5 kB"], "cures.hold_buffer", "has no effect without hold or end_marker"),
        (["cures.hold=true", "cures.hold_buffer=100 B"], "cures.hold_buffer", "1600 B"),
        (["cures.resequence_delay=5 ms"], "cures.resequence_delay", "has no effect without resequence"),
        (["cures.resequence_kind=advanced"], "cures.resequence_kind", "has no effect without resequence"),
        (["cures.end_marker_wait=5 ms"], "cures.end_marker_wait", "has no effect without end_marker"),
        (["cures.notify_loss=5 %"], "cures.notify_loss", "has no effect without notify"),
        (["cures.notify_false_interval=5 s"], "cures.notify_false_interval", "write notify = true, too"),
        (["cures.end_marker=true", "cures.end_marker_wait=0 s"], "cures.end_marker_wait", "1 us"),
        (["cures.end_marker=true", "cures.end_marker_wait=200 ms"], "cures.end_marker_wait", "199 ms"),
        (["cures.end_marker=true", "routing.in_flight=drop"], "cures.end_marker", "the marker would be too"),
        (["cures.end_marker=true", "routing.in_flight=source"], "cures.end_marker", "keep the path"),
        (["cures.end_marker=true", "cures.hold_buffer=300 MB"], "cures.hold_buffer", "a quarter of the guest's"),
        (["cures.end_marker=true", "cures.resequence=flow"], "cures.resequence", "both put in order"),
        (["cures.duplicate=0 s"], "cures.duplicate", "1 ms"),
        (["cures.duplicate=1 s", "cures.hold=true"], "cures.duplicate", "held back comes later"),
        (["cures.duplicate=1 s", "cures.move_queue=kept"], "cures.duplicate", "copied back"),
        (["cures.duplicate=1 s", "cures.end_marker=true"], "cures.duplicate", "behind the marker"),
        (["cures.duplicate=1 s", "routing.in_flight=drop"], "cures.duplicate", "copies would be too"),
        (["cures.duplicate=1 s", "network.endpoints=satellites"], "cures.duplicate", "number nothing"),
        (["cures.duplicate=1 s", "network.link_model=netem"], "cures.duplicate", "netem gives nothing back"),
        (["cures.notify=true", "cures.notify_delay=-11 s"], "cures.notify_delay", "-10 s"),
        (["cures.notify=true", "cures.notify_delay=-5 s", "routing.interval=5 s"], "cures.notify_delay",
         "5 s before a change is not within the route interval before it, 5 s"),
        (["cures.notify=true", "routing.in_flight=source"], "cures.notify", "keep the path"),
        (["cures.notify=true", "network.link_model=netem"], "cures.notify", "netem"),
        (["cures.resequence=flow", "cures.resequence_kind=advanced", "routing.in_flight=source"],
         "cures.resequence_kind", "keep the path"),
        (["cures.resequence=flow", "cures.resequence_delay=0 s"], "cures.resequence_delay", "1 us"),
        (["cures.resequence=flow", "cures.resequence_delay=200 ms"], "cures.resequence_delay", "199 ms"),
        (["cures.resequence=flow", "network.endpoints=satellites"], "cures.resequence", "number nothing"),
        (["cures.resequence=flow", "ground.queue_discipline=cake"], "cures.resequence", "cake has an order"),
        (["cures.move_queue=yes"], "cures.move_queue", "off, kept, lost"),
        (["routing.margin=-1 %"], "routing.margin", "0 %"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path, keys, key, said):
    [problem] = problems_of(write(tmp_path, GOOD), keys)
    assert problem.key == key
    assert said in f"{problem.rule} {problem.hint}"


@pytest.mark.parametrize(
    "cure",
    [
        "move_queue = 'kept'",
        "hold = true",
        "end_marker = true",
        "duplicate = '1 s'",
        "resequence = 'flow'",
        "notify = true",
    ],
)
def test_a_path_that_never_changes_has_nothing_to_cure(tmp_path, cure):
    chain = f'name = "c"\n[chain]\n[cures]\n{cure}\n[[flows]]\nsource = "A"\ndestination = "B"\n'
    [problem] = problems_of(write(tmp_path, chain))
    assert (problem.key, "[chain]" in problem.rule) == (f"cures.{cure.split()[0]}", True)
