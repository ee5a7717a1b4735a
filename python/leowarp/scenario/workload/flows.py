# SPDX-License-Identifier: Apache-2.0
"""The rules of `[[flows]]`: which keys each kind of flow has, which keys exclude each other, and when a flow may run.

If a kind of flow does not have a key, the key is None. With a default instead of None, later code could mistake the
default for a user's value.
"""

from __future__ import annotations

import re
from itertools import count

from leowarp.base import units
from leowarp.base.spelling import nearest, one_of
from leowarp.scenario.network.hosts import CONGESTION_CONTROLS, Flow
from leowarp.scenario.network.links import IP_HEADER_BYTES
from leowarp.scenario.text.decoding import Draft, Node, Section
from leowarp.scenario.text.key import keys
from leowarp.scenario.text.problems import Problems
from leowarp.scenario.workload.mptcp import complete_mptcp

FLOW_KEYS = {
    "tcp": ("congestion_control", "protocol", "subflow_of", "size", "rate"),
    "ping": ("interval", "packet_rate", "packets", "payload", "replies", "flood"),
    "udp": ("rate", "packet_rate", "packets", "payload"),
    "program": (
        "client",
        "server",
        "client_at",
        "client_after",
        "port",
        "environment",
        "directory",
        "rootfs",
        "storage",
        "expect_exit",
    ),
}
"""A dict from kind of flow to the keys that only some kinds have."""

PACE_KEYS = {"ping": "interval", "udp": "rate"}
"""For each kind of flow, the key that `packet_rate` replaces."""

FILLED_IN = ("server", "port", "run_dir", "applications")
"""The names in braces that are replaced by values in a program's command line and environment."""

# A shell's ${name} and curl's %{name} are passed to the program unchanged.
_BRACES = re.compile(r"(?<![$%])\{([a-z_]+)\}")

FLOOD_INTERVAL_NS = 10_000_000
"""The interval between a flood's probes if no replies come. A flood therefore sends at least 100 probes per second, as
iputils' `ping -f` does."""

PROBE_HEADER_BYTES = 8
"""The length of an ICMP or UDP header."""

UDP_PAYLOAD_BYTES = 1200
"""The default payload of udp flows. RFC 9000, 14, lets QUIC assume that a path carries packets of this size."""

# `str.isalnum` would accept ü and ², which take two bytes each in a setsockopt. The length 15 is TCP_CA_NAME_MAX minus
# the closing 0.
_CC_NAME = re.compile(r"[A-Za-z0-9_-]{1,15}")

# A name begins with a letter, because a text of digits is the number of a flow. In labels such as "A to B, cubic (flow
# 3)", commas and brackets stand around a name. A name therefore contains no comma and no bracket.
_FLOW_NAME = re.compile(r"[^\W\d_][\w .-]{0,39}")
_NAME_OF_NUMBER = re.compile(r"flow ?\d+", re.IGNORECASE)


def complete_flows(draft: Draft, document: Node, problems: Problems) -> None:
    """Fill in keys that follow from a flow's kind and from the run. Each violated rule is added to `problems`.

    draft: The scenario, with complete stations.
    document: The root table of the text. Messages about missing flows name its line.
    """
    traffic = draft.sections.get("traffic")
    if not draft.flows and traffic is None:
        node = document.get("flows")
        hint = 'write [[flows]] and below it source = "Madrid" and destination = "Tokyo"'
        problems.add(document.origin if node is None else node.origin, "flows", "are missing", hint)
    duration_ns = draft.sections["run"].value("duration_ns")
    network = draft.sections["network"]
    mtu_bytes = network.value("mtu_bytes")
    ip_header_bytes = IP_HEADER_BYTES[network.value("family")]
    complete_mptcp(draft, problems)
    for section in draft.flows:
        kind = section.value("kind")
        _check_ends(section, draft, problems)
        _check_flow_keys(section, kind, problems)
        if kind == "tcp":
            _check_congestion_control(section, draft, problems)
        elif kind == "program":
            _check_program(section, draft, problems)
        else:
            _complete_payload(section, kind, mtu_bytes, ip_header_bytes, problems)
        _complete_flow_times(section, duration_ns, problems)
        if kind == "program":
            _check_client_start(section, problems)
    if traffic is not None:
        for name in traffic.values.get("congestion_controls", {}):
            mixed = Section("traffic", traffic.where("congestion_controls"), {"congestion_control": name}, schema=Flow)
            _check_congestion_control(mixed, draft, problems)
    # Names are checked for all flows together, because two flows must not have the same name.
    _check_names(draft, problems)
    _check_replies(draft, problems)
    _check_ends_of_run(draft, problems)


