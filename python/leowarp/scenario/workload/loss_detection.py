# SPDX-License-Identifier: Apache-2.0
"""The key `tcp.loss_detection`: its sysctls and module parameters, and its requirements on the rest of a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from leowarp.scenario.network.hosts import LOSS_DETECTION_MODULE, OWN_SCOREBOARD
from leowarp.scenario.network.profiles import PROFILE_SYSCTLS
from leowarp.scenario.text.decoding import Draft, Section
from leowarp.scenario.text.problems import Problems

_RECOVERY, _SACK = "net.ipv4.tcp_recovery", "net.ipv4.tcp_sack"
# Maps each attribute of [tcp] to a parameter of the module, and to the factor that converts the attribute's unit.
_PARAMETERS = {
    "door_freeze_ns": ("door_freeze_ns", 1),
    "door_undo_ns": ("door_undo_ns", 1),
    "rr_percentile_ratio": ("rr_percentile_ppm", 10**6),
    "pr_alpha_ratio": ("pr_alpha_ppm", 10**6),
    "pr_beta_ratio": ("pr_beta_ppm", 10**6),
}


def check_loss_detection(draft: Draft, problems: Problems) -> None:
    """Check that no other key also selects a loss detection. If the method needs SACK, check that both ends have it.

    draft: The scenario, with complete flows and stations.
    """
    for section in (draft.sections["tcp"], *draft.hosts.values()):
        _check_one_voice(section, draft.sections["tcp"], problems)
    blind = {name for name, _, _ in _senders(draft) if not _has_sack(draft, name)}
    for name, detection, section in _senders(draft):
        if detection not in OWN_SCOREBOARD:
            continue
        for flow in draft.flows:
            ends = {flow.values.get("source"), flow.values.get("destination")}
            if name in ends and ends & blind and flow.value("kind") in ("tcp", "program"):
                rule = f'"{detection}" counts what SACK reports, and {min(map(str, ends & blind))} has none'
                hint = 'write loss_detection = "kernel", or a profile with SACK: "classic"'
                section.refuse(problems, "loss_detection", rule, hint)
                break


def complete_loss_detection(draft: Draft, problems: Problems) -> None:
    """Fill in the parameters of the module from the hosts that use it. All these hosts must set the same parameters,
    because they share the guest's only kernel."""
    given = draft.modules.get(LOSS_DETECTION_MODULE)
    if given is not None:
        rule = "has its parameters from [tcp]"
        problems.add(given.origin, given.name, rule, 'write [tcp] loss_detection = "pr" and pr_beta = "300 %"')
        return
    first: dict[str, object] = {}
    for name, detection, section in _senders(draft):
        if detection == "kernel":
            continue
        for attribute in _PARAMETERS:
            own = draft.tcp(name, attribute)
            if first.setdefault(attribute, own) != own:
                key = attribute.rsplit("_", 1)[0]
                rule = "differs from that of another host, and the guest kernel has one for all"
                section.refuse(problems, key, rule, "write it into [tcp]")
    if first:
        texts = {_PARAMETERS[each][0]: _text(first[each], _PARAMETERS[each][1]) for each in _PARAMETERS}
        origin = draft.sections["tcp"].origin
        draft.modules[LOSS_DETECTION_MODULE] = Section(f"modules.{LOSS_DETECTION_MODULE}", origin, texts)


def _check_one_voice(section: Section, common: Section, problems: Problems) -> None:
    """Check that keys of the kernel's own loss detection are not combined with a method that replaces it."""
    detection = section.values.get("loss_detection", common.value("loss_detection"))
    if detection == "kernel":
        return
    if _RECOVERY in section.values.get("sysctl", {}):
        rule = f'is given, and loss_detection = "{detection}" is said by bits of it'
        problems.add(section.where("sysctl"), f"{section.name}.sysctl.{_RECOVERY}", rule, "write recovery = 1 instead")
    if detection in OWN_SCOREBOARD:
        for key in ("rack", "recovery"):
            if section.values.get(key) is not None:
                rule = f'has no effect: loss_detection = "{detection}" takes the place of RACK'
                section.refuse(problems, key, rule, "take it out")


def _senders(draft: Draft) -> Iterator[tuple[str, str, Section]]:
    """Yield each station's name, its host's loss detection, and the section that selects this method."""
    for station in draft.stations:
        name = str(station.values.get("name"))
        own = draft.hosts.get(name)
        says = own if own is not None and own.gave("loss_detection") else draft.sections["tcp"]
        yield name, draft.tcp(name, "loss_detection"), says


def _has_sack(draft: Draft, name: str) -> bool:
    """Return whether a host has selective acknowledgements. The host's sysctl decides. If the sysctl is not set, the
    key `sack` decides. If the scenario has neither, the profile decides."""
    sysctls = [section.values.get("sysctl", {}).get(_SACK) for section in (draft.hosts.get(name), draft.sections["tcp"])
               if section is not None]  # fmt: skip
    switch = draft.tcp(name, "sack")
    profile = PROFILE_SYSCTLS[draft.tcp(name, "profile")][_SACK]
    switched = profile if switch is None else str(int(switch))
    return next((text for text in sysctls if text is not None), switched) != "0"


def _text(value: object, scale: int) -> str:
    """Return a parameter in the form in which the module reads it. The result is a whole number. 0 means one round
    trip."""
    return "0" if value is None else str(round(value * scale))  # type: ignore[operator]
