# SPDX-License-Identifier: Apache-2.0
"""The completion of a scenario: it fills in presets and places, and checks rules between keys."""

from __future__ import annotations

from leowarp.base import units
from leowarp.base.spelling import nearest, one_of
from leowarp.scenario.media.chain import Chain
from leowarp.scenario.media.constellation import Constellation, FollowsConstellation
from leowarp.scenario.media.dishes import complete_dishes
from leowarp.scenario.media.medium import MEDIA, medium_of
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.names.gazetteer import PLACES
from leowarp.scenario.network.cures import check_cures, check_waits, is_any_on
from leowarp.scenario.network.family import complete_family
from leowarp.scenario.network.interruptions import check_interruptions
from leowarp.scenario.network.links import UPDATE_KEYS, Station
from leowarp.scenario.network.profiles import PROFILE_SYSCTLS, is_per_host
from leowarp.scenario.network.queues import QueueKeys, RateKeys, check_background, complete_queue
from leowarp.scenario.text.decoding import Draft, Node, Section
from leowarp.scenario.text.problems import Problems
from leowarp.scenario.workload.flows import complete_flows, station_names
from leowarp.scenario.workload.loss_detection import check_loss_detection, complete_loss_detection
from leowarp.scenario.workload.modules import complete_modules
from leowarp.scenario.workload.traffic import complete_traffic


def complete(draft: Draft, document: Node, problems: Problems) -> None:
    """Fill in the values that follow from other keys, and check the completed scenario.

    The function changes the draft in place. It adds each mistake to `problems`, and raises nothing.

    document: The root table of the text. Messages about missing keys name its line.
    """
    medium = _check_medium(draft, document, problems)
    given = [each for name, each in MEDIA.items() if name in draft.sections]
    # The constellation is completed before the stations, and the other media after the stations. Messages about the
    # same line are reported in the order in which the sections are completed.
    for each in given:
        if each is Constellation:
            each.complete(draft.sections[each.NAME], problems)
    traffic = draft.sections.get("traffic")
    if medium.STATIONS is None:
        if traffic is not None:
            complete_traffic(draft, problems)
        _complete_stations(draft, document, problems)
    else:
        if traffic is not None:
            rule = f"goes between cities, and what carries the packets is [{medium.NAME}], which has two stations"
            problems.add(traffic.origin, "traffic", rule, "take it out, or write [constellation] in its place")
        _imply_stations(draft, medium, problems)
    complete_dishes(draft, medium is Constellation, problems)
    for each in given:
        if each is not Constellation:
            each.complete(draft.sections[each.NAME], problems)
        for name, texts in each.defaults(draft.sections).items():
            draft.sections[name].fill_in(texts)
    # Flows are completed after the stations, because a flow's source and destination are stations. Flows are also
    # completed after the defaults of every medium, because a medium may set the MTU, which limits payloads.
    complete_family(draft, problems)
    complete_flows(draft, document, problems)
    complete_modules(draft, problems)
    complete_loss_detection(draft, problems)
    _check_network(draft, problems)
    _check_update(draft.sections["routing"], problems)
    _check_observe(draft, problems)
    check_cures(draft.sections, problems)
    check_interruptions(draft.sections, is_any_on(draft.sections["cures"]), problems)
    check_waits(
        draft.sections["cures"], (draft.sections["tcp"], *draft.hosts.values(), *draft.pinned.values()), problems
    )
    _check_hosts(draft, problems)
    check_loss_detection(draft, problems)


def _check_medium(draft: Draft, document: Node, problems: Problems) -> type[MediumSection]:
    """Return the type of the medium that the text gives. After a mistake, the function still returns a medium, so that
    later checks find further mistakes."""
    media = [name for name in MEDIA if name in draft.sections]
    all_of_them = ", ".join(f"[{name}]" for name in MEDIA)
    if not media:
        rule = f"none of {all_of_them} is given"
        problems.add(document.origin, "", rule, 'write [constellation] and below it preset = "oneweb-study"')
        # A scenario with stations was probably meant to have a constellation. If this function returned `Chain`, every
        # station would be reported as a mistake. The source and destination of every flow would be reported as well.
        return Constellation if draft.stations else Chain
    medium = medium_of(media)
    may_follow = issubclass(medium, FollowsConstellation)
    for extra in media:
        if extra == medium.NAME or (may_follow and extra == "constellation"):
            continue
        rule = f"[{medium.NAME}] is given too, and a scenario has exactly one of {all_of_them}"
        problems.add(draft.sections[extra].origin, extra, rule, "take one of them out")
    follows = issubclass(medium, FollowsConstellation) and _check_geometry(draft, medium, problems)
    for name, only in medium.idle(follows=follows).items():
        section = draft.sections[name]
        for key in section.nodes:
            if only is None or key in only:
                rule = f"has no effect: what carries the packets is [{medium.NAME}]"
                section.refuse(problems, key, rule, "take it out")
    return medium