def fields_of_other_kinds(kind: str) -> dict[str, str]:
    """Return the fields of `Flow` that only other kinds of flow have, each with its key. Flows of this kind have None
    in these fields."""
    known = keys(Flow)
    others = dict.fromkeys(key for only in FLOW_KEYS.values() for key in only if key not in FLOW_KEYS[kind])
    return {known[key][0]: key for key in others}


def station_names(draft: Draft) -> list[str]:
    """Return the names of the stations, in the order of the text. A station whose name is wrong is left out."""
    return [str(section.values["name"]) for section in draft.stations if "name" in section.values]


def _check_ends(section: Section, draft: Draft, problems: Problems) -> None:
    stations = station_names(draft)
    for key in ("source", "destination"):
        name = section.values.get(key)
        # If a station has an invalid name, a flow with an unknown source or destination probably means this station.
        # The invalid name is already reported, so the unknown source or destination is not reported as a second
        # mistake.
        all_named = len(stations) == len(draft.stations)
        if name is not None and name not in stations and all_named:
            section.refuse(problems, key, f'there is no station "{name}"', one_of(name, stations, "stations:"))
    source = section.values.get("source")
    if source is not None and source == section.values.get("destination"):
        section.refuse(problems, "destination", f'"{source}" is the source too', "a flow joins two stations")


def _check_flow_keys(section: Section, kind: str, problems: Problems) -> None:
    """Check that a flow has no keys that belong to other kinds of flows. Probes may have only one key that sets their
    pace."""
    known = keys(Flow)
    for field, key in fields_of_other_kinds(kind).items():
        if section.gave(key):
            kinds = " and ".join(other for other, only in FLOW_KEYS.items() if key in only)
            section.refuse(problems, key, f"is a key of {kinds}, and this flow is {kind}", "take it out")
        section.values[field] = None
    if kind not in PACE_KEYS:
        return
    pace = PACE_KEYS[kind]
    paced = section.values.get("packet_rate_pkts_per_s") is not None
    if paced and section.gave(pace):
        rule = f"is given too, and {pace} says the same of {kind}"
        section.refuse(problems, "packet_rate", rule, "take one of them out")
    if paced:
        section.values[known[pace][0]] = None
    if kind == "ping":
        _complete_flood(section, paced, problems)
    if kind == "udp":
        # A wrong rate has been reported already, so it is not reported as missing.
        wrong = any(section.gave(key) and known[key][0] not in section.values for key in ("rate", "packet_rate"))
        if section.values.get("rate_bps") is None and not paced and not wrong:
            rule = "is missing: udp sends at a constant rate"
            section.refuse(problems, "rate", rule, 'write rate = "1 Mbit/s", or packet_rate = "1000 pkts/s"')


