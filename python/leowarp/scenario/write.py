# SPDX-License-Identifier: Apache-2.0
"""The writer of a plan's TOML text. Equal plans give the same bytes, and loading the text gives an equal plan."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from leowarp.base.units import BYTES, PACKETS
from leowarp.scenario.media.constellation import ELEMENT_KEYS, SHAPE_KEYS, WALKER_KEYS, Constellation
from leowarp.scenario.media.dishes import DISH, DISH_IDLE_KEYS
from leowarp.scenario.network.hosts import DELACK_MODULE, LOSS_DETECTION_MODULE, Host, Tcp
from leowarp.scenario.network.links import ACQUISITION_KEYS, GAP_KEYS, SKY_KEYS, UPDATE_KEYS, Station
from leowarp.scenario.network.queues import parameters_as_written
from leowarp.scenario.text.key import InputFile, Key, keys
from leowarp.scenario.workload.flows import FLOW_KEYS, PACE_KEYS
from leowarp.scenario.workload.modules import parameter_as_written

SCHEMA_VERSION = 1


# Implements RFC 4737, 1.3 (context).
# Implements RFC 4737, 6 (packet generation).
def plan_text(plan: Any) -> str:
    """Return the plan as a scenario text.

    plan: A `Plan`. Its type is not named here, because `schema` imports this module.
    Returns: The TOML text. Keys that have no effect with the plan's medium are left out, because a text with them is
        rejected.
    """
    return "\n".join(_lines(plan)) + "\n"


def quoted(text: str) -> str:
    """Return a text as a TOML basic string."""
    # JSON's escapes are valid in TOML, but TOML also requires U+007F to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(plan: Any) -> Iterator[str]:
    yield "# A plan: a scenario with every default written out. Loading it gives the same run."
    yield f"name = {quoted(plan.name)}"
    yield f"schema = {SCHEMA_VERSION}"
    yield from _table("run", plan.run)
    medium, sky = plan.medium, plan.constellation
    if sky is not None:
        yield from _constellation(sky)
    if not isinstance(medium, Constellation):
        yield from _table(medium.NAME, medium)
    if medium.STATIONS is None:
        for station in plan.stations:
            # Before obstruction maps existed, plans had no keys for a limited view of the sky. If a station's view is
            # not limited, a plan therefore omits the keys of a limited view.
            free = [key for key in SKY_KEYS if getattr(station, keys(Station)[key][0]) is None]
            yield from _table("stations", station, free, double=True)
            if station.name in plan.dishes:
                yield from _table(f"stations.{DISH}", plan.dishes[station.name], DISH_IDLE_KEYS)
    idle = medium.idle(follows=sky is not None)
    for name in ("isl", "ground", "routing", "cures", "network"):
        without = idle.get(name, ())
        if without is None:
            continue
        if name == "cures":
            without = plan.cures.idle()
        if name == "routing" and plan.routing.update == "atomic":
            without = (*without, *UPDATE_KEYS)
        if name == "isl" and not (sky is not None and sky.shells):
            without = (*without, "across_shells")  # With one shell, the key `across_shells` has no meaning.
        if name == "isl" and not plan.isl.longest_acquisition_ns:
            without = (*without, *ACQUISITION_KEYS)
        if name == "isl" and plan.isl.acquisition_between_planes_ns is None:
            without = (*without, "acquisition_between_planes")
        if name == "ground" and not plan.ground.handover_gap_ns:
            without = (*without, *GAP_KEYS)
        yield from _table(name, getattr(plan, name), without)
    for flow in plan.flows:
        # A flow that lasts to the end of the run is written without a stop time. Without a stop time, a flow still
        # lasts to the end if a user changes the run's length in the plan.
        last = {"stop_ns": None} if flow.stop_ns == plan.run.duration_ns else {}
        others = {key for only in FLOW_KEYS.values() for key in only} - set(FLOW_KEYS[flow.kind])
        if flow.packet_rate_pkts_per_s is not None:
            others.add(PACE_KEYS[flow.kind])
        if not flow.is_mptcp:
            others |= {"protocol", "subflow_of"}  # Without MPTCP, the keys `protocol` and `subflow_of` have no effect.
        if flow.name is None:
            others.add("name")
        yield from _table("flows", flow, others, double=True, replace=last)
    yield from _table("tcp", plan.tcp)
    yield from _table("observe", plan.observe)
    yield from _table("guest", plan.guest)
    for module, parameters in sorted(plan.modules.items()):
        if module in (DELACK_MODULE, LOSS_DETECTION_MODULE):
            continue  # A plan has the parameters of these two modules in [tcp].
        yield from _module(module, parameters)
    yield from _sysctls("sysctl", plan.sysctl, "Of the guest as a whole: its own, and what follows from the rest.")
    for host in plan.hosts:
        yield from _host(host, plan.tcp)


def _constellation(sky: Constellation) -> Iterator[str]:
    """Yield the keys of a constellation that have an effect, followed by its shells."""
    # A text is rejected if it has Walker keys together with a file of elements or with shells. A plan with a file of
    # elements or with shells therefore contains no Walker keys.
    without: tuple[str, ...] = ("shells",)
    if sky.tle is not None:
        without += WALKER_KEYS
    else:
        without += ELEMENT_KEYS
        if sky.shells:
            without += (*SHAPE_KEYS, "tle")
    yield from _table(sky.NAME, sky, without)
    for shell in sky.shells:
        yield from _table(f"{sky.NAME}.shells", shell, double=True)


def _module(name: str, parameters: Mapping[str, str]) -> Iterator[str]:
    """Yield a kernel module's parameters, with the unit of each time."""
    yield ""
    yield f"[modules.{name}]"
    for parameter, value in sorted(parameters.items()):
        yield f"{parameter} = {quoted(parameter_as_written(parameter, value))}"


