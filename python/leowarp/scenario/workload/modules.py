# SPDX-License-Identifier: Apache-2.0
"""The sections `[modules.NAME]` and `[guest] cc_modules`: parameters of kernel modules, and the user's own modules."""

from __future__ import annotations

import datetime
import re
from pathlib import PurePath
from typing import Any

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.scenario.network.hosts import DELACK_MODULE, LOSS_DETECTION_MODULE
from leowarp.scenario.text.decoding import Draft, Node, Section
from leowarp.scenario.text.problems import Problems

HANDOVER_AWARE = ("bbr_handover", "cubic_handover")
"""The congestion controls of leowarp that receive the schedule of path changes. Each has the name of its kernel
module."""

KERNELS_MODULES = (
    "tcp_bic", "tcp_cdg", "tcp_cubic", "tcp_dctcp", "tcp_htcp", "tcp_hybla", "tcp_illinois", "tcp_nv", "tcp_vegas",
)  # fmt: skip
"""These congestion controls of the default guest kernel have modules with parameters (Linux 6.12, net/ipv4)."""

SET_BY_THE_GUEST = "origin_ns"
"""The parameter that the guest itself writes: the time at which the run's clock was 0."""


def decode_modules(node: Node | None, problems: Problems) -> dict[str, Section]:
    """Return the parameters of each module. A value is a text, or a whole number of nanoseconds if the parameter's name
    ends in ``_ns``.

    node: The table ``[modules]``, or None if the text has none.
    """
    if node is None:
        return {}
    if not isinstance(node.value, dict):
        problems.add(node.origin, "modules", "is not a table", "write [modules.NAME] and its parameters below")
        return {}
    modules = {}
    for name, table in node.value.items():
        if _NAME.fullmatch(name) is None:
            rule = f"{name!r:.80} is not the name of a kernel module"
            problems.add(table.origin, f"modules.{name}", rule, "letters, digits and _, as in /sys/module")
        elif not isinstance(table.value, dict):
            hint = f"write [modules.{name}] and its parameters below"
            problems.add(table.origin, f"modules.{name}", "is not a table", hint)
        else:
            modules[name] = Section(f"modules.{name}", table.origin, _parameters(name, table, problems))
    return modules


def _parameters(module: str, table: Node, problems: Problems) -> dict[str, Any]:
    """Return one module's parameters. Only the form of names and values is checked. Only the module knows which
    parameters exist."""
    parameters: dict[str, Any] = {}
    for name, node in table.value.items():
        key = f"modules.{module}.{name}"
        # A shell removes the quotes in a --set. In a --set, an integer without quotes is therefore accepted as text, as
        # for sysctls.
        lenient = node.origin.override is not None and isinstance(node.value, int) and not isinstance(node.value, bool)
        value = str(node.value) if lenient else node.value
        if _NAME.fullmatch(name) is None:
            problems.add(node.origin, key, f"{name!r:.80} is not the name of a parameter", "letters, digits and _")
        elif name == SET_BY_THE_GUEST:
            problems.add(node.origin, key, "is written by the guest, when the run's clock is 0", "take it out")
        elif name.endswith("_ns"):
            try:
                value_ns = units.TIME.parse(node.value)
            except ScenarioError as error:
                problems.add(node.origin, key, error.message, error.hint)
                continue
            # The kernel's parameters for times are s64 or u64. A value must fit both s64 and u64.
            if not 0 <= value_ns < 2**63:
                problems.add(node.origin, key, f'"{node.value}" is out of range', "allowed: 0 s to 292 years")
            parameters[name] = str(value_ns)
        elif not isinstance(value, str) or not value or not value.isprintable() or len(value) > _LONGEST_VALUE:
            rule = "is not a string of 1 to 200 printable characters"
            problems.add(node.origin, key, rule, f'write {name} = "1", value in quotes')
        else:
            parameters[name] = value
    return dict(sorted(parameters.items()))


def parameter_as_written(name: str, value: str) -> str:
    """Return a parameter's value as a scenario contains it. Times have a unit.

    >>> parameter_as_written("phase_ns", "12000000000"), parameter_as_written("beta", "717")
    ('12 s', '717')
    """
    return units.TIME.format(int(value)) if name.endswith("_ns") else value