def _check_program(section: Section, draft: Draft, problems: Problems) -> None:
    """Check a program's flow. It needs a client, absolute directories, and correctly spelt names in braces. ``in_flight
    = "source"`` needs packets with the tag of their path. Only the agent's own sockets can add this tag, so this value
    is rejected."""
    if not section.gave("client"):
        hint = 'write client = "iperf3 -c {server} -p {port}"'
        problems.add(section.origin, f"{section.name}.client", "is missing: a program flow runs one", hint)
    if section.gave("client_after") and section.values.get("server") is None and not section.gave("server"):
        rule, hint = "is given, and the flow has no server to wait for", "take it out, or give a server"
        section.refuse(problems, "client_after", rule, hint)
    elif section.values.get("server") is None:
        section.values["client_after_ns"] = 0
    for key in ("directory", "rootfs"):
        path = section.values.get(key)
        if path is not None and not path.startswith("/"):
            section.refuse(problems, key, f'"{path}" is not an absolute path', "write it from / on")
    for key in ("client", "server"):
        command = section.values.get(key) or ""
        for name in _BRACES.findall(command):
            # Words in braces that resemble none of the names are passed to the program unchanged.
            near = nearest(name, FILLED_IN) if name not in FILLED_IN else None
            if near is not None:
                hint = f"did you mean {{{near}}}? filled in are {', '.join(f'{{{known}}}' for known in FILLED_IN)}"
                section.refuse(problems, key, f"{{{name}}} stands for nothing", hint)
    if draft.sections["routing"].value("in_flight") == "source":
        rule = 'is a program, and routing.in_flight is "source": packets of programs cannot carry the tag of their path'
        section.refuse(problems, "kind", rule, 'write in_flight = "drain" or "drop"')


def _check_client_start(section: Section, problems: Problems) -> None:
    start_ns = section.value("start_ns")
    after_ns, stop_ns = section.value("client_after_ns"), section.values["stop_ns"]
    if start_ns < stop_ns <= start_ns + after_ns:
        rule = f"{units.TIME.format(after_ns)} after the start the flow has stopped ({units.TIME.format(stop_ns)})"
        section.refuse(problems, "client_after", rule, "let the client start earlier, or the flow stop later")


def _complete_payload(section: Section, kind: str, mtu_bytes: int, ip_header_bytes: int, problems: Problems) -> None:
    """Check that a probe with its headers fits into one packet of the network's MTU."""
    most_bytes = mtu_bytes - ip_header_bytes - PROBE_HEADER_BYTES
    # With a smaller MTU, the default payload is reduced to what fits, so that the default causes no error.
    if kind == "udp" and not section.gave("payload"):
        section.values["payload_bytes"] = min(UDP_PAYLOAD_BYTES, most_bytes)
    if section.value("payload_bytes") > most_bytes:
        rule = f"makes packets longer than network.mtu = {units.BYTES.format(mtu_bytes)}"
        section.refuse(problems, "payload", rule, f"at most {most_bytes} B fit")


def _complete_flood(section: Section, paced: bool, problems: Problems) -> None:
    """Set the longest time between two probes of a flood (iputils: 10 ms). A flood sends the next probe as soon as a
    reply arrives, even if this time is not over."""
    flood = section.value("flood")
    if flood and paced:
        rule = "is given too, and a flood is paced by its replies"
        section.refuse(problems, "packet_rate", rule, 'write interval = "10 ms" instead')
    elif flood and not section.value("replies"):
        rule = "is false, and a flood is paced by its replies"
        section.refuse(problems, "replies", rule, "write replies = true, or flood = false")
    elif flood and not section.gave("interval"):
        section.values["interval_ns"] = FLOOD_INTERVAL_NS
    elif not flood and not paced and section.values.get("interval_ns", 0) is None:
        rule = 'is "none", and this flow is no flood'
        section.refuse(problems, "interval", rule, 'write flood = true, or interval = "1 s"')


def _check_names(draft: Draft, problems: Problems) -> None:
    first: dict[str, str] = {}
    named = [(section, section.values["name"]) for section in draft.flows if section.values.get("name") is not None]
    every = {name for _, name in named}
    for section, name in named:
        where, key = section.where("name"), f"{section.name}.name"
        if _FLOW_NAME.fullmatch(name) is None:
            rule = f'"{name}" is not the name of a flow'
            hint = "1 to 40 letters, digits, blanks, dots, dashes and underscores, a letter first"
            problems.add(where, key, rule, hint)
        elif _NAME_OF_NUMBER.fullmatch(name) is not None:
            rule = f'"{name}" is what a flow without a name is called'
            problems.add(where, key, rule, 'say what it does, as in name = "upload"')
        elif name in first:
            free = next(text for number in count(2) if (text := f"{name}-{number}") not in every)
            problems.add(where, key, f'{first[name]} is called "{name}", too', f'write name = "{free}"')
        first.setdefault(name, section.name)


