# SPDX-License-Identifier: Apache-2.0
"""What the cures ask of the rest of a scenario; every mistake says what to write."""

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
    ("keys", "key", "said"),
    [
        (["cures.hold=true", "network.link_model=netem"], "cures.hold", "netem gives nothing back"),
        (["cures.move_queue=kept", "network.neighbours=arp"], "cures.move_queue", "neighbours"),
        (["cures.hold=true", "isl.queue_discipline=fq_codel"], "cures.hold", "fq_codel has an order of its own"),
        (["cures.hold=true", "ground.queue_discipline=cake"], "cures.hold", "cake has an order of its own"),
        (["cures.move_queue=kept", "routing.in_flight=source"], "cures.move_queue", "keep the path"),
        (["cures.hold=true", "routing.in_flight=drop"], "cures.hold", "nothing is to wait for"),
        (["cures.hold=true", "cures.hold_buffer=300 MB"], "cures.hold_buffer", "a quarter of the guest's memory"),
        (["cures.hold_full=send"], "cures.hold_full", "has no effect without hold"),
        (["cures.hold_buffer=5 kB"], "cures.hold_buffer", "has no effect without hold"),
        (["cures.hold=true", "cures.hold_buffer=100 B"], "cures.hold_buffer", "1600 B"),
        (["cures.resequence_delay=5 ms"], "cures.resequence_delay", "has no effect alone"),
        (["cures.resequence=flow", "cures.resequence_delay=0 s"], "cures.resequence_delay", "1 us"),
        (["cures.resequence=flow", "cures.resequence_delay=200 ms"], "cures.resequence_delay", "199 ms"),
        (["cures.resequence=flow", "network.endpoints=satellites"], "cures.resequence", "number nothing"),
        (["cures.resequence=flow", "ground.queue_discipline=cake"], "cures.resequence", "cake has an order"),
        (["cures.move_queue=yes"], "cures.move_queue", "off, kept, lost"),
        (["routing.margin=-1 %"], "routing.margin", "0 %"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path, keys, key, said):
    [problem] = problems_of(write(tmp_path, GOOD), keys)
    assert problem.key == key
    assert said in f"{problem.rule} {problem.hint}"


def test_a_path_that_never_changes_has_nothing_to_cure(tmp_path):
    chain = 'name = "c"\n[chain]\n[cures]\nhold = true\n[[flows]]\nsource = "A"\ndestination = "B"\n'
    [problem] = problems_of(write(tmp_path, chain))
    assert (problem.key, "[chain]" in problem.rule) == ("cures.hold", True)
