# SPDX-License-Identifier: Apache-2.0
"""An interactive program at a host of the guest: its command line, environment, input, and exit status."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.layout import GUEST
from leowarp.base.nodes import host_node
from leowarp.guest.boot.consoles import Outputs, Terminal
from leowarp.guest.setup.input import PROGRAMS_ENVIRONMENT, ROOTS
from leowarp.guest.user.boot_input import run
from leowarp.guest.user.programs import check_program, program_file

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest.building.image import GuestImage
    from leowarp.scenario import Plan

INPUT = "stdin"
"""Without a terminal, the shell reads this file in the guest's `in/` as its standard input."""
STORAGE_BYTES = 64 << 20
"""The maximum size of the files that the shell writes. A flow of kind program has the same limit."""

# EPOCHREALTIME has six decimals (bash(1)). The agent sets LEOWARP_START_US to the value of EPOCHREALTIME at time 0 of
# the run, in us.
_BASH_CLOCK = (
    "LEOWARP_US=$((${EPOCHREALTIME/./}-LEOWARP_START_US)); "
    'printf -v LEOWARP_S "%d.%06d" $((LEOWARP_US/1000000)) $((LEOWARP_US%1000000))'
)


@dataclass(frozen=True)
class Shell:
    """The program, and the host at which it runs.

    station: The station at whose host the program runs.
    command: The program and its arguments. An empty list means bash, or `/bin/sh` if bash is missing.
    is_terminal: Whether the program runs on the user's terminal.
    stdin: All bytes of the program's standard input, if the program does not run on a terminal.
    """

    station: str
    command: tuple[str, ...] = ()
    is_terminal: bool = False
    stdin: bytes | None = None
    rootfs: str | None = None
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        if self.command:
            return list(self.command)
        # The shell starts without the user's settings. The user's settings refer to files that the guest lacks. Any
        # output of these settings would also take virtual time.
        has_bash = program_file(self, "bash") is not None
        return ["bash", "--norc"] if has_bash and self.is_terminal else ["bash"] if has_bash else ["/bin/sh"]

    def variables(self) -> dict[str, str]:
        """Return the complete environment of the program. On a terminal, the environment includes the terminal's type
        and a prompt."""
        prompt = {
            "PS1": f"{self.station} ${{LEOWARP_S:+$LEOWARP_S s}}$ ",
            "PROMPT_COMMAND": _BASH_CLOCK,
            "TERM": os.environ.get("TERM", "dumb"),
        }
        return PROGRAMS_ENVIRONMENT | (prompt if self.is_terminal else {}) | dict(self.environment)

    def described(self, host_numbers: Mapping[str, int], size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Return the entry `shell` of `setup.json` (design/interfaces.md, section 4). `size` is the size of the
        terminal: rows, columns."""
        return {
            "at": host_numbers[host_node(self.station)],
            "command": self.words(),
            "environment": self.variables(),
            "root": f"/in/{ROOTS}/shell/.",
            "storage_bytes": STORAGE_BYTES,
            "terminal": None if size is None else {"rows": size[0], "columns": size[1]},
            "input": None if self.stdin is None else INPUT,
        }


def check_shell(shell: Shell) -> None:
    """Raise HostError if the shell's program is missing, or is for another processor."""
    check_program(shlex.join(shell.words()), shell)


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