def _check_geometry(draft: Draft, medium: type[FollowsConstellation], problems: Problems) -> bool:
    """Check that the scenario has a constellation if and only if the medium follows one. Return whether the medium's
    own key says that it follows one."""
    key, preset = medium.FOLLOWS
    section, sky = draft.sections[medium.NAME], draft.sections.get("constellation")
    follows = section.values.get(key, "") == "constellation"
    if follows and sky is None:
        rule = 'is "constellation", and there is no [constellation]'
        section.refuse(problems, key, rule, f'write [constellation] preset = "{preset}"')
    elif sky is not None and not follows:
        rule = f"has no effect: what carries the packets is [{medium.NAME}], which does not follow it"
        hint = f'write {key} = "constellation" into [{medium.NAME}], or take one of the two sections out'
        problems.add(sky.origin, "constellation", rule, hint)
    return follows


def _complete_stations(draft: Draft, document: Node, problems: Problems) -> None:
    """Check that all stations have unique names and coordinates."""
    # Traffic adds its own stations. If [traffic] is there but adds no station, its mistakes have already been reported.
    if not draft.stations and "traffic" not in draft.sections:
        node = document.get("stations")
        origin = document.origin if node is None else node.origin
        problems.add(origin, "stations", "are missing", 'write [[stations]] and below it name = "Madrid"')
    seen: set[str] = set()
    for section in draft.stations:
        name = section.values.get("name")
        if name is None:
            continue
        _check_station_name(section, name, seen, problems)
        seen.add(name)
        missing = [key for key in ("latitude", "longitude") if not section.gave(key)]
        # The coordinates are filled in only if the text has neither. A station thus never has one coordinate from the
        # gazetteer and one from the text.
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
    # Satellites are called s-..., so that a node's name shows its kind.
    if any(sign in name for sign in _SIGNS_NOT_IN_NAMES) or name.startswith("s-"):
        rule = f'"{name}" has one of {" ".join(_SIGNS_NOT_IN_NAMES)} or begins like a satellite (s-)'
        problems.add(origin, key, rule, "the tables write a>b and host:NAME")


def _imply_stations(draft: Draft, medium: type[MediumSection], problems: Problems) -> None:
    """Replace the scenario's stations by the two stations that the medium defines. A plan's text may contain only these
    two stations."""
    implied = medium.STATIONS or ()
    for section in draft.stations:
        name = section.values.get("name")
        if name is not None and name not in implied:
            rule = f'"{name}" cannot be placed: the stations of [{medium.NAME}] are {" and ".join(implied)}'
            section.refuse(problems, "name", rule, "take out [[stations]]")
        for key in section.nodes:
            if key != "name":
                rule = f"has no effect: what carries the packets is [{medium.NAME}]"
                section.refuse(problems, key, rule, "take it out")
    # Implied stations occur in no text, so they have no line. Messages name the line of [run], a section that always
    # exists.
    origin = draft.sections["run"].origin
    nowhere = dict.fromkeys(("latitude_deg", "longitude_deg", "height_m"))
    draft.stations[:] = [
        Section(f"stations.{i}", origin, {"name": name, **nowhere}, schema=Station) for i, name in enumerate(implied)
    ]


def _check_observe(draft: Draft, problems: Problems) -> None:
    observe = draft.sections["observe"]
    captured = observe.value("truth")
    if observe.value("pcap") != "none" and not captured:
        rule = "is asked for, and truth = false captures nothing"
        observe.refuse(problems, "pcap", rule, 'write pcap = "none", or truth = true')


