# SPDX-License-Identifier: Apache-2.0
"""What follows from a scenario's keys together: presets and places filled in, and the rules that join several keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leowarp import units
from leowarp.scenario import schema
from leowarp.scenario.decode import Section, decode
from leowarp.scenario.gazetteer import PLACES
from leowarp.scenario.key import keys
from leowarp.scenario.presets import PRESETS
from leowarp.scenario.problems import Problems, nearest
from leowarp.scenario.profiles import is_per_host

if TYPE_CHECKING:
    from leowarp.scenario.document import Node
    from leowarp.scenario.load import Scenario

WALKER_KEYS = ("preset", "pattern", "planes", "satellites_per_plane", "altitude", "inclination", "phasing",
               "node_offset", "mu", "earth_rotation")  # fmt: skip
"""Keys that mean nothing when a file of orbital elements is given."""

FLOW_KEYS = {
    "tcp": ("congestion_control", "size", "rate"),
    "ping": ("interval", "packet_rate", "packets", "payload", "replies"),
    "udp": ("rate", "packet_rate", "packets", "payload"),
}
"""Keys that only some kinds of flow have, by kind."""

CONSTELLATION_ONLY = {"isl": None, "ground": None, "routing": None, "network": ("instantiate", "endpoints")}
"""Sections (None: the whole of it) and keys that mean nothing without a constellation."""

IMPLIED_STATIONS = ("A", "B")
"""The stations of a measured path and of a chain."""


def complete(scenario: Scenario, document: Node, problems: Problems) -> None:
    """Fill in what follows from other keys; every broken rule goes to `problems`."""
    _check_medium(scenario, document, problems)
    if "constellation" in scenario.sections:
        _complete_constellation(scenario.sections["constellation"], problems)
        _complete_stations(scenario, document, problems)
    else:
        _imply_stations(scenario, problems)
    _complete_flows(scenario, document, problems)
    _check_network(scenario, problems)
    _check_hosts(scenario, problems)


def station_names(scenario: Scenario) -> list[str]:
    """Names of the stations, in order."""
    return [str(section.values["name"]) for section in scenario.stations if "name" in section.values]


def value_of(section: Section, schema_class: type, attribute: str) -> Any:
    """A value as given, or its default."""
    return section.values.get(attribute, getattr(schema_class, attribute))


def _check_medium(scenario: Scenario, document: Node, problems: Problems) -> None:
    media = [name for name in ("constellation", "measured", "chain") if name in scenario.sections]
    if not media:
        rule = "none of [constellation], [measured] and [chain] is given"
        problems.add(document.origin, "", rule, 'write [constellation] and below it preset = "oneweb-study"')
    for extra in media[1:]:
        rule = f"[{media[0]}] is given too, and a scenario has exactly one of [constellation], [measured], [chain]"
        problems.add(scenario.sections[extra].origin, extra, rule, "take one of them out")
    if media and "constellation" not in media:
        for name, only in CONSTELLATION_ONLY.items():
            section = scenario.sections[name]
            for key in section.nodes:
                if only is None or key in only:
                    rule = f"has no effect: the scenario has [{media[0]}] and no [constellation]"
                    problems.add(section.where(key), f"{name}.{key}", rule, "take it out")


def _complete_constellation(section: Section, problems: Problems) -> None:
    preset = section.values.get("preset")
    if preset is not None and preset not in PRESETS:
        near = nearest(preset, PRESETS)
        guess = f'did you mean "{near}"? ' if near else ""
        rule = f'there is no constellation "{preset}"'
        problems.add(section.where("preset"), "constellation.preset", rule, f"{guess}known: {', '.join(PRESETS)}")
    if section.values.get("tle") is not None:
        _complete_elements(section, problems)
        return
    known = keys(schema.Constellation)
    for key, text in PRESETS[preset].keys.items() if preset in PRESETS else ():
        attribute, declared = known[key]
        if not section.gave(key):
            section.values[attribute] = decode(text, declared, section.origin)
    for key in ("pattern", "planes", "satellites_per_plane", "altitude", "inclination"):
        wrong_preset = section.gave("preset") and (preset is not None or "preset" not in section.values)
        if known[key][0] not in section.values and not section.gave(key) and not wrong_preset:
            hint = f"write it, or preset = one of: {', '.join(PRESETS)}"
            problems.add(section.origin, f"constellation.{key}", "is missing", hint)
    if section.gave("tle_sha256"):
        rule = "has no effect without tle"
        problems.add(section.where("tle_sha256"), "constellation.tle_sha256", rule, "take it out")
    planes, phasing = section.values.get("planes"), section.values.get("phasing", 0)
    if planes is not None and phasing >= planes:
        rule = f"{phasing} is not below the number of planes ({planes}), as Walker's F is"
        problems.add(section.where("phasing"), "constellation.phasing", rule, f"allowed: 0 to {planes - 1}")


def _complete_elements(section: Section, problems: Problems) -> None:
    for key in WALKER_KEYS:
        if section.gave(key) and not (key == "preset" and section.values.get("preset") is None):
            rule = "has no effect: the orbits come from the file named by tle"
            problems.add(section.where(key), f"constellation.{key}", rule, f"take out {key} or tle")
    if not section.gave("epoch"):
        rule = "is missing, and a file of orbital elements (tle) is only right near its own epoch"
        problems.add(section.where("tle"), "constellation.epoch", rule, 'write epoch = "2022-09-14T00:00:00Z"')
    if section.gave("greenwich") and section.values.get("greenwich_deg", 0.0) is not None:
        rule = "satellites from orbital elements are turned to the Earth by sidereal time"
        hint = 'write greenwich = "gmst", or nothing'
        problems.add(section.where("greenwich"), "constellation.greenwich", rule, hint)
    for attribute in ("pattern", "planes", "satellites_per_plane", "altitude_m", "inclination_deg", "phasing",
                      "node_offset_deg", "greenwich_deg", "preset"):  # fmt: skip
        section.values[attribute] = None
    section.values.setdefault("earth", "wgs84")


def _complete_stations(scenario: Scenario, document: Node, problems: Problems) -> None:
    if not scenario.stations:
        node = document.get("stations")
        origin = document.origin if node is None else node.origin
        problems.add(origin, "stations", "are missing", 'write [[stations]] and below it name = "Madrid"')
    seen: set[str] = set()
    for section in scenario.stations:
        name = section.values.get("name")
        if name is None:
            continue
        _check_station_name(section, name, seen, problems)
        seen.add(name)
        missing = [key for key in ("latitude", "longitude") if not section.gave(key)]
        if name in PLACES:
            place = dict(zip(("latitude", "longitude"), PLACES[name], strict=True))
            if len(missing) == 2:
                section.values["latitude_deg"] = units.ANGLE.parse(place["latitude"])
                section.values["longitude_deg"] = units.ANGLE.parse(place["longitude"])
                missing = []
        if missing:
            near = nearest(name, PLACES) if name not in PLACES else None
            guess = f'did you mean the place "{near}"? else ' if near else ""
            rule = f'"{name}" has no {" and no ".join(missing)}'
            rule += "" if name in PLACES else ", and is not in the gazetteer"
            hint = guess + "write " + " and ".join(f'{key} = "40.2 deg"' for key in missing)
            problems.add(section.origin, section.name, rule, hint)


def _check_station_name(section: Section, name: str, seen: set[str], problems: Problems) -> None:
    origin, key = section.where("name"), f"{section.name}.name"
    if name in seen:
        problems.add(origin, key, f'there are two stations called "{name}"', "names tell stations apart")
    if any(sign in name for sign in _SIGNS_NOT_IN_NAMES) or name.startswith("s-"):
        rule = f'"{name}" has one of {" ".join(_SIGNS_NOT_IN_NAMES)} or begins like a satellite (s-)'
        problems.add(origin, key, rule, "the tables write a>b and host:NAME")


def _imply_stations(scenario: Scenario, problems: Problems) -> None:
    for section in scenario.stations:
        name = section.values.get("name")
        if name is not None and name not in IMPLIED_STATIONS:
            rule = f'"{name}" cannot be placed: without a constellation the stations are A and B'
            problems.add(section.where("name"), f"{section.name}.name", rule, "take out [[stations]]")
        for key in section.nodes:
            if key != "name":
                rule = "has no effect without a constellation"
                problems.add(section.where(key), f"{section.name}.{key}", rule, "take it out")
    origin = scenario.sections["run"].origin
    scenario.stations[:] = [
        Section(f"stations.{i}", origin, {"name": name, "latitude_deg": None, "longitude_deg": None, "height_m": None})
        for i, name in enumerate(IMPLIED_STATIONS)
    ]


def _complete_flows(scenario: Scenario, document: Node, problems: Problems) -> None:
    if not scenario.flows:
        node = document.get("flows")
        hint = 'write [[flows]] and below it source = "Madrid" and destination = "Tokyo"'
        problems.add(document.origin if node is None else node.origin, "flows", "are missing", hint)
    duration_ns = value_of(scenario.sections["run"], schema.Run, "duration_ns")
    for section in scenario.flows:
        kind = value_of(section, schema.Flow, "kind")
        _check_ends(section, scenario, problems)
        _check_flow_keys(section, kind, problems)
        if kind == "tcp":
            _check_congestion_control(section, scenario, problems)
        _complete_flow_times(section, duration_ns, problems)


def _check_ends(section: Section, scenario: Scenario, problems: Problems) -> None:
    stations = station_names(scenario)
    for key in ("source", "destination"):
        name = section.values.get(key)
        all_named = len(stations) == len(scenario.stations)
        if name is not None and name not in stations and all_named:
            near = nearest(name, stations)
            guess = f'did you mean "{near}"? ' if near else ""
            hint = f"{guess}stations: {', '.join(stations) or 'none'}"
            problems.add(section.where(key), f"{section.name}.{key}", f'there is no station "{name}"', hint)
    source = section.values.get("source")
    if source is not None and source == section.values.get("destination"):
        rule = f'"{source}" is the source too'
        problems.add(section.where("destination"), f"{section.name}.destination", rule, "a flow joins two stations")


def _check_flow_keys(section: Section, kind: str, problems: Problems) -> None:
    known = keys(schema.Flow)
    for key in dict.fromkeys(key for only in FLOW_KEYS.values() for key in only):
        if key in FLOW_KEYS[kind]:
            continue
        if section.gave(key):
            kinds = " and ".join(other for other, only in FLOW_KEYS.items() if key in only)
            rule = f"is a key of {kinds}, and this flow is {kind}"
            problems.add(section.where(key), f"{section.name}.{key}", rule, "take it out")
        section.values[known[key][0]] = None
    if kind == "udp":
        if section.values.get("rate_bps") is None and not (section.gave("rate") and "rate_bps" not in section.values):
            rule = "is missing: udp sends at a constant rate"
            problems.add(section.where("rate"), f"{section.name}.rate", rule, 'write rate = "1 Mbit/s"')
        if not section.gave("payload"):
            section.values["payload_bytes"] = UDP_PAYLOAD_BYTES


def _check_congestion_control(section: Section, scenario: Scenario, problems: Problems) -> None:
    name = value_of(section, schema.Flow, "congestion_control")
    kernel = value_of(scenario.sections["guest"], schema.Guest, "kernel")
    if kernel == "default" and name not in schema.CONGESTION_CONTROLS:
        near = nearest(name, schema.CONGESTION_CONTROLS)
        guess = f'did you mean "{near}"? ' if near else ""
        hint = f"{guess}it has: {', '.join(schema.CONGESTION_CONTROLS)}; your own kernel (guest.kernel) may have others"
        rule = f'the guest kernel has no congestion control "{name}"'
        problems.add(section.where("congestion_control"), f"{section.name}.congestion_control", rule, hint)
    elif len(name) > 15 or not name.replace("_", "a").replace("-", "a").isalnum():
        rule = f'"{name}" is not the name of a congestion control (at most 15 letters, digits, - and _)'
        problems.add(section.where("congestion_control"), f"{section.name}.congestion_control", rule)


def _complete_flow_times(section: Section, duration_ns: int, problems: Problems) -> None:
    start_ns = value_of(section, schema.Flow, "start_ns")
    stop_ns = section.values.get("stop_ns")
    if stop_ns is None:
        section.values["stop_ns"] = stop_ns = duration_ns
    duration = units.TIME.format(duration_ns)
    if start_ns >= duration_ns:
        rule = f'"{units.TIME.format(start_ns)}" is not before the end of the run ({duration})'
        problems.add(section.where("start"), f"{section.name}.start", rule, "start earlier or let the run last longer")
    elif stop_ns <= start_ns:
        rule = f'"{units.TIME.format(stop_ns)}" is not after the start ("{units.TIME.format(start_ns)}")'
        hint = 'a flow stops after it starts; "end" is the end of the run'
        problems.add(section.where("stop"), f"{section.name}.stop", rule, hint)
    if stop_ns > duration_ns:
        rule = f'"{units.TIME.format(stop_ns)}" is after the end of the run ({duration})'
        problems.add(section.where("stop"), f"{section.name}.stop", rule, 'write "end", or let the run last longer')


def _check_network(scenario: Scenario, problems: Problems) -> None:
    network = scenario.sections["network"]
    netem = value_of(network, schema.Network, "link_model") == "netem"
    if value_of(network, schema.Network, "queue_counts") == "waiting-and-flying" and not netem:
        rule = "only netem counts packets in the delay line; leolink's queue and delay line are apart"
        problems.add(network.where("queue_counts"), "network.queue_counts", rule, 'write link_model = "netem" too')
    for name in ("isl", "ground", "measured", "chain"):
        section = scenario.sections.get(name)
        if netem and section is not None and section.values.get("queue_bytes") is not None:
            rule = "netem's limit is in packets"
            problems.add(section.where("queue"), f"{name}.queue", rule, 'write "500 pkts", or link_model = "leolink"')
    constellation, isl = scenario.sections.get("constellation"), scenario.sections["isl"]
    elements = constellation is not None and constellation.values.get("tle") is not None
    if elements and value_of(isl, schema.Isl, "rule") == "plus-grid":
        rule = "a grid needs planes and slots, which a file of orbital elements does not have"
        problems.add(isl.where("rule"), "isl.rule", rule, 'write rule = "range"')


def _check_hosts(scenario: Scenario, problems: Problems) -> None:
    stations = station_names(scenario)
    for name in [name for name in scenario.hosts | scenario.pinned if name]:
        if name not in stations:
            near = nearest(name, stations)
            guess = f'did you mean "{near}"? ' if near else ""
            origin = (scenario.hosts | scenario.pinned)[name].origin
            rule = f'there is no station "{name}"'
            problems.add(origin, f"hosts.{name}", rule, f"{guess}stations: {', '.join(stations) or 'none'}")
    for section in (scenario.sections["tcp"], *scenario.hosts.values(), *scenario.pinned.values()):
        for sysctl in section.values.get("sysctl", {}):
            if not is_per_host(sysctl) and section.name:
                rule = f"{sysctl} is one for the whole guest, not one a host"
                problems.add(section.where("sysctl"), f"{section.name}.sysctl", rule, "write it into [guest.sysctl]")
    pinned = [scenario.pinned[""]] if "" in scenario.pinned else []
    for section in (scenario.sections["guest"], *pinned):
        for sysctl in section.values.get("sysctl", {}):
            if is_per_host(sysctl):
                rule = f"each host has its own {sysctl}"
                hint = "write it into [tcp.sysctl] or [hosts.NAME.tcp.sysctl]"
                problems.add(section.where("sysctl"), f"{section.name}.sysctl".lstrip("."), rule, hint)


UDP_PAYLOAD_BYTES = 1200
"""What QUIC may count on (RFC 9000, 14): the default of udp flows."""

_SIGNS_NOT_IN_NAMES = (":", ">", "/", "\\", ",")
