# SPDX-License-Identifier: Apache-2.0
"""The verb `live`: connects programs of this machine over a scenario's network, in real time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from leowarp.cli import options
from leowarp.cli.output import note


def live(
    file: options.ScenarioFile,
    origin: Annotated[
        str,
        typer.Option("--from", metavar="STATION", help="Station at which connections begin; default: the first one."),
    ] = "",
    destination: Annotated[
        str,
        typer.Option(
            "--to", metavar="STATION", help="Station at which connections leave the network; default: the last one."
        ),
    ] = "",
    socks: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Of the SOCKS5 proxy; 0: any.")
    ] = 1080,  # The default port of a SOCKS proxy (RFC 1928, section 3).
    no_socks: Annotated[bool, typer.Option("--no-socks", help="No proxy.")] = False,
    forward: Annotated[
        list[str] | None,
        typer.Option(metavar="PORT:HOST:PORT", help="Local port that leads to one server; may be repeated."),
    ] = None,
    to_network: Annotated[
        bool, typer.Option("--to-network", help="Let connections leave to other machines, not only to this one.")
    ] = False,
    congestion_control: Annotated[
        str | None, typer.Option(metavar="NAME", help="Congestion control; default: that of the first TCP flow.")
    ] = None,
    flows: Annotated[bool, typer.Option("--flows/--no-flows", help="Also run the scenario's flows.")] = True,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    cc_module: options.CcModules = None,
    kernel: options.Kernel = None,
    trust: options.Trust = False,
) -> None:
    """Connect programs of this machine over a scenario's network, in real time. A live session is not repeatable."""
    from leowarp.running.live import live as run_live

    has_terminal = sys.stderr.isatty()

    def say(text: str) -> None:
        # On a terminal, the status line with the time is overwritten by the next line.
        if has_terminal:
            sys.stderr.write("\r\x1b[K")
        note(text)

    def status(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    run_live(
        file, options.settings(set_, cc_module, leave_out), origin=origin, destination=destination,
        socks_port=None if no_socks else socks, forwards=forward or (), to_network=to_network,
        congestion_control=congestion_control, flows=flows, kernel=kernel, say=say,
        status=status if has_terminal else None, trust=trust,
    )  # fmt: skip
