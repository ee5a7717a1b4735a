# SPDX-License-Identifier: Apache-2.0
"""Runs a shell at a host of a scenario's network (`leowarp shell`). Nothing is recorded, and no files are kept."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.running.street import built_image, prepared

if TYPE_CHECKING:
    from leowarp.scenario import Plan


def shell(
    scenario: Path | str | Plan, at: str, command: Sequence[str] = (), set: Mapping[str, Any] | Sequence[str] = (), *,
    is_terminal: bool = False, stdin: bytes | None = None, flows: bool = True, kernel: Path | str | None = None,
    trust: bool = False, on_warning: Callable[[str], None],
) -> int:  # fmt: skip
    """Run a command at a host of a scenario's network, on this process's terminal or standard outputs, and return its
    exit code.

    All other parameters are the same as for `leowarp.run`. Raises any `LeowarpError`.

    at: The name of a station. Case is ignored.
    command: The program and its arguments. If the list is empty, a shell is started.
    is_terminal: Whether the command uses the terminal. If it does not use the terminal, it reads `stdin`, and writes to
        standard output and standard error.
    flows: Whether the scenario's flows run too.
    on_warning: A function that gets each warning. It is called after the guest has ended.
    """
    # Imported here, so that commands that only read a plan do not import the guest's packages.
    from leowarp import guest, media
    from leowarp.scenario import plan_of

    plan = plan_of(scenario, set, kernel)
    plan = plan.named_by_caller() if trust else plan
    asked = guest.Shell(station_of(plan, at), tuple(command), is_terminal, stdin)
    plan = unobserved(plan if flows else dataclasses.replace(plan, flows=()))
    guest.demand_trust(plan)
    media.check(plan)
    guest.check_programs(plan)
    guest.check_fits(plan)
    guest.check_shell(asked)
    image = built_image(plan.guest)
    guest.check_fits(plan, image.kernel_facts)
    # If a plan has no flows, its routes connect every station with every other.
    timeline = prepared(dataclasses.replace(plan, flows=())).timeline
    with tempfile.TemporaryDirectory(prefix="leowarp-shell-") as scratch:
        return guest.run_shell(image, plan, timeline, Path(scratch), asked, on_warning)


def station_of(plan: Plan, at: str, attempted: str = "starting a shell at") -> str:
    """Return the name of a station as written in the scenario. An error message begins with `attempted`.

    Raises ScenarioError if there is no station with this name.
    """
    names = [station.name for station in plan.stations]
    found = [name for name in names if name == at] or [name for name in names if name.lower() == at.lower()]
    if len(found) != 1:
        raise ScenarioError(f'{attempted} "{at}": the scenario has no such station', one_of(at, names, "it has:"))
    return found[0]


def unobserved(plan: Plan) -> Plan:
    """Return a copy of the plan that records nothing and runs for its whole duration. The network and the flows are as
    in `plan`."""
    return dataclasses.replace(
        plan,
        run=dataclasses.replace(plan.run, ends="duration"),
        observe=dataclasses.replace(
            plan.observe, truth=False, sockets_ns=None, counters_ns=None, queues_ns=None, packets="none", pcap="none"
        ),
    )
