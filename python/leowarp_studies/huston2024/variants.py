# SPDX-License-Identifier: Apache-2.0
"""Rows of the study's table: congestion controls, and what is changed about the host or the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BBR3_KERNEL = "6.12+bbr3"
"""The kernel of the shelf whose tcp_bbr.c is version 3."""


@dataclass(frozen=True)
class Variant:
    """A row of the study's table.

    name: In the results.
    label: On figures and in tables.
    set: Further keys of the scenario, all of them hold for both hosts and every flow.
    why: What it is there for.
    """

    name: str
    label: str
    congestion_control: str
    set: Mapping[str, Any]
    why: str = ""

    @property
    def plain(self) -> str:
        """The one of `MAIN` of which this changes something."""
        # DCTCP grows its window as Reno does (tcp_reno_cong_avoid).
        own = self.congestion_control.removesuffix("_handover")
        return "reno" if own == "dctcp" else own


def _aqm(discipline: str, *, ecn: bool = True) -> dict[str, Any]:
    """Keys of an active queue management on both directions; ECN needs the link to mark and the hosts to ask for it."""
    return {"access.queue_discipline": discipline, "access.ecn": ecn, "tcp.ecn": "on" if ecn else "off"}


MAIN = (
    Variant("reno", "Reno", "reno", {}, "the study names it, and shows no session"),
    Variant("cubic", "CUBIC", "cubic", {}, "the study"),
    Variant("bbr", "BBR", "bbr", {}, "the study"),
)
"""Reno, CUBIC and BBR, at peak and off-peak, of which the traces are kept. The study shows no session of Reno's."""

CURES = (
    Variant("bbr_handover", "BBR, handover-aware", "bbr_handover", {}, "beyond claim 3.12"),
    Variant("cubic_handover", "CUBIC, handover-aware", "cubic_handover", {}, "claim 3.13"),
    Variant("cubic-ecn-fq_codel", "CUBIC, ECN, fq_codel", "cubic", _aqm("fq_codel"), "RFC 3168 beside claim 3.14"),
)
"""Cures for handovers that go further than the study proposes, and ECN as RFC 3168 has it; their traces are kept."""

_DEFER = {"modules.bbr_handover.only_defer": "1"}
_MARKS = {"modules.cubic_handover.marks_only": "1"}
# Marks as DCTCP's authors have them: every packet above a short queue (RFC 8257, 3.1), by delay as the rate varies.
_STEP = {"access.queue_parameters": {"ce_threshold": "5 ms"}}

PROPOSALS = (
    Variant("bbr_handover-defer", "BBR, defers only", "bbr_handover", _DEFER, "claim 3.12 as written"),
    Variant("cubic_handover-marks", "CUBIC, marks only, fq_codel", "cubic_handover", _aqm("fq_codel") | _MARKS,
            "claim 3.14: our reading of \"differentiate\""),
    Variant("dctcp-ecn-fq_codel", "DCTCP, fq_codel above 5 ms", "dctcp", _aqm("fq_codel") | _STEP,
            "another response to marks"),
)  # fmt: skip
"""The study's proposals, and no more; their traces are kept."""

BBR3 = (
    Variant("bbr3", "BBR version 3", "bbr", {}, "claim 3.17"),
    Variant("bbr3_handover", "BBR version 3, defers", "bbr_handover", {}, "claim 3.17"),
)
"""On the kernel `BBR3_KERNEL`, in groups of their own."""

