# SPDX-License-Identifier: Apache-2.0
"""Connects programs of this machine over a scenario's network in real time (`leowarp live`). A session is not
repeatable, records nothing, and keeps no files."""

from __future__ import annotations

import dataclasses
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import ScenarioError
from leowarp.running.account import Account
from leowarp.running.by_hand import station_of, unobserved
from leowarp.running.street import built_image, prepared

if TYPE_CHECKING:
    from leowarp.guest import Forward
    from leowarp.scenario import Plan


def live(
    scenario: Path, set: Sequence[str], *, origin: str, destination: str, socks_port: int | None,
    forwards: Sequence[str], to_network: bool, congestion_control: str | None, flows: bool, kernel: str | None,
    say: Callable[[str], None], status: Callable[[str], None] | None, trust: bool,
) -> None:  # fmt: skip
    """Run the scenario's network in real time. The function returns at the scenario's end, or when the user stops it
    (Ctrl-C, SIGTERM). The function may only be called in the main thread.

    origin, destination: The stations at which connections begin and end. If `origin` is "", the first station is used.
        If `destination` is "", the last station is used. Upper and lower case are not distinguished.
    socks_port: The port of a SOCKS5 proxy on the loopback interface. 0 means any free port. None means no proxy.
    forwards: The texts ``PORT:HOST:PORT``, as parsed by `guest.forward_of`.
    to_network: Whether connections may go from the guest to other machines.
    congestion_control: The congestion control of both ends in the guest. The default is the congestion control of the
        scenario's first TCP flow. In a scenario without a TCP flow, the kernel's default is used.
    flows: Whether the scenario's flows run too.
    say: A function that is called with a line of text for each event.
    status: A function that is called several times per second, with a line of text about the time.
    """
    # Imported here, so that commands that only read a plan do not import the guest's packages.
    from leowarp import guest, media
    from leowarp.scenario import plan_of

    plan = plan_of(scenario, set, kernel)
    plan = plan.named_by_caller() if trust else plan
    if plan.network.family == "ipv6":
        raise ScenarioError(
            f'opening {plan.name} to programs outside: connections are of IPv4, and network.family = "ipv6"',
            hint='--set network.family="ipv4"',
        )
    origin, destination = _ends(plan, origin, destination)
    wanted: list[tuple[int, str, Forward | None]] = []
    if socks_port is not None:
        wanted.append((socks_port, "--socks PORT, or --no-socks", None))
    for forward in [guest.forward_of(text) for text in forwards]:
        guest.check_allowed(forward, to_network)
        wanted.append((forward.port, "--forward PORT:HOST:PORT", forward))
    guest.check_room(len(wanted))
    plan = unobserved(plan if flows else dataclasses.replace(plan, flows=()))
    guest.demand_trust(plan)
    media.check(plan)
    guest.check_programs(plan)
    guest.check_fits(plan)
    with ExitStack() as opened:
        # Sockets are opened before all steps that may take minutes, so that an unusable port is reported at once.
        doors = [(opened.enter_context(guest.listening(port, hint)), forward) for port, hint, forward in wanted]
        image = built_image(plan.guest)
        guest.check_fits(plan, image.kernel_facts)
        # If a plan has no flows, its routes connect every station with every other.
        given = prepared(dataclasses.replace(plan, flows=()))
        first = next((flow.congestion_control for flow in plan.flows if flow.congestion_control is not None), None)
        control = congestion_control or first
        session = guest.Live(origin, destination, control, doors, to_network)
        pace = guest.Pace()
        account = Account(pace, given.routes, (origin, destination), say, status)
        _introduce(plan, session, say)
        with tempfile.TemporaryDirectory(prefix="leowarp-live-") as scratch, _interruptible():
            with suppress(KeyboardInterrupt):
                guest.run_live(image, plan, given.timeline, Path(scratch), session, pace, say, account.look)
            say("; ".join(filter(None, [account.summary(), str(session.tally)])))


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


def _ends(plan: Plan, origin: str, destination: str) -> tuple[str, str]:
    origin = station_of(plan, origin or plan.stations[0].name, "beginning connections at")
    destination = station_of(plan, destination or plan.stations[-1].name, "ending connections at")
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