def _check_replies(draft: Draft, problems: Problems) -> None:
    """Check that pings to the same destination are all answered or all unanswered."""
    # In a destination's kernel, icmp_echo_ignore_all applies to all echo requests.
    first: dict[str, tuple[str, bool]] = {}
    for section in draft.flows:
        destination = section.values.get("destination")
        if section.value("kind") != "ping" or destination is None:
            continue
        replies = section.value("replies")
        other, theirs = first.setdefault(destination, (section.name, replies))
        if replies != theirs:
            rule = f"is {str(replies).lower()}, and of {other}, which also pings {destination}, it is not"
            hint = f"{destination} answers all pings or none: write the same in both"
            section.refuse(problems, "replies", rule, hint)


def _check_ends_of_run(draft: Draft, problems: Problems) -> None:
    """If the run ends with its flows, check that at least one flow ends by itself."""
    run = draft.sections["run"]
    ends = [s for s in draft.flows if s.values.get("size_bytes") is not None or s.values.get("packets") is not None]
    ends += [s for s in draft.flows if s.values.get("client") and s.values.get("expect_exit", 0) is not None]
    if run.value("ends") == "flows" and not ends and "traffic" not in draft.sections:
        rule = 'is "flows", and no flow has an end of its own'
        hint = "give a tcp flow a size, or a ping or udp flow packets; a program's client ends by itself"
        run.refuse(problems, "ends", rule, hint)


def _check_congestion_control(section: Section, draft: Draft, problems: Problems) -> None:
    """Check that the guest kernel has the congestion control. With a user's own kernel or modules, only the form of the
    name is checked.

    The kernel looks up names of at most TCP_CA_NAME_MAX = 16 bytes, including the closing 0 (include/net/tcp.h).
    """
    name = section.value("congestion_control")
    kernel = draft.sections["guest"].value("kernel")
    own = draft.sections["guest"].gave("cc_modules")
    # Congestion controls of a user's own kernel or module are known only once the guest boots.
    if kernel == "default" and not own and name not in CONGESTION_CONTROLS:
        hint = one_of(name, CONGESTION_CONTROLS, "it has:")
        hint += "; a module of your own (guest.cc_modules) or a kernel of your own (guest.kernel) may have others"
        section.refuse(problems, "congestion_control", f'the guest kernel has no congestion control "{name}"', hint)
    elif _CC_NAME.fullmatch(name) is None:
        rule = f'"{name}" is not the name of a congestion control (at most 15 letters of ASCII, digits, - and _)'
        section.refuse(problems, "congestion_control", rule)


def _complete_flow_times(section: Section, duration_ns: int, problems: Problems) -> None:
    start_ns = section.value("start_ns")
    stop_ns = section.values.get("stop_ns")
    if stop_ns is None:
        section.values["stop_ns"] = stop_ns = duration_ns
    duration = units.TIME.format(duration_ns)
    if start_ns >= duration_ns:
        rule = f'"{units.TIME.format(start_ns)}" is not before the end of the run ({duration})'
        section.refuse(problems, "start", rule, "start earlier or let the run last longer")
    elif stop_ns <= start_ns:
        rule = f'"{units.TIME.format(stop_ns)}" is not after the start ("{units.TIME.format(start_ns)}")'
        section.refuse(problems, "stop", rule, 'a flow stops after it starts; "end" is the end of the run')
    if stop_ns > duration_ns:
        rule = f'"{units.TIME.format(stop_ns)}" is after the end of the run ({duration})'
        section.refuse(problems, "stop", rule, 'write "end", or let the run last longer')
