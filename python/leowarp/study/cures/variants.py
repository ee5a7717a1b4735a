# SPDX-License-Identifier: Apache-2.0
"""What is done about a change, and by which TCP: each variant is a few keys of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONTROL, NETWORK, HOST = "control", "network", "host"
"""Where a variant does something."""

NEVER_S = 3600
"""A route interval longer than any run: the path that is in force at the start stays."""


@dataclass(frozen=True)
class Variant:
    """A cure, or a control.

    Attributes
    ----------
    name, label : str
        In names of runs, and on figures.
    where : str
        `CONTROL`, `NETWORK` or `HOST`.
    cures, routing, tcp : mapping
        Keys of these sections.
    why : str
        What it is, in a sentence.
    """

    name: str
    label: str
    where: str
    why: str
    cures: Mapping[str, Any] = field(default_factory=dict)
    routing: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)


_FROZEN = {"interval": f"{NEVER_S} s"}
_AT_HOSTS = {
    "ncr-careful": ("NCR, careful", "three quarters of a window of duplicate ACKs, one new segment for two of them"),
    "ncr-aggressive": ("NCR, aggressive", "a window of duplicate ACKs, one new segment for each"),
    "door": ("DOOR", "no response around packets out of order, and the last one taken back"),
    "rr": ("RR-TCP", "a threshold of duplicate ACKs learned from past reordering"),
    "pr": ("TCP-PR", "a packet is lost when three times the largest RTT have passed"),
}
"""Values of `tcp.loss_detection` that need nothing of the network."""

NONE, FROZEN, BOTH = "none", "frozen", "move-hold"
"""No cure; the path that does not change; and the two cures that together keep the order with the least wait, which
stand for the oracle: packets that fly cannot be hurried, so that nothing keeps the order with less."""

VARIANTS = (
    Variant(NONE, "no cure", CONTROL, "in_flight = drain, as frederiksen2024 has it"),
    Variant(FROZEN, "path frozen", CONTROL, "the path of before stays", routing=_FROZEN),
    Variant(BOTH, "move the queue and hold", NETWORK, "order with the least wait: the oracle",
            {"move_queue": "kept", "hold": True}),
    Variant("move", "move the queue", NETWORK, "what waits at the abandoned link is sent over the new one",
            {"move_queue": "kept"}),
    Variant("hold", "hold", NETWORK, "new packets wait until those of before will have arrived", {"hold": True}),
    Variant("marker", "end marker", NETWORK, "where the ways meet, new packets wait for the last of before",
            {"end_marker": True}),
    Variant("resequence-50", "resequence, 50 ms", NETWORK, "RFC 9550, basic, each flow by itself",
            {"resequence": "flow", "resequence_delay": "50 ms"}),
    Variant("resequence-150", "resequence, 150 ms", NETWORK, "the same, 150 ms",
            {"resequence": "flow", "resequence_delay": "150 ms"}),
    Variant("resequence-all", "resequence all, 150 ms", NETWORK, "the same, all flows as one",
            {"resequence": "aggregate", "resequence_delay": "150 ms"}),
    Variant("resequence-advanced", "resequence, advanced", NETWORK, "RFC 9550, advanced: only what came by the new way",
            {"resequence": "flow", "resequence_kind": "advanced", "resequence_delay": "150 ms"}),
    Variant("duplicate", "duplicate, 200 ms", NETWORK, "both ways for 200 ms, the first of each packet counts",
            {"duplicate": "200 ms"}),
    Variant("stable", "keep until it breaks", NETWORK, "routing.margin = unlimited", routing={"margin": "unlimited"}),
    Variant("source", "path of the source", NETWORK, "packets keep the path that they left with",
            routing={"in_flight": "source"}),
    Variant("notify", "notice", NETWORK, "the node tells the sender, whose loss detection waits",
            {"notify": True}, tcp={"loss_detection": "notified"}),
    Variant("notify-late", "notice 200 ms late", NETWORK, "the same, 200 ms after the change",
            {"notify": True, "notify_delay": "200 ms"}, tcp={"loss_detection": "notified"}),
    Variant("notify-lossy", "notice lost in half", NETWORK, "the same, half of the notices lost",
            {"notify": True, "notify_loss": "50 %"}, tcp={"loss_detection": "notified"}),
    Variant("no-rack", "no RACK", HOST, "duplicate ACKs alone, up to 300 (tcp_recovery = 0)", tcp={"recovery": 0}),
    *(Variant(name, label, HOST, why, tcp={"loss_detection": name}) for name, (label, why) in _AT_HOSTS.items()),
    Variant(f"{FROZEN}-no-rack", "path frozen, no RACK", CONTROL, "what it costs where nothing changes",
            routing=_FROZEN, tcp={"recovery": 0}),
    *(Variant(f"{FROZEN}-{name}", f"path frozen, {label}", CONTROL, "the same", routing=_FROZEN,
              tcp={"loss_detection": name}) for name, (label, _) in _AT_HOSTS.items()),
)  # fmt: skip
"""Every variant, in the order of tables and figures."""

BY_NAME = {variant.name: variant for variant in VARIANTS}
AT_HOSTS = tuple(_AT_HOSTS)
KEEP_ORDER = (BOTH, "hold", "marker")
"""Cures that are to leave nothing late."""
LOADED = (
    NONE,
    FROZEN,
    BOTH,
    "move",
    "hold",
    "marker",
    "resequence-50",
    "resequence-150",
    "duplicate",
    "stable",
    "notify",
)
"""Variants that are also run at loads at which no queue stands."""
SHOWN = tuple(variant.name for variant in VARIANTS if variant.where != CONTROL)
"""Cures, without controls."""

TCPS: Mapping[str, Mapping[str, Any]] = {
    "reno": {"congestion_control": "reno", "tcp": {}},
    "cubic": {"congestion_control": "cubic", "tcp": {}},
    "bbr": {"congestion_control": "bbr", "tcp": {}},
    "classic": {"congestion_control": "cubic", "tcp": {"profile": "classic"}},
}
"""Linux's own three, and CUBIC on TCP as it was before RACK, timestamps and DSACK."""
TCP_LABELS = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "classic": "classic"}


def name_of(variant: str, tcp: str) -> str:
    """The scenario's name of a variant under a TCP, by which its rows are found again.

    >>> name_of("move-hold", "cubic")
    'move-hold.cubic'
    """
    return f"{variant}.{tcp}"


def parts_of(name: str) -> tuple[str, str]:
    """Variant and TCP of a scenario's name.

    >>> parts_of("move-hold.cubic")
    ('move-hold', 'cubic')
    """
    variant, _, tcp = name.rpartition(".")
    return variant, tcp
