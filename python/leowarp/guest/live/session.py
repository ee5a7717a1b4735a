# SPDX-License-Identifier: Apache-2.0
"""Runs a guest through which programs of this machine communicate, from boot to end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.layout import GUEST
from leowarp.base.nodes import host_node
from leowarp.guest.live.admission import Tally
from leowarp.guest.live.consoles import LiveConsoles
from leowarp.guest.live.doors import Forward
from leowarp.guest.live.frames import WINDOW_BYTES
from leowarp.guest.live.pace import STEP_NS, Pace
from leowarp.guest.user.boot_input import run

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest.building.image import GuestImage
    from leowarp.scenario import Plan

PIECES = "live"
"""This directory in the guest's `in/` has files with the bytes that the guest sends
(`crates/agent/src/live/relay.rs`)."""


@dataclass(frozen=True)
class Live:
    """The hosts between which connections run, and the doors through which programs reach them.

    origin, destination: Connections of this machine's programs begin at the station `origin`, and leave the guest at
        the station `destination`.
    congestion_control: The congestion control of both ends. The default is that of the kernel.
    doors: The listening sockets, each with the destination of its connections. None means a SOCKS5 proxy.
    to_network: Whether a destination may be on another machine.
    tally: The counter of clients that reach a limit during the session.
    """

    origin: str
    destination: str
    congestion_control: str | None = None
    doors: Sequence[tuple[socket.socket, Forward | None]] = ()
    to_network: bool = False
    tally: Tally = field(default_factory=Tally)

    def described(self, host_numbers: Mapping[str, int]) -> dict[str, Any]:
        """Return the section `live` of `setup.json` (design/interfaces.md, section 4)."""
        return {
            "from": host_numbers[host_node(self.origin)],
            "to": host_numbers[host_node(self.destination)],
            "congestion_control": self.congestion_control,
            "step_ns": STEP_NS,
            "window_bytes": WINDOW_BYTES,
        }


def run_live(
    image: GuestImage, plan: Plan, timeline: pa.Table, run_dir: Path, live: Live, pace: Pace,
    say: Callable[[str], None], on_time: Callable[[], None],
) -> None:  # fmt: skip
    """Run the session until it ends.

    plan: The flows of the plan also run.
    run_dir: The directory in which the guest works.
    pace: The object that keeps virtual time at the pace of real time. The function `on_time`, which is called whenever
        the guest waits for real time, may read this object.
    say: A function that gets a line of text for each event of a connection. `say` and `on_time` are called in a thread
        that is not the caller's. At the end, `say` also receives the complaints of the guest's kernel.
    Raises LeowarpError for the same reasons as `run`.
    Raises KeyboardInterrupt if the user ends the session.
    """
    pieces = run_dir / GUEST / "in" / PIECES
    pieces.mkdir(parents=True)
    run(
        image, plan, timeline, run_dir, by_hand=lambda numbers: {"live": live.described(numbers)},
        consoles=LiveConsoles(pieces, pace, live.doors, say, on_time, live.tally, to_network=live.to_network),
        on_warning=lambda text: say(f"warning: {text}"),
    )  # fmt: skip
