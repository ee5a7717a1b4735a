# SPDX-License-Identifier: Apache-2.0
"""The variants of the study (cures and controls) and its TCPs. A variant is defined by a few scenario keys, and so is a
TCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONTROL, NETWORK, HOST = "control", "network", "host"
"""A variant acts in the network or in the hosts. `CONTROL` marks variants that serve only as references."""

NEVER_S = 3600
"""A route interval in s that is longer than any run, so that the initial path never changes."""


@dataclass(frozen=True)
class Variant:
    """A cure, or a control.

    Attributes
    ----------
    name, label : str
        The name in runs and in figures.
    where : str
        Where the variant acts: `CONTROL`, `NETWORK` or `HOST`.
    cures, routing, tcp : mapping
        The values of the scenario sections ``[cures]``, ``[routing]`` and ``[tcp]`` that the variant sets.
    links : mapping
        The scenario keys that are set both in ``[isl]`` and in ``[ground]``. Each of these keys is also in `LINKS`.
    modules : mapping
        The parameters of kernel modules, by name of the module.
    senders : mapping
        The congestion control that the variant uses with a TCP, keyed by the TCP's name. A TCP that is not a key keeps
        its own congestion control.
    tcps : tuple of str
        The names of the TCPs with which the study runs the variant. An empty tuple means all of `TCPS`.
    why : str
        The description in one sentence.
    """

    name: str
    label: str
    where: str
    why: str
    cures: Mapping[str, Any] = field(default_factory=dict)
    routing: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Any] = field(default_factory=dict)
    modules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    senders: Mapping[str, str] = field(default_factory=dict)
    tcps: tuple[str, ...] = ()

    def runs_under(self, tcp: str) -> bool:
        """Return true if the study runs the variant with a TCP of `TCPS`."""
        return not self.tcps or tcp in self.tcps


LINKS = {"queue": "500 pkts", "queue_discipline": "fifo"}
"""The scenario keys of the links, and their values. A variant may set other values."""

_FROZEN = {"interval": f"{NEVER_S} s"}
_AT_HOSTS = {
    "ncr-careful": ("NCR, careful", "three quarters of a window of duplicate ACKs, one new segment for two of them"),
    "ncr-aggressive": ("NCR, aggressive", "a window of duplicate ACKs, one new segment for each"),
    "door": ("DOOR", "no response around packets out of order, and the last one taken back"),
    "rr": ("RR-TCP", "a threshold of duplicate ACKs learned from past reordering"),
    "pr": ("TCP-PR", "a packet is lost when three times the largest RTT have passed"),
}
"""The values of `tcp.loss_detection` that need no support from the network."""

LEAD_MS = 200
"""The time in ms from an early notice to the change that it announces. This time is longer than any round trip of the
study."""
CHANGE_S, INTERVAL_S = 30, 30
"""The time of the change in each run, and the period of the schedule that senders know, both in s. Both equal
`changes.BEFORE_S`."""
_SCHEDULE = {"period_ns": f"{INTERVAL_S} s", "phase_ns": f"{CHANGE_S} s"}
# PROBE_RTT begins one round trip (some 100 ms) after the start of the scheduled window. PROBE_RTT keeps four packets in
# flight for 200 ms plus a round trip. From 50 ms after the beginning of PROBE_RTT, the path is empty for 300 ms. The
# route change is within the 300 ms in which the path is empty.
_EMPTIED = _SCHEDULE | {"phase_ns": f"{CHANGE_S * 1000 - 300} ms", "before_ns": "100 ms", "after_ns": "0 s"}
_QUEUES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "queue-50": ("queue of 50", "links hold 50 packets in place of 500", {"queue": "50 pkts"}),
    "queue-100": ("queue of 100", "links hold 100 packets", {"queue": "100 pkts"}),
    "fq-codel": ("fq_codel", "a queue for each flow, which drops by the time in it", {"queue_discipline": "fq_codel"}),
    "cake": ("cake", "the same, shaped and hashed otherwise", {"queue_discipline": "cake"}),
    "red": ("RED", "random early drops by the mean queue", {"queue_discipline": "red"}),
}
"""The queues that are kept short, so that a route change leaves few packets behind in the old queue. The queue
disciplines have the kernel's default parameters."""
_QUEUE_TCPS = {"queue-50": ("reno", "cubic")}
"""The shortest queue runs with only two TCPs, to limit the cost of the study. This queue only shows a trend."""

