# SPDX-License-Identifier: Apache-2.0
"""Runs an interactive program at a host of the guest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base.layout import GUEST
from leowarp.guest.boot.consoles import Outputs, Terminal
from leowarp.guest.setup.input import ROOTS
from leowarp.guest.user.boot_input import run
from leowarp.guest.user.programs import INPUT, Shell

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest.building.image import GuestImage
    from leowarp.scenario import Plan


def run_shell(
    image: GuestImage, plan: Plan, timeline: pa.Table, run_dir: Path, shell: Shell,
    on_warning: Callable[[str], None],
) -> int:  # fmt: skip
    """Run `shell` in a guest with the network of `timeline`, and return its exit code. The shell uses the terminal of
    this process, or its standard input and outputs.

    plan: Its flows also run.
    run_dir: The directory in which the guest works.
    Raises LeowarpError for the same reasons as `run`. Raises GuestError also if the run ends before the shell does.
    """
    inputs = run_dir / GUEST / "in"
    terminal = Terminal(0, 1) if shell.is_terminal else None
    size = None if terminal is None else terminal.size
    (inputs / ROOTS).mkdir(parents=True)
    (inputs / ROOTS / "shell").symlink_to(shell.rootfs or "/")
    if shell.stdin is not None:
        (inputs / INPUT).write_bytes(shell.stdin)
    done = run(
        image, plan, timeline, run_dir, by_hand=lambda numbers: {"shell": shell.described(numbers, size)},
        consoles=terminal or Outputs(1, 2), on_warning=on_warning,
    )  # fmt: skip
    return int(done.end["exit_code"])
