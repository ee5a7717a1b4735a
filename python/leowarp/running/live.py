# SPDX-License-Identifier: Apache-2.0
"""Connects programs of this machine over a scenario's network in real time (`leowarp live`). A session is not
repeatable, records nothing, and keeps no files."""

from __future__ import annotations

import dataclasses
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import ScenarioError
from leowarp.base.progress import OnProgress, building
from leowarp.running.account import Account
from leowarp.running.by_hand import station_of, unobserved
from leowarp.running.street import prepared

if TYPE_CHECKING:
    from leowarp.guest import Forward
    from leowarp.scenario import Plan

SOCKS_PORT = 1080
"""The default port of a SOCKS proxy (RFC 1928, section 3)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ways:
    """The ports and stations by which programs of this machine enter and leave the network.

    origin, destination: The stations at which connections begin and end. If `origin` is "", the first station is used.
        If `destination` is "", the last station is used. Upper and lower case are not distinguished.
    socks_port: The port of a SOCKS5 proxy on the loopback interface. 0 means any free port. None means no proxy.
    forwards: The texts ``PORT:HOST:PORT``, as parsed by `guest.forward_of`.
    to_network: Whether connections may go from the guest to other machines.
    congestion_control: The congestion control of both ends in the guest. The default is the congestion control of the
        scenario's first TCP flow. In a scenario without a TCP flow, the kernel's default is used.
    """

    origin: str = ""
    destination: str = ""
    socks_port: int | None = SOCKS_PORT
    forwards: Sequence[str] = ()
    to_network: bool = False
    congestion_control: str | None = None


def live(
    scenario: Path | str | Plan, ways: Ways | None = None, set: Mapping[str, Any] | Sequence[str] = (), *,
    flows: bool = True, kernel: Path | str | None = None, say: Callable[[str], None] = print,
    status: Callable[[str], None] | None = None, progress: bool | OnProgress = True, trust: bool = False,
) -> None:  # fmt: skip
    """Run the scenario's network in real time. The function returns at the scenario's end, or when the user stops it
    (Ctrl-C, SIGTERM). The function may only be called in the main thread.

    flows: Whether the scenario's flows run too.
    say: A function that is called with a line of text for each event.
    status: A function that is called several times per second, with a line of text about the time.
    """
    # Imported here, so that commands that only read a plan do not import the guest's packages.
    from leowarp import guest, media
    from leowarp.scenario import plan_of

    ways = ways or Ways()
    plan = plan_of(scenario, set, kernel)
    plan = plan.named_by_caller() if trust else plan
    if plan.network.family == "ipv6":
        raise ScenarioError(
            f'opening {plan.name} to programs outside: connections are of IPv4, and network.family = "ipv6"',
            hint='--set network.family="ipv4"',
        )
    origin, destination = _ends(plan, ways)
    forwards = [guest.forward_of(text) for text in ways.forwards]
    for forward in forwards:
        guest.check_allowed(forward, ways.to_network)
    guest.check_room(len(forwards) + (ways.socks_port is not None))
    plan = unobserved(plan if flows else dataclasses.replace(plan, flows=()))
    guest.demand_trust(plan)
    media.check(plan)
    guest.check_programs(plan)
    guest.check_fits(plan)
    # Sockets are opened before all steps that may take minutes, so that an unusable port is reported at once.
    doors = _doors(ways.socks_port, forwards)
    try:
        with building(progress) as built:
            image = guest.guest_image(plan.guest, on_message=built.message, on_progress=built.steps)
            guest.check_fits(plan, image.kernel_facts)
        # If a plan has no flows, its routes connect every station with every other.
        given = prepared(dataclasses.replace(plan, flows=()))
        control = ways.congestion_control or _first_control(plan)
        session = guest.Live(origin, destination, control, doors, ways.to_network)
        pace = guest.Pace()
        account = Account(pace, given.routes, (origin, destination), say, status)
        _introduce(plan, session, say)
        with tempfile.TemporaryDirectory(prefix="leowarp-live-") as scratch, _interruptible():
            with suppress(KeyboardInterrupt):
                guest.run_live(image, plan, given.timeline, Path(scratch), session, pace, say, account.look)
            say("; ".join(filter(None, [account.summary(), str(session.tally)])))
    finally:
        for door, _ in doors:
            door.close()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C within this context. By default, SIGTERM would end leowarp, and the guest's
    directory would remain."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _ends(plan: Plan, ways: Ways) -> tuple[str, str]:
    origin = station_of(plan, ways.origin or plan.stations[0].name, "beginning connections at")
    destination = station_of(plan, ways.destination or plan.stations[-1].name, "ending connections at")
    if origin == destination:
        others = ", ".join(station.name for station in plan.stations if station.name != origin)
        raise ScenarioError(
            f'running live from "{origin}" to "{destination}": they must be two stations',
            f"name another one with --from or --to: {others}",
        )
    if plan.routing.in_flight == "source":
        raise ScenarioError(
            'running live with routing.in_flight = "source": connections of other programs carry no tag of a path',
            "--set 'routing.in_flight=\"drain\"'",
        )
    return origin, destination


def _first_control(plan: Plan) -> str | None:
    return next((flow.congestion_control for flow in plan.flows if flow.congestion_control is not None), None)


def _doors(socks_port: int | None, forwards: Sequence[Forward]) -> list[tuple[socket.socket, Forward | None]]:
    """Return a listening socket for SOCKS and for each forward. The socket for SOCKS has None instead of a forward. If
    a socket cannot be opened, all others are closed."""
    from leowarp import guest

    doors: list[tuple[socket.socket, Forward | None]] = []
    try:
        if socks_port is not None:
            doors.append((guest.listening(socks_port, "--socks PORT, or --no-socks"), None))
        for forward in forwards:
            doors.append((guest.listening(forward.port, "--forward PORT:HOST:PORT"), forward))
    except BaseException:
        for door, _ in doors:
            door.close()
        raise
    return doors


def _introduce(plan: Plan, session: Any, say: Callable[[str], None]) -> None:
    way = f"{session.origin} to {session.destination}"
    control = session.congestion_control or "the default congestion control"
    say(f"live: {plan.name}, {way}, {control}. By the clock on the wall: not repeatable, nothing is recorded.")
    for door, forward in session.doors:
        host, port = door.getsockname()
        leads = f"leads to {forward.host}:{forward.host_port}" if forward else "is a SOCKS5 proxy"
        say(f"{host}:{port} {leads}, {way}")
    reach = "any machine that this one reaches" if session.to_network else "servers on this machine alone"
    say(f"Connections leave to {reach}. Whoever is on this machine can use these ports.")
    say(f"Ends after {plan.run.duration_ns / 1e9:g} s (--set run.duration=...), or with Ctrl-C.")
