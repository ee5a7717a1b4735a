# SPDX-License-Identifier: Apache-2.0
"""What follows from a scenario's keys together: presets and places filled in, and the rules that join several keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from leowarp import units
from leowarp.scenario import schema
from leowarp.scenario.access import complete_access
from leowarp.scenario.decode import Section, decode, value_of
from leowarp.scenario.flows import complete_flows, station_names
from leowarp.scenario.gazetteer import PLACES
from leowarp.scenario.key import keys
from leowarp.scenario.links import LARGEST_MTU_BYTES, SMALLEST_MTU_BYTES
from leowarp.scenario.measured import complete_measured
from leowarp.scenario.mobile import complete_mobile
from leowarp.scenario.modules import complete_modules
from leowarp.scenario.presets import PRESETS
from leowarp.scenario.problems import Problems, nearest
from leowarp.scenario.profiles import is_per_host
from leowarp.scenario.queues import QueueKeys, complete_queue

if TYPE_CHECKING:
    from leowarp.scenario.document import Node
    from leowarp.scenario.load import Scenario

WALKER_KEYS = ("preset", "pattern", "planes", "satellites_per_plane", "altitude", "inclination", "phasing",
               "node_offset", "mu", "earth_rotation")  # fmt: skip
"""Keys that mean nothing when a file of orbital elements is given."""

MEDIA = ("constellation", "measured", "chain", "jittered", "access", "mobile")
"""The sections of which a scenario has exactly one (but an access link and a mobile channel may have a constellation
for their geometry)."""

QUEUES = ("isl", "ground", "measured", "chain", "access", "mobile")
"""The sections with a queue that our own discipline serves."""

_CONSTELLATION_ONLY: dict[str, tuple[str, ...] | None] = {
    "isl": None,
    "ground": None,
    "routing": None,
    "network": ("instantiate", "endpoints"),
}
_OF_NETWORK: dict[str, dict[str, tuple[str, ...] | None]] = {
    # A jittered link is always netem's, and its hosts hang on it by wires.
    "jittered": {"network": ("instantiate", "endpoints", "link_model", "delay_rounding", "queue_counts", "neighbours")},
    # An access link and a mobile channel are always leolink's: only that knows tables of delays and capacities.
    "access": {"network": ("instantiate", "endpoints", "link_model", "delay_rounding", "queue_counts")},
    "mobile": {"network": ("instantiate", "endpoints", "link_model", "delay_rounding", "queue_counts")},
}


_ROUTES_ALONE: dict[str, tuple[str, ...] | None] = {
    # Routes over a constellation give a mobile channel its delays; their links are not built.
    "isl": ("rate", "overhead", "loss", *keys(QueueKeys)),
    "ground": ("rate", "overhead", "loss", *keys(QueueKeys)),
    "routing": ("in_flight", "leaving_links", "reverse"),
}
_DRIVEN = {"access": ("geometry", "starlink-shell1"), "mobile": ("delays", "tauran-study")}
"""Media that a constellation may drive: by which key, and a preset to propose."""


def medium_of(given: Sequence[str]) -> str:
    """What carries the packets, of the media that are given."""
    return next((name for name in _DRIVEN if name in given), given[0])


def without_effect(medium: str, *, driven: bool = False) -> dict[str, tuple[str, ...] | None]:
    """Sections (None: the whole of it) and keys that mean nothing with this medium.

    `driven`: a constellation drives it.
    """
    if medium == "constellation":
        return {}
    routed = _ROUTES_ALONE if driven and medium == "mobile" else {}
    return _CONSTELLATION_ONLY | routed | _OF_NETWORK.get(medium, {})


ACCESS_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "run": {"duration": "60 s"},
    "tcp": {"buffer_max": "64 MiB"},
    "observe": {"packets_before": "100 ms", "packets_after": "400 ms"},
}
"""Defaults of other sections that are otherwise with an access link: at 250 Mbit/s it is reconfigured every 15 s, so
that whole seconds around each would store a quarter of all packets; 100 ms of it and its queue are some 10 MB, of which
Linux lets a socket's buffer hold about half."""


