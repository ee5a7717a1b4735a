# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.base.progress import BuildProgress
from leowarp.guest.building import course
from leowarp.guest.building.course import CURVE, STEP, STEPS, Course, share_of_steps


class Machine:
    """A clock whose time the test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setenv("LEOWARP_JOBS", "2")
    return []


def build(told: list[BuildProgress], cost_s: float, *, from_kept_tree: bool = False) -> list[float]:
    """Return the predictions of a build's end time in s, one for each step of the build. The simulated build has the
    measured course, but all its times are multiplied by `cost_s`."""
    clock = Machine()
    watched = Course(told.append, clock)
    if not from_kept_tree:
        for per_cent in range(1, 101):
            clock.now_s += course.UNPACK_S * cost_s / 100
            watched.unpacked(per_cent, 100)
    begin_s = clock.now_s
    for step in range(1, STEPS + 1):
        clock.now_s = begin_s + share_of_steps(step) * course.COMPILE_S / 2 * cost_s
        watched.printed(f"  CC      file{step}.o\n")
        watched.printed("make[2]: Entering directory\n")
    watched.printed("leowarp: pack\n")
    clock.now_s += course.PACK_S * cost_s
    return [at.wall_s + at.left_s for at in told if at.left_s is not None] + [clock.now_s - 100.0]


@pytest.mark.parametrize("cost_s", [1.0, 5.0])
@pytest.mark.parametrize("from_kept_tree", [False, True])
def test_the_end_that_is_foreseen_is_the_end(told, cost_s, from_kept_tree):
    *foreseen, end_s = build(told, cost_s, from_kept_tree=from_kept_tree)
    assert len(foreseen) > STEPS / 2
    assert foreseen == pytest.approx([end_s] * len(foreseen), rel=0.05)


def test_steps_are_counted_and_a_longer_build_never_has_more_done_than_expected(told):
    watched = Course(told.append)
    for step in range(STEPS + 7):
        watched.printed(f"  LD [M]  file{step}.ko\n")
    assert (told[0].done, told[0].expected) == (1, STEPS)
    assert (told[-1].done, told[-1].expected) == (STEPS + 7, STEPS + 7)
    assert all(0 <= at.share <= 1 for at in told)
    assert [at.share for at in told] == sorted(at.share for at in told)


def test_the_curve_rises_from_nothing_to_all():
    assert CURVE[0] == (0, 0.0)
    assert CURVE[-1] == (STEPS, 1.0)
    assert list(CURVE) == sorted(CURVE)
    assert [share for _, share in CURVE] == sorted(share for _, share in CURVE)


def test_steps_of_a_log():
    log = "make: Entering\n  CC      a.o\n  LD [M]  b.ko\nleowarp: pack\n  warning\n"
    assert [line for line in log.splitlines() if STEP.match(line)] == ["  CC      a.o", "  LD [M]  b.ko"]
