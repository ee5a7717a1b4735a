# SPDX-License-Identifier: Apache-2.0
"""The verb `shell`: a shell or one command, run at a host of a scenario's network."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import note


def shell(
    file: options.ScenarioFile,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Program and its arguments; default: a shell.")
    ] = None,
    at: Annotated[
        str, typer.Option(metavar="STATION", help="Station at whose host it runs; default: the first one.")
    ] = "",
    stdin: Annotated[
        bool, typer.Option("--stdin", "-i", help="Read standard input to its end, and pass it to the command.")
    ] = False,
    flows: Annotated[bool, typer.Option("--flows/--no-flows", help="Also run the scenario's flows.")] = True,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    cc_module: options.CcModules = None,
    kernel: options.Kernel = None,
    trust: options.Trust = False,
) -> None:
    """Open a shell at a host. Virtual time pauses while the shell waits for you. If you give a command, only this
    command runs, and its exit code is returned."""
    from leowarp.running.by_hand import shell as run_shell
    from leowarp.running.by_hand import station_of
    from leowarp.scenario import plan_of

    has_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not stdin
    if not command and not has_terminal and not stdin:
        raise ScenarioError(
            "starting a shell: standard input and output are no terminal",
            "give it a command (leowarp shell FILE --at STATION -- ping -c 3 HOST), or a script on standard input (-i)",
        )
    settings = options.settings(set_, cc_module, leave_out)
    plan = plan_of(file, settings)
    station = station_of(plan, at or plan.stations[0].name)
    if has_terminal and not command:
        others = ", ".join(other.name for other in plan.stations if other.name != station)
        note(f"{station} of {plan.name}; also there: {others}. exit or Ctrl-D ends it, Enter ~ . in any case.")
    code = run_shell(
        file, station, command or (), settings, is_terminal=has_terminal,
        stdin=sys.stdin.buffer.read() if stdin else None, flows=flows, kernel=kernel, trust=trust,
        on_warning=lambda text: note(f"warning: {text}"),
    )  # fmt: skip
    raise typer.Exit(code)