def _host(host: Host, common: Tcp) -> Iterator[str]:
    """Yield the TCP keys of a host that differ from the keys of `[tcp]`, and all sysctls of the host."""
    name = f"hosts.{host.name if _BARE_KEY.fullmatch(host.name) else quoted(host.name)}"
    differs = [key for key, (attribute, _) in keys(Tcp).items()
               if getattr(host.tcp, attribute) != getattr(common, attribute)]  # fmt: skip
    # Nothing is written for a host whose keys equal the keys of [tcp]. If a user later changes [tcp] in the plan, the
    # change therefore also applies to such a host.
    if differs:
        yield from _table(f"{name}.tcp", host.tcp, set(keys(Tcp)) - set(differs))
    yield from _sysctls(f"{name}.sysctl", host.sysctl, "Of this host: what its [tcp] comes to.")


def _table(
    name: str,
    section: Any,
    without: Iterable[str] = (),
    *,
    double: bool = False,
    replace: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Yield a section's keys and values, in the order of declaration.

    name: The text between the brackets.
    without: The keys that are left out.
    double: Whether the header is ``[[name]]``, for an element of a list.
    replace: The values to write instead of the section's own, keyed by attribute.
    """
    yield ""
    yield f"[[{name}]]" if double else f"[{name}]"
    kind: type = type(section)
    for key, (attribute, declared) in keys(kind).items():
        if key in without:
            continue
        value = getattr(section, attribute)
        if replace is not None and attribute in replace:
            value = replace[attribute]
        if declared.kind == "queue":
            in_bytes = section.queue_bytes
            text = PACKETS.format(value) if value is not None else None
            text = BYTES.format(in_bytes) if in_bytes is not None else text
            yield f"{key} = {quoted(text if text is not None else str(declared.none))}"
        elif declared.kind == "table":
            written = parameters_as_written(section.queue_discipline, value)
            inner = ", ".join(f"{name} = {_scalar(entry)}" for name, entry in written.items())
            yield f"{key} = {{ {inner} }}" if inner else f"{key} = {{}}"
        elif declared.kind == "files":
            yield f"{key} = [{', '.join(quoted(one.name) for one in value)}]"
            if value:
                yield f"{key}_sha256 = [{', '.join(quoted(one.sha256) for one in value)}]"
        elif isinstance(value, InputFile):
            yield f"{key} = {quoted(value.name)}"
            # The input file's hash is written in the line after the file's name. `plan.resolve` rejects a plan if the
            # hash of the input file differs from the written hash.
            yield f"{key}_sha256 = {quoted(value.sha256)}"
        else:
            yield f"{key} = {_value(value, declared)}"


def _value(value: Any, declared: Key) -> str:
    """Return a key's value as a user would write it, with its unit or the word for "no value"."""
    if value is None:
        assert declared.none is not None, "a key without a word for it cannot be None"
        return quoted(declared.none)
    if declared.quantity is not None:
        return quoted(declared.quantity.format(value))
    if declared.kind == "names":
        return f"[{', '.join(quoted(name) for name in value)}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{quoted(name)} = {quoted(text)}" for name, text in sorted(value.items()))
        return f"{{ {inner} }}" if inner else "{}"
    return _scalar(value)


def _scalar(value: str | int | bool) -> str:
    """Return a word, a number or a Boolean in TOML's spelling."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else quoted(value)


def _sysctls(name: str, table: Mapping[str, str], comment: str) -> Iterator[str]:
    yield ""
    yield f"[{name}]  # {comment}"
    for sysctl, value in sorted(table.items()):
        yield f"{quoted(sysctl)} = {quoted(value)}"


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
