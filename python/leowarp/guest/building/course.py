# SPDX-License-Identifier: Apache-2.0
"""Estimates the progress of a kernel build from its output: the number of steps, and their share of the total time.

Compiling a file in `net/` takes several times as long as compiling a file in `lib/`. Making an archive takes almost no
time. `bench/kernel_build.py` measured the share of the total time that each number of steps takes.
"""

import os
import re
import time
from bisect import bisect
from collections.abc import Callable

from leowarp.base.progress import BuildProgress

# The number of steps in one build with guest/kernel.config, counted for Linux 6.12.117. kbuild prints one line per
# step.
STEPS = 1160
# The first number of each pair is the number of steps printed so far. The second is the share of all steps' processor
# time that has been used by then.
CURVE = (
    (0, 0.0), (97, 0.013), (194, 0.057), (291, 0.145), (388, 0.29), (485, 0.401), (582, 0.472), (679, 0.491),
    (776, 0.547), (873, 0.593), (970, 0.597), (1067, 0.81), (STEPS, 1.0),
)  # fmt: skip
# Processor time in s of unpacking, compiling and packing; only the ratios matter. Unpacking and packing use one core,
# compiling uses all.
UNPACK_S, COMPILE_S, PACK_S = 22.0, 480.0, 5.0
# Pattern of a line that kbuild prints for one step; in each step, kbuild makes one file.
STEP = re.compile(r"^  [A-Z][A-Z0-9]*( \[M\])? +\S")

OnProgress = Callable[[BuildProgress], None]


class Course:
    """Reports the progress of a build to `on_progress`.

    on_progress: A function that is called for each step, and a few times per second while the source is unpacked.
    """

    def __init__(self, on_progress: OnProgress, clock: Callable[[], float] = time.monotonic) -> None:
        self._on_progress = on_progress
        self._clock = clock
        self._began_s = self._stage_began_s = clock()
        self._began_share: float | None = None
        self._stage = ""
        self._steps = 0
        compile_s = COMPILE_S / jobs()
        whole_s = UNPACK_S + compile_s + PACK_S
        self._ends = {"unpack": UNPACK_S / whole_s, "compile": (UNPACK_S + compile_s) / whole_s, "pack": 1.0}

    def unpacked(self, done_bytes: int, whole_bytes: int) -> None:
        """Record how many of the compressed tarball's bytes were read so far."""
        done = done_bytes / max(1, whole_bytes)
        self._tell("unpack", round(100 * done), 100, done * self._ends["unpack"])

    def printed(self, line: str) -> None:
        """Process a line from kbuild (a step) or from guest/build.sh ("leowarp: pack"). Other lines are ignored."""
        if line.startswith("leowarp: pack"):
            self._tell("pack", self._steps, max(self._steps, STEPS), self._ends["compile"])
        elif STEP.match(line):
            self._steps += 1
            begin, end = self._ends["unpack"], self._ends["compile"]
            share = begin + share_of_steps(self._steps) * (end - begin)
            # The user's kernel tree may have more than `STEPS` steps. Steps beyond `STEPS` add no progress.
            self._tell("compile", self._steps, max(self._steps, STEPS), share)

    def _tell(self, stage: str, done: int, expected: int, share: float) -> None:
        now_s = self._clock()
        if stage != self._stage:
            self._stage, self._stage_began_s = stage, now_s
        # If the source is already unpacked, the progress begins at the share that unpacking would take.
        if self._began_share is None:
            self._began_share = 0.0 if stage == "unpack" else self._ends["unpack"]
        done_share = (share - self._began_share) / (1 - self._began_share)
        self._on_progress(
            BuildProgress(stage, done, expected, done_share, now_s - self._began_s, now_s - self._stage_began_s)
        )


def share_of_steps(steps: int) -> float:
    """Return the share of a build's total processor time that the first `steps` steps take, from 0 to 1. It is
    interpolated linearly between the points of `CURVE`. A newer kernel tree can have more than `STEPS` steps.

    >>> share_of_steps(0), share_of_steps(582), share_of_steps(5000)
    (0.0, 0.472, 1.0)
    """
    place = bisect(CURVE, (steps, 2.0))
    if place == len(CURVE):
        return 1.0
    (x0, y0), (x1, y1) = CURVE[place - 1], CURVE[place]
    return y0 + (y1 - y0) * (steps - x0) / (x1 - x0)


def jobs() -> int:
    """Return the number of compilers that a build runs in parallel. guest/build.sh uses the same value."""
    return max(1, int(os.environ.get("LEOWARP_JOBS") or len(os.sched_getaffinity(0))))