OTHERS = (
    # The control for claim 3.14: a queue that is managed helps by itself, ECN or not (fq_codel: RFC 8290).
    Variant("cubic-fq_codel", "CUBIC, fq_codel", "cubic", _aqm("fq_codel", ecn=False), "what ECN adds to fq_codel"),
    Variant("cubic-ecn-cake", "CUBIC, ECN, cake", "cubic", _aqm("cake"), "another AQM"),
    # PIE: RFC 8033; CoDel: RFC 8289. The AQM that marks decides how early, so the claim is not left to one of them.
    Variant("cubic-ecn-pie", "CUBIC, ECN, pie", "cubic", _aqm("pie"), "another AQM"),
    Variant("cubic-ecn-red", "CUBIC, ECN, red", "cubic", _aqm("red"), "another AQM"),
    Variant("cubic-ecn-codel", "CUBIC, ECN, codel", "cubic", _aqm("codel"), "another AQM"),
    # fq spreads the packets of a window over the round trip, where the plain one sends them as ACKs come.
    Variant("reno-fq", "Reno, paced (fq)", "reno", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic-fq", "CUBIC, paced (fq)", "cubic", {"tcp.pacing": "fq"}, "pacing"),
    # BBR paces itself by TCP's own timers where the host has no fq (sk_pacing_status in tcp_bbr.c's bbr_init).
    Variant("bbr-fq", "BBR, paced by fq", "bbr", {"tcp.pacing": "fq"}, "pacing: BBR's own timers otherwise"),
    Variant("bbr_handover-fq", "BBR, handover-aware, fq", "bbr_handover", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic_handover-fq", "CUBIC, handover-aware, fq", "cubic_handover", {"tcp.pacing": "fq"}, "pacing"),
)
"""Other queues, and pacing by fq."""

REPAIRS = (
    # Without SACK (RFC 2018) losses are repaired by NewReno, one a round trip (RFC 6582).
    Variant("cubic-nosack", "CUBIC, no SACK", "cubic", {"tcp.sack": False}, "claim 3.11"),
    # RACK (RFC 8985) finds losses by time; without it duplicate ACKs do, three of them.
    Variant("cubic-norack", "CUBIC, no RACK", "cubic", {"tcp.rack": False}, "RACK"),
    # DSACK (RFC 2883) tells a sender that a retransmission was not needed, and Linux takes the cut back.
    Variant("cubic-nodsack", "CUBIC, no DSACK", "cubic", {"tcp.dsack": False}, "DSACK"),
    Variant("reno-nosack", "Reno, no SACK", "reno", {"tcp.sack": False}, "claim 3.11"),
    Variant("bbr-nosack", "BBR, no SACK", "bbr", {"tcp.sack": False}, "claim 3.11"),
)
"""Without a part of how losses are found and repaired; their traces are kept too."""

VARIANTS = (*MAIN, *CURES, *PROPOSALS, *BBR3, *OTHERS, *REPAIRS)
BY_NAME = {variant.name: variant for variant in VARIANTS}

BESIDE = "cubic"
"""The reference of each."""
NEVER_BESIDE = ("cubic-nodsack", "reno-nosack", "bbr-nosack", *(variant.name for variant in (*PROPOSALS, *BBR3)))
"""Not in the group `beside`: CUBIC would do without SACK or answer marks too, since these are settings of a host;
version 3 has a group of its own."""

CLEAN = (*MAIN, *CURES, REPAIRS[0])
"""Also run without any isolated loss, which at peak hides what handovers cost."""

_KEYS: dict[str, Any] = {
    "access.queue_discipline": "fifo", "access.ecn": False, "access.queue_parameters": {}, "tcp.ecn": "passive",
    "tcp.pacing": "internal", "tcp.sack": "profile", "tcp.rack": "profile", "tcp.dsack": "profile",
    "modules.bbr_handover.only_defer": "0", "modules.cubic_handover.marks_only": "0",
}  # fmt: skip
"""The keys in which variants differ, with the value of those that do not name it."""


def in_step(variants: Sequence[Variant]) -> dict[str, Any]:
    """Variants as parameters that go in step; the scenario's name is theirs: the column `name` of the results."""
    table: dict[str, Any] = {
        "name": [variant.name for variant in variants],
        "flows.0.congestion_control": {
            "label": "congestion_control",
            "values": [variant.congestion_control for variant in variants],
        },
    }
    for key, default in _KEYS.items():
        values = [variant.set.get(key, default) for variant in variants]
        # A key that no variant of the group changes is left to the scenario.
        if any(value != default for value in values):
            table[key] = values
    return table
