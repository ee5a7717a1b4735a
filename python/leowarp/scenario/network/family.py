# SPDX-License-Identifier: Apache-2.0
"""The key `network.family`. A run over IPv6 has another default kernel, and does not support some features."""

from __future__ import annotations

from leowarp.base import units
from leowarp.scenario.network.cures import is_any_on
from leowarp.scenario.text.decoding import Draft, Section
from leowarp.scenario.text.problems import Problems

KERNEL_WITH_IPV6 = "6.12+net"
"""The name of the kernel on the shelf that a run over IPv6 uses by default."""
SMALLEST_MTU_BYTES = 1280
"""The smallest MTU with which Linux enables IPv6 on an interface (RFC 8200, 5)."""
IPV4_HINT = 'or network.family = "ipv4"'


def complete_family(draft: Draft, problems: Problems) -> None:
    """Choose the kernel of a run over IPv6, and report unsupported features."""
    network = draft.sections["network"]
    if network.value("family") != "ipv6":
        return
    guest = draft.sections["guest"]
    if not guest.gave("kernel"):
        guest.values["kernel"] = KERNEL_WITH_IPV6

    def refuse(section: Section, key: str, rule: str, hint: str) -> None:
        section.refuse(problems, key, rule, f"{hint}, {IPV4_HINT}")

    mtu_bytes = network.value("mtu_bytes")
    if mtu_bytes < SMALLEST_MTU_BYTES:
        rule = f"{units.BYTES.format(mtu_bytes)} is less than the 1280 B that IPv6 asks of every link (RFC 8200, 5)"
        refuse(network, "mtu", rule, 'write mtu = "1280 B" or more')
    if network.value("neighbours") == "arp":
        refuse(network, "neighbours", 'cannot be "arp": ARP resolves addresses of IPv4', 'write neighbours = "static"')
    routing = draft.sections["routing"]
    if routing.value("in_flight") == "source":
        rule = 'cannot be "source" over IPv6: a path\'s tag is a TOS value, and Linux has no IPv6 routes by TOS'
        refuse(routing, "in_flight", rule, 'write in_flight = "drain" or "drop"')
    cures = draft.sections["cures"]
    if is_any_on(cures):
        rule = "are given, and nodes know the flows of IPv4 alone"
        problems.add(cures.origin, "cures", rule, f"take them out, {IPV4_HINT}")
    for section in (draft.sections["tcp"], *draft.hosts.values()):
        if section.value("delayed_ack") == "on":
            rule = 'cannot be "on" over IPv6: the module delays ACKs of sockets of IPv4'
            refuse(section, "delayed_ack", rule, 'write delayed_ack = "adaptive"')
