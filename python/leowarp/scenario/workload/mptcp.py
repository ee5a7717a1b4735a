# SPDX-License-Identifier: Apache-2.0
"""The keys `protocol = "mptcp"` and `subflow_of`: connections of Multipath TCP (RFC 8684) over several stations.

A flow with `protocol = "mptcp"` is a connection and its first subflow. A flow with `subflow_of` adds a subflow to a
connection. The new subflow has another source or another destination. The station at this other end has no host of its
own. It is an additional interface of the connection's host. The kernel's path manager opens the further subflows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from leowarp.base.spelling import one_of
from leowarp.scenario.network.family import KERNEL_WITH_IPV6
from leowarp.scenario.network.hosts import Flow
from leowarp.scenario.text.decoding import Draft, Section
from leowarp.scenario.text.problems import Problems

KERNEL_WITH_MPTCP = KERNEL_WITH_IPV6
"""The default kernel of a run over Multipath TCP, a name on the shelf."""
SUBFLOWS_MOST = 8
"""The largest number of further subflows of a connection (MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h)."""
KEYS_OF_CONNECTION = {
    "start": "start_ns", "stop": "stop_ns", "size": "size_bytes", "rate": "rate_bps",
    "congestion_control": "congestion_control",
}  # fmt: skip
"""A subflow takes the values of these keys from its connection. The dict maps each key to its attribute."""


def further_interfaces(flows: Iterable[Flow]) -> dict[str, str]:
    """Return a dict from each station that is only an additional interface to the station of its host.

    flows: The flows of a plan.

    >>> whole = Flow(source="A", destination="B", name="both", protocol="mptcp")
    >>> further_interfaces([whole, Flow(source="A2", destination="B", protocol="mptcp", subflow_of="both")])
    {'A2': 'A'}
    """
    flows = tuple(flows)
    wholes = {flow.name: flow for flow in flows if flow.is_mptcp and flow.subflow_of is None}
    joined: dict[str, str] = {}
    for flow in flows:
        if flow.subflow_of is not None:
            whole = wholes[flow.subflow_of]
            ends = ((flow.source, whole.source), (flow.destination, whole.destination))
            joined |= {mine: theirs for mine, theirs in ends if mine != theirs}
    return joined


def complete_mptcp(draft: Draft, problems: Problems) -> None:
    """Copy keys from connections to their subflows, choose the kernel, and report unsupported combinations."""
    tcp = [section for section in draft.flows if section.value("kind") == "tcp"]
    named = {section.values["name"]: section for section in draft.flows if section.values.get("name") is not None}
    subflows = [section for section in tcp if section.values.get("subflow_of") is not None]
    pairs = [(section, whole) for section in subflows if (whole := _whole(section, named, problems)) is not None]
    wholes = [section for section in tcp if _is_mptcp(section) and section not in subflows]
    if not wholes:
        return
    guest = draft.sections["guest"]
    if not guest.gave("kernel"):
        guest.values["kernel"] = KERNEL_WITH_MPTCP
    for subflow, whole in pairs:
        _take_keys(subflow, whole, problems)
    joined = _joined(pairs, problems)
    _check_joined(draft, wholes, joined, problems)
    _check_sets(wholes, pairs, problems)
    _check_surroundings(draft, wholes, problems)


def _is_mptcp(section: Section) -> bool:
    return section.value("protocol") == "mptcp"


def _whole(section: Section, named: dict[str, Section], problems: Problems) -> Section | None:
    """Return the connection to which a subflow belongs, or None after reporting that there is none."""
    name = section.values["subflow_of"]
    whole, where, key = named.get(name), section.where("subflow_of"), f"{section.name}.subflow_of"
    if whole is None:
        hint = one_of(name, list(named), "flows with a name:") if named else f'write name = "{name}" in the connection'
        problems.add(where, key, f'there is no flow "{name}"', hint)
    elif whole is section or whole.values.get("subflow_of") is not None:
        rule = f'"{name}" is a subflow itself'
        problems.add(where, key, rule, "name the flow that is the connection, which has no subflow_of")
    elif whole.value("kind") != "tcp" or not _is_mptcp(whole):
        problems.add(where, key, f'"{name}" is no connection of Multipath TCP', 'write protocol = "mptcp" in it')
    elif section.gave("protocol") and not _is_mptcp(section):
        section.refuse(problems, "protocol", f'is not "mptcp", and the flow is a subflow of "{name}"', "take it out")
    else:
        section.values["protocol"] = "mptcp"
        return whole
    return None


def _take_keys(subflow: Section, whole: Section, problems: Problems) -> None:
    """Copy the keys about start, stop and sending from the connection to a subflow."""
    for key, attribute in KEYS_OF_CONNECTION.items():
        given, theirs = (section.value(attribute) for section in (subflow, whole))
        if subflow.gave(key) and given != theirs:
            subflow.refuse(problems, key, f'is a key of the connection, "{whole.values["name"]}"', "take it out")
        subflow.values.pop(attribute, None)
        if attribute in whole.values:
            subflow.values[attribute] = whole.values[attribute]


def _joined(pairs: list[tuple[Section, Section]], problems: Problems) -> dict[str, tuple[str, Section]]:
    """Return a dict from the station of each further interface to its host's station, and to the subflow that uses the
    interface."""
    joined: dict[str, tuple[str, Section]] = {}
    for subflow, whole in pairs:
        ends = ("source", "destination")
        if any(key not in section.values for key in ends for section in (subflow, whole)):
            continue  # Another check reports a missing or wrong source or destination.
        pairs_of_stations = [(key, str(subflow.values[key]), str(whole.values[key])) for key in ends]
        other = [(key, mine, theirs) for key, mine, theirs in pairs_of_stations if mine != theirs]
        if len(other) != 1:
            rule = f'its ends are {"both" if not other else "neither of them"} those of "{whole.values["name"]}"'
            hint = "a subflow has one end of its connection, and a station of its own at the other"
            subflow.refuse(problems, "source", rule, hint)
            continue
        key, mine, theirs = other[0]
        before = joined.setdefault(mine, (theirs, subflow))[0]
        if before != theirs:
            rule = f'"{mine}" is a further interface of "{before}", too'
            subflow.refuse(problems, key, rule, "an interface belongs to one host: write another station")
    return joined


def _check_joined(
    draft: Draft, wholes: list[Section], joined: dict[str, tuple[str, Section]], problems: Problems
) -> None:
    """Check that a station's further interface is not used as a host. It may have no TCP settings, no connection and no
    program."""
    for station, (host, subflow) in joined.items():
        if host in joined:
            rule = f'"{host}" is a further interface of "{joined[host][0]}"'
            problems.add(subflow.origin, subflow.name, rule, f'let the connection begin or end at "{joined[host][0]}"')
        if station in draft.hosts:
            rule = f'has no effect: "{station}" is a further interface of "{host}"'
            problems.add(draft.hosts[station].origin, f"hosts.{station}", rule, f"write [hosts.{host}.tcp]")
    for section in draft.flows:
        if section not in wholes and section.value("kind") != "program":
            continue
        for key in ("source", "destination"):
            station = str(section.values.get(key))
            if station in joined:
                host = joined[station][0]
                rule = f'"{station}" is a further interface of "{host}", and has no host of its own'
                section.refuse(problems, key, rule, f'write {key} = "{host}"')


def _check_sets(wholes: list[Section], pairs: list[tuple[Section, Section]], problems: Problems) -> None:
    """Check that all connections of a host have the same additional interfaces. The kernel's path manager has one list
    of interfaces per host."""
    roles: dict[str, dict[str, tuple[Section, frozenset[str]]]] = defaultdict(dict)
    for whole in wholes:
        mine = [subflow for subflow, theirs in pairs if theirs is whole]
        if len(mine) > SUBFLOWS_MOST:
            rule = f"has {len(mine)} further subflows, and the kernel opens {SUBFLOWS_MOST} at most"
            problems.add(whole.origin, whole.name, rule, "take some of them out")
        for key in ("source", "destination"):
            station = whole.values.get(key)
            if station is None:
                continue
            further = frozenset(s.values[key] for s in mine if key in s.values and s.values[key] != station)
            first, theirs = roles[station].setdefault(key, (whole, further))
            if further != theirs:
                rule = f'is of "{station}", and so is {first.name}, whose subflows are at other stations'
                hint = f'the kernel opens the same subflows for each connection of "{station}": give both the same'
                whole.refuse(problems, key, rule, hint)
    for station, keys in roles.items():
        if len(keys) == 2 and any(further for _, further in keys.values()):
            section = next(section for section, further in keys.values() if further)
            rule = f'"{station}" is the source of one connection and the destination of another, and has subflows'
            problems.add(section.origin, section.name, rule, "let the other connection end at another station")


def _check_surroundings(draft: Draft, wholes: list[Section], problems: Problems) -> None:
    """Check keys of other sections that cannot be combined with Multipath TCP."""
    routing = draft.sections["routing"]
    if routing.value("in_flight") == "source":
        rule = 'is "mptcp", and routing.in_flight is "source": one socket cannot give each subflow the tag of its path'
        wholes[0].refuse(problems, "protocol", rule, 'write in_flight = "drain" or "drop"')
    for section in (draft.sections["tcp"], *draft.hosts.values()):
        if section.value("delayed_ack") == "on":
            rule = 'cannot be "on" with protocol = "mptcp": subflows take no upper-layer protocol but their own'
            section.refuse(problems, "delayed_ack", rule, 'write delayed_ack = "adaptive"')
        if section.value("loss_detection") != "kernel":
            rule = 'must be "kernel" with protocol = "mptcp": the module keeps its state where subflows keep theirs'
            section.refuse(problems, "loss_detection", rule, 'write loss_detection = "kernel"')