def complete_modules(draft: Draft, problems: Problems) -> None:
    """Check the modules' names, and fill in the parameters that depend on the flows or on an access link.

    Every module of the user gets an entry, even without parameters. The same holds for every handover-aware congestion
    control that a flow uses. The agent sets the parameter `origin_ns` of every module that has this parameter.

    draft: The scenario, in which flows, stations and media are already complete. `draft.modules` is changed in place.
    """
    guest = draft.sections["guest"]
    own = _check_files(guest, problems)
    # The modules of a user's own kernel are known only once the guest boots.
    if guest.value("kernel") == "default":
        known = [*own, *HANDOVER_AWARE, *KERNELS_MODULES]
        for name, section in draft.modules.items():
            if name not in (*known, DELACK_MODULE, LOSS_DETECTION_MODULE):
                rule = f"the guest kernel has no module {name} with parameters"
                problems.add(section.origin, section.name, rule, one_of(name, known, "known:"))
    _complete_delack(draft, problems)
    for name in own:
        draft.modules.setdefault(name, Section(f"modules.{name}", guest.origin))
    for section in draft.flows:
        name = section.value("congestion_control")
        if section.value("kind") == "tcp" and name in HANDOVER_AWARE:
            parameters = draft.modules.setdefault(name, Section(f"modules.{name}", section.origin)).values
            if "access" in draft.sections:
                for parameter, value_ns in _schedule(draft.sections["access"]).items():
                    # A parameter that the scenario sets is not replaced.
                    parameters.setdefault(parameter, str(value_ns))

    traffic = draft.sections.get("traffic")
    for name in traffic.values.get("congestion_controls", {}) if traffic is not None else ():
        if name in HANDOVER_AWARE:
            draft.modules.setdefault(name, Section(f"modules.{name}", draft.sections["run"].origin))


def _complete_delack(draft: Draft, problems: Problems) -> None:
    """Set the timer for delayed acknowledgements. The timer must be the same at all hosts that delay
    acknowledgements."""
    given = draft.modules.get(DELACK_MODULE)
    if given is not None:
        rule = "has its parameters from [tcp]"
        problems.add(given.origin, given.name, rule, 'write [tcp] delayed_ack = "on" and delayed_ack_timer = "40 ms"')
        return
    # The module (guest/ulp/delack.c) has one parameter, which applies to the whole kernel.
    timer: int | None = None
    for station in draft.stations:
        name = str(station.values.get("name"))
        if draft.tcp(name, "delayed_ack") != "on":
            continue
        host, own_ns = draft.hosts.get(name, draft.sections["tcp"]), draft.tcp(name, "delayed_ack_timer_ns")
        # The first host that delays acknowledgements sets the parameter; later hosts are compared with it.
        timer = own_ns if timer is None else timer
        if own_ns % _TICK_NS:
            rule = f'"{units.TIME.format(own_ns)}" is no whole number of ms, the kernel\'s ticks'
            host.refuse(problems, "delayed_ack_timer", rule, 'write "40 ms"')
        if own_ns != timer:
            rule = f"differs from that of another host ({units.TIME.format(timer)}), and the guest kernel has one timer"
            host.refuse(problems, "delayed_ack_timer", rule, "write it into [tcp]")
    if timer is not None:
        origin = draft.sections["tcp"].origin
        draft.modules[DELACK_MODULE] = Section(f"modules.{DELACK_MODULE}", origin, {"max_ns": str(timer)})


def _schedule(access: Section) -> dict[str, int]:
    """Return an access link's period, and the time of its first reconfiguration on the run's clock.

        phase = (phase after midnight - time of day at the run's 0) mod period

    Returns: ``phase_ns`` in [0, period) and ``period_ns``.
    """
    clock = datetime.datetime.fromisoformat(access.value("clock"))
    period_ns = access.value("period_ns")
    # An access link's key `phase` is relative to 0:00 wall-clock time, but the module's phase is relative to the run's
    # time 0.
    midnight = clock.replace(hour=0, minute=0, second=0, microsecond=0)
    shown_ns = (clock - midnight) // datetime.timedelta(microseconds=1) * 1000
    return {
        "phase_ns": (access.value("phase_ns") - shown_ns) % period_ns,
        "period_ns": period_ns,
    }


def _check_files(guest: Section, problems: Problems) -> list[str]:
    """Return the names of the user's own modules: the files' names without extension.

    Returns: All names, even invalid ones. Invalid names are included, so that a congestion control with an invalid name
        is not reported twice.
    """
    names: list[str] = []
    for file in guest.values.get("cc_modules", ()):
        name = PurePath(file).stem
        where = guest.where("cc_modules"), "guest.cc_modules"
        if PurePath(file).suffix != ".c":
            problems.add(*where, f'"{file}" is not a C file', 'a module is one file: cc_modules = ["my_cc.c"]')
        elif _NAME.fullmatch(name) is None or len(name) > _LONGEST_NAME:
            rule = f'"{file}": a module is called by its file, and {name!r} is not the name of one'
            problems.add(*where, rule, f"at most {_LONGEST_NAME} letters, digits and _, a letter first")
        elif name in (*HANDOVER_AWARE, DELACK_MODULE, LOSS_DETECTION_MODULE, "leolink"):
            rule = f'"{file}": the guest kernel has a module {name} already'
            problems.add(*where, rule, "give the file, and the congestion control in it, names of their own")
        elif name in names:
            problems.add(*where, f'"{file}": there are two modules called {name}', "rename one of the two")
        names.append(name)
    return names


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# The kernel's MODULE_NAME_LEN is 56 on 64-bit machines (MAX_PARAM_PREFIX_LEN, include/linux/moduleparam.h).
_LONGEST_NAME = 50
_LONGEST_VALUE = 200
# One tick of the guest's kernel, whose HZ is 1000 (guest/Kconfig.top). Timers expire at a tick.
_TICK_NS = 1_000_000