ROUTED_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "isl": {"rule": "plus-grid", "seam": False, "polar_cutoff": "60 deg"},
    "ground": {"rule": "min-elevation", "min_elevation": "8.2 deg"},
    "routing": {"interval": "10 s", "link_interval": "1 s"},
}
"""Of one whose delays come from routes: links, mask and the time between two looks are those of ns-2's model of Iridium
(tcl/ex/sat-iridium.tcl), for `tauran2018` used ns-2. In between delays follow the satellites in steps of some 30 us."""


def implied_stations(medium: str) -> tuple[str, str]:
    """The stations of a medium that is not a constellation."""
    return {"access": ("dish", "server"), "mobile": ("mobile", "server")}.get(medium, ("A", "B"))


def complete(scenario: Scenario, document: Node, problems: Problems) -> None:
    """Fill in what follows from other keys; every broken rule goes to `problems`."""
    medium = _check_medium(scenario, document, problems)
    if "constellation" in scenario.sections:
        _complete_constellation(scenario.sections["constellation"], problems)
    if medium == "constellation":
        _complete_stations(scenario, document, problems)
    else:
        _imply_stations(scenario, medium, problems)
    if "jittered" in scenario.sections:
        _check_jittered(scenario.sections["jittered"], problems)
    if "measured" in scenario.sections:
        complete_measured(scenario.sections["measured"], problems)
    if "access" in scenario.sections:
        complete_access(scenario.sections["access"], problems)
        _fill_in(scenario, ACCESS_DEFAULTS)
    if "mobile" in scenario.sections:
        complete_mobile(scenario.sections["mobile"], problems)
        _fill_in(scenario, {"network": {"mtu": f"{_codeword_bytes(scenario.sections['mobile'])} B"}})
        if medium == "mobile" and "constellation" in scenario.sections:
            _fill_in_routed(scenario)
    complete_flows(scenario, document, problems)
    complete_modules(scenario, problems)
    _check_network(scenario, problems)
    _check_observe(scenario, problems)
    _check_hosts(scenario, problems)


def _check_medium(scenario: Scenario, document: Node, problems: Problems) -> str:
    """What carries the packets."""
    media = [name for name in MEDIA if name in scenario.sections]
    all_of_them = ", ".join(f"[{name}]" for name in MEDIA)
    if not media:
        rule = f"none of {all_of_them} is given"
        problems.add(document.origin, "", rule, 'write [constellation] and below it preset = "oneweb-study"')
        return "chain"
    medium = medium_of(media)
    for extra in media:
        if extra == medium or (medium in _DRIVEN and extra == "constellation"):
            continue
        rule = f"[{medium}] is given too, and a scenario has exactly one of {all_of_them}"
        problems.add(scenario.sections[extra].origin, extra, rule, "take one of them out")
    driven = medium in _DRIVEN and _check_geometry(scenario, medium, problems)
    for name, only in without_effect(medium, driven=driven).items():
        section = scenario.sections[name]
        for key in section.nodes:
            if only is None or key in only:
                rule = f"has no effect: what carries the packets is [{medium}]"
                problems.add(section.where(key), f"{name}.{key}", rule, "take it out")
    return medium


def _check_geometry(scenario: Scenario, medium: str, problems: Problems) -> bool:
    """A constellation is there if, and only if, it drives the medium; whether it should."""
    key, preset = _DRIVEN[medium]
    section, sky = scenario.sections[medium], scenario.sections.get("constellation")
    driven = section.values.get(key, "") == "constellation"
    if driven and sky is None:
        rule = 'is "constellation", and there is no [constellation]'
        problems.add(section.where(key), f"{medium}.{key}", rule, f'write [constellation] preset = "{preset}"')
    elif sky is not None and not driven:
        rule = f"has no effect: what carries the packets is [{medium}], which does not follow it"
        hint = f'write {key} = "constellation" into [{medium}], or take one of the two sections out'
        problems.add(sky.origin, "constellation", rule, hint)
    return driven


def _codeword_bytes(mobile: Section) -> int:
    """The packet that fills a codeword's data bits, as far as a packet may be that long or short."""
    packet_bytes = value_of(mobile, schema.Mobile, "data_bits") // 8
    return min(max(packet_bytes, SMALLEST_MTU_BYTES), LARGEST_MTU_BYTES)