NONE, FROZEN, BOTH = "none", "frozen", "move-hold"
"""Three variants. `NONE` has no cure. `FROZEN` has a path that does not change. `BOTH` has the cures `hold` and `move`.
This variant is the oracle, the best possible method: packets in flight cannot be accelerated, so no method keeps the
order with less delay."""

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
    Variant("notify-ahead", f"notice {LEAD_MS} ms ahead", NETWORK, f"the same, {LEAD_MS} ms before the change",
            {"notify": True, "notify_delay": f"-{LEAD_MS} ms"}, tcp={"loss_detection": "notified"}),
    *(Variant(name, label, NETWORK, why, links=links, tcps=_QUEUE_TCPS.get(name, ()))
      for name, (label, why, links) in _QUEUES.items()),
    Variant("scheduled", "sender with the schedule", HOST, "CUBIC and BBR do not learn from what is around the change",
            modules={"cubic_handover": _SCHEDULE, "bbr_handover": _SCHEDULE},
            senders={"cubic": "cubic_handover", "classic": "cubic_handover", "bbr": "bbr_handover"},
            tcps=("cubic", "bbr", "classic")),
    Variant("emptied", "queue emptied ahead", HOST, "BBR's PROBE_RTT is scheduled just before the change",
            modules={"bbr_handover": _EMPTIED}, senders={"bbr": "bbr_handover"}, tcps=("bbr",)),
    Variant("no-rack", "no RACK", HOST, "duplicate ACKs alone, up to 300 (tcp_recovery = 0)", tcp={"recovery": 0}),
    *(Variant(name, label, HOST, why, tcp={"loss_detection": name}) for name, (label, why) in _AT_HOSTS.items()),
    Variant(f"{FROZEN}-no-rack", "path frozen, no RACK", CONTROL, "what it costs where nothing changes",
            routing=_FROZEN, tcp={"recovery": 0}),
    *(Variant(f"{FROZEN}-{name}", f"path frozen, {label}", CONTROL, "the same", routing=_FROZEN,
              tcp={"loss_detection": name}) for name, (label, _) in _AT_HOSTS.items()),
    *(Variant(f"{FROZEN}-{name}", f"path frozen, {label}", CONTROL, "the same", routing=_FROZEN, links=links,
              tcps=_QUEUE_TCPS.get(name, ())) for name, (label, _, links) in _QUEUES.items()),
)  # fmt: skip
"""All variants, in the order of tables and figures."""

BY_NAME = {variant.name: variant for variant in VARIANTS}
AT_HOSTS = tuple(_AT_HOSTS)
SHORT = {"queue-50": 50, "queue-100": 100}
"""The limits of the short queues, in packets."""
MANAGED = ("fq-codel", "cake", "red")
QUEUES = tuple(_QUEUES)
KEEP_ORDER = (BOTH, "hold", "marker")
"""The cures that should cause no late packets."""
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
"""The variants that also run at lower loads, which cause no standing queue."""
SHOWN = tuple(variant.name for variant in VARIANTS if variant.where != CONTROL)
"""All cures: the variants that are not controls."""

TCPS: Mapping[str, Mapping[str, Any]] = {
    "reno": {"congestion_control": "reno", "tcp": {}},
    "cubic": {"congestion_control": "cubic", "tcp": {}},
    "bbr": {"congestion_control": "bbr", "tcp": {}},
    "classic": {"congestion_control": "cubic", "tcp": {"profile": "classic"}},
}
"""The four TCPs: Reno, CUBIC and BBR of today's Linux, and "classic", which is CUBIC without RACK, timestamps and
DSACK."""
TCP_LABELS = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "classic": "classic"}


def name_of(variant: str, tcp: str) -> str:
    """Return the name of the scenario that combines a variant and a TCP.

    >>> name_of("move-hold", "cubic")
    'move-hold.cubic'
    """
    return f"{variant}.{tcp}"


def parts_of(name: str) -> tuple[str, str]:
    """Return the variant and the TCP that a scenario's name contains.

    >>> parts_of("move-hold.cubic")
    ('move-hold', 'cubic')
    """
    variant, _, tcp = name.rpartition(".")
    return variant, tcp