def _check_network(draft: Draft, problems: Problems) -> None:
    """Check the queue limits against `link_model`, and the link rules against the satellites.

    netem counts packets in flight and has no limit in bytes. leolink supports limits in packets and in bytes, and
    counts only waiting packets (docs/concepts/links.md, netem instead).
    """
    network = draft.sections["network"]
    netem = network.value("link_model") == "netem"
    if network.value("queue_counts") == "waiting-and-flying" and not netem:
        rule = "only netem counts packets in the delay line; leolink's queue and delay line are apart"
        network.refuse(problems, "queue_counts", rule, 'write link_model = "netem" too')
    for name in ("isl", "ground", *MEDIA):
        section = draft.sections.get(name)
        if section is None or not issubclass(section.schema, QueueKeys):
            continue
        if netem and section.values.get("queue_bytes") is not None:
            rule = "netem's limit is in packets"
            section.refuse(problems, "queue", rule, 'write "500 pkts", or link_model = "leolink"')
        complete_queue(section, netem, problems)
        if issubclass(section.schema, RateKeys):
            check_background(section, problems)
    constellation, isl = draft.sections.get("constellation"), draft.sections["isl"]
    shells = constellation is not None and bool(constellation.values.get("shells"))
    across = isl.value("across_shells")
    if across and not (shells and isl.value("rule") == "range"):
        rule = 'has no effect: it is of rule = "range" over [[constellation.shells]]'
        isl.refuse(problems, "across_shells", rule, "take it out")


def _check_update(routing: Section, problems: Problems) -> None:
    """Check the keys of staggered route updates. Report keys that have no effect because all nodes switch at once. If
    nodes switch one after another, links must stay up until all have switched."""
    if routing.value("update") == "atomic":
        for key in filter(routing.gave, UPDATE_KEYS):
            rule = 'has no effect without update = "staggered"'
            routing.refuse(problems, key, rule, 'write update = "staggered", too')
        return
    # With `routing.in_flight = "source"`, a packet keeps its path although some nodes have already switched to the next
    # path. With `in_flight = "drop"` or `leaving_links = "strict"`, a link of the old path could go down during the
    # switch.
    for key, only in (("in_flight", "drain"), ("leaving_links", "keep")):
        value = routing.value(key)
        if value != only:
            rule = (
                f'cannot be "{value}" with update = "staggered": nodes that wait for their turn still use the old path'
            )
            routing.refuse(problems, key, rule, f'write {key} = "{only}", or update = "atomic"')


def _check_hosts(draft: Draft, problems: Problems) -> None:
    """Check that named hosts are stations, and that each sysctl is in the section of a host or of the whole guest."""
    stations = station_names(draft)
    # The name "" means the guest as a whole, not a station.
    for name in [name for name in draft.hosts | draft.pinned if name]:
        if name not in stations:
            origin = (draft.hosts | draft.pinned)[name].origin
            problems.add(origin, f"hosts.{name}", f'there is no station "{name}"', one_of(name, stations, "stations:"))
    for section in (draft.sections["tcp"], *draft.hosts.values()):
        _check_recovery(section, problems)
    for section in (draft.sections["tcp"], *draft.hosts.values(), *draft.pinned.values()):
        for sysctl in section.values.get("sysctl", {}):
            # A host is a network namespace, which has only those sysctls below /proc/sys/net that Linux keeps per
            # namespace.
            if not is_per_host(sysctl) and section.name:
                rule = f"{sysctl} is one for the whole guest, not one a host"
                section.refuse(problems, "sysctl", rule, "write it into [guest.sysctl]")
    pinned = [draft.pinned[""]] if "" in draft.pinned else []
    for section in (draft.sections["guest"], *pinned):
        for sysctl in section.values.get("sysctl", {}):
            if is_per_host(sysctl):
                rule = f"each host has its own {sysctl}"
                hint = "write it into [tcp.sysctl] or [hosts.NAME.tcp.sysctl]"
                problems.add(section.where("sysctl"), f"{section.name}.sysctl".lstrip("."), rule, hint)


def _check_recovery(section: Section, problems: Problems) -> None:
    if section.values.get("rack") is not None and section.values.get("recovery") is not None:
        section.refuse(problems, "rack", "is given, and recovery says it, too", "take one of them out")
    reordering, most = section.values.get("reordering"), section.values.get("max_reordering")
    if reordering is None:
        return
    profile = PROFILE_SYSCTLS[section.value("profile")]
    most = int(profile["net.ipv4.tcp_max_reordering"]) if most is None else most
    if reordering > most:
        rule = f"{reordering} is more than max_reordering ({most}), to which the kernel cuts it as reordering is seen"
        section.refuse(problems, "reordering", rule, f"write max_reordering = {reordering}, too")


_SIGNS_NOT_IN_NAMES = (":", ">", "/", "\\", ",")
"""The characters that a station name must not contain. The tables use `a>b` for a direction and `host:NAME` for a host.
A name with such a character would be ambiguous in the tables, or in a file path."""