def _fill_in_routed(scenario: Scenario) -> None:
    """What routes for a mobile channel assume; a file of elements has no grid."""
    without = {"isl"} if scenario.sections["constellation"].values.get("tle") is not None else set()
    _fill_in(scenario, {name: texts for name, texts in ROUTED_DEFAULTS.items() if name not in without})


def _fill_in(scenario: Scenario, defaults: Mapping[str, Mapping[str, object]]) -> None:
    for name, texts in defaults.items():
        section, known = scenario.sections[name], keys(_DEFAULTED[name])
        for key, text in texts.items():
            attribute, declared = known[key]
            if not section.gave(key):
                section.values[attribute] = decode(text, declared, section.origin)


def _check_jittered(section: Section, problems: Problems) -> None:
    drawn = value_of(section, schema.Jittered, "distribution") == "table"
    given = section.values.get("table") is not None
    if drawn and not given and not (section.gave("table") and "table" not in section.values):
        rule = 'is missing, and distribution is "table"'
        problems.add(section.where("distribution"), "jittered.table", rule, 'write table = "delays.txt"')
    for key in ("table", "table_sha256"):
        if section.gave(key) and not drawn and (given or key != "table"):
            rule = 'has no effect without distribution = "table"'
            problems.add(section.where(key), f"jittered.{key}", rule, 'take it out, or write distribution = "table"')
    if section.values.get("queue_bytes") is not None:
        rule = "netem's limit is in packets"
        problems.add(section.where("queue"), "jittered.queue", rule, 'write "5000 pkts"')


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


def _imply_stations(scenario: Scenario, medium: str, problems: Problems) -> None:
    implied = implied_stations(medium)
    for section in scenario.stations:
        name = section.values.get("name")
        if name is not None and name not in implied:
            rule = f'"{name}" cannot be placed: the stations of [{medium}] are {" and ".join(implied)}'
            problems.add(section.where("name"), f"{section.name}.name", rule, "take out [[stations]]")
        for key in section.nodes:
            if key != "name":
                rule = f"has no effect: what carries the packets is [{medium}]"
                problems.add(section.where(key), f"{section.name}.{key}", rule, "take it out")
    origin = scenario.sections["run"].origin
    scenario.stations[:] = [
        Section(f"stations.{i}", origin, {"name": name, "latitude_deg": None, "longitude_deg": None, "height_m": None})
        for i, name in enumerate(implied)
    ]


def _check_observe(scenario: Scenario, problems: Problems) -> None:
    observe = scenario.sections["observe"]
    captured = value_of(observe, schema.Observe, "truth")
    if value_of(observe, schema.Observe, "pcap") != "none" and not captured:
        rule = "is asked for, and truth = false captures nothing"
        problems.add(observe.where("pcap"), "observe.pcap", rule, 'write pcap = "none", or truth = true')


def _check_network(scenario: Scenario, problems: Problems) -> None:
    network = scenario.sections["network"]
    netem = value_of(network, schema.Network, "link_model") == "netem"
    if value_of(network, schema.Network, "queue_counts") == "waiting-and-flying" and not netem:
        rule = "only netem counts packets in the delay line; leolink's queue and delay line are apart"
        problems.add(network.where("queue_counts"), "network.queue_counts", rule, 'write link_model = "netem" too')
    for name in QUEUES:
        section = scenario.sections.get(name)
        if section is None:
            continue
        if netem and section.values.get("queue_bytes") is not None:
            rule = "netem's limit is in packets"
            problems.add(section.where("queue"), f"{name}.queue", rule, 'write "500 pkts", or link_model = "leolink"')
        complete_queue(section, QueueKeys, netem, problems)
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


_DEFAULTED = {
    "run": schema.Run, "network": schema.Network, "tcp": schema.Tcp, "observe": schema.Observe, "isl": schema.Isl,
    "ground": schema.Ground, "routing": schema.Routing,
}  # fmt: skip
_SIGNS_NOT_IN_NAMES = (":", ">", "/", "\\", ",")
