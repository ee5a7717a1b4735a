# SPDX-License-Identifier: Apache-2.0
"""Run a fuzz target in rounds. Each round runs `tests/fuzz` with a new seed. The script ends when the time is over, or
when a round fails.

python tools/fuzz.py --seconds 600 --target elements
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES_OF_ROUND = 2000
"""The number of examples per round. The number is large. The start of a process therefore takes only a small share of a
round's time."""


def main() -> int:
    """Run rounds until the time is over. Return the first failed round's exit status, and print its seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="no round begins later than this (default: 10)")
    parser.add_argument("--target", default="", help="only targets with this in their names, as pytest's -k")
    parser.add_argument("--examples", type=int, default=EXAMPLES_OF_ROUND, help="inputs of each target in a round")
    given = parser.parse_args()
    end_s, rounds = time.monotonic() + given.seconds, 0
    while rounds == 0 or time.monotonic() < end_s:
        seed = secrets.randbelow(2**31)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "tests/fuzz",
            "-k",
            given.target,
            f"--hypothesis-seed={seed}",
        ]
        settings = os.environ | {"LEOWARP_FUZZ_EXAMPLES": str(given.examples)}
        made = subprocess.run(command, cwd=ROOT, env=settings, check=False)
        if made.returncode:
            print(f"again: LEOWARP_FUZZ_EXAMPLES={given.examples} {' '.join(command[1:])}", file=sys.stderr)
            return made.returncode
        rounds += 1
    print(f"fuzz: {rounds} rounds of {given.examples} inputs of each target, none failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
