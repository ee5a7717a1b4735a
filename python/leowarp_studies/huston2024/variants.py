# SPDX-License-Identifier: Apache-2.0
"""The variants of the study: congestion controls, and changes of the host or of the link. Each variant is a row of the
results table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BBR3_KERNEL = "6.12+bbr3"
"""The optional kernel whose tcp_bbr.c is version 3."""


@dataclass(frozen=True)
class Variant:
    """A row of the study's table.

    name: The name in the results.
    label: The label in figures and tables.
    set: The scenario keys of the variant, which apply to both hosts and to every flow.
    why: The reason for this row.
    """

    name: str
    label: str
    congestion_control: str
    set: Mapping[str, Any]
    why: str = ""

    @property
    def plain(self) -> str:
        """Return the name of the variant of `MAIN` that this row modifies."""
        # DCTCP grows its window as Reno does (tcp_reno_cong_avoid).
        own = self.congestion_control.removesuffix("_handover")
        return "reno" if own == "dctcp" else own


def _aqm(discipline: str, *, ecn: bool = True) -> dict[str, Any]:
    """Return the scenario keys that turn on active queue management in both directions. With ECN, the keys let the link
    mark packets and the hosts negotiate ECN."""
    return {"access.queue_discipline": discipline, "access.ecn": ecn, "tcp.ecn": "on" if ecn else "off"}


MAIN = (
    Variant("reno", "Reno", "reno", {}, "the study names it, and shows no session"),
    Variant("cubic", "CUBIC", "cubic", {}, "the study"),
    Variant("bbr", "BBR", "bbr", {}, "the study"),
)
"""The variants Reno, CUBIC and BBR, which run at peak and off-peak, and whose traces are stored."""

CURES = (
    Variant("bbr_handover", "BBR, handover-aware", "bbr_handover", {}, "beyond claim 3.12"),
    Variant("cubic_handover", "CUBIC, handover-aware", "cubic_handover", {}, "claim 3.13"),
    Variant("cubic-ecn-fq_codel", "CUBIC, ECN, fq_codel", "cubic", _aqm("fq_codel"), "RFC 3168 beside claim 3.14"),
)
"""Variants with cures for handovers that go further than the study's proposals, and variants with ECN as in RFC
3168."""

_DEFER = {"modules.bbr_handover.only_defer": "1"}
_MARKS = {"modules.cubic_handover.marks_only": "1"}
# As DCTCP's authors propose, every packet is marked while the queue is above a small limit (RFC 8257, 3.1). The
# threshold for marks is a delay, because the link's rate varies.
_STEP = {"access.queue_parameters": {"ce_threshold": "5 ms"}}

PROPOSALS = (
    Variant("bbr_handover-defer", "BBR, defers only", "bbr_handover", _DEFER, "claim 3.12 as written"),
    Variant("cubic_handover-marks", "CUBIC, marks only, fq_codel", "cubic_handover", _aqm("fq_codel") | _MARKS,
            "claim 3.14: our reading of \"differentiate\""),
    Variant("dctcp-ecn-fq_codel", "DCTCP, fq_codel above 5 ms", "dctcp", _aqm("fq_codel") | _STEP,
            "another response to marks"),
)  # fmt: skip
"""The study's proposals in their original form."""

BBR3 = (
    Variant("bbr3", "BBR version 3", "bbr", {}, "claim 3.17"),
    Variant("bbr3_handover", "BBR version 3, defers", "bbr_handover", {}, "claim 3.17"),
)
"""The variants that need the kernel `BBR3_KERNEL`, and are in separate groups."""

OTHERS = (
    # This variant is the control of claim 3.14, because a managed queue has an effect even without ECN (fq_codel: RFC
    # 8290).
    Variant("cubic-fq_codel", "CUBIC, fq_codel", "cubic", _aqm("fq_codel", ecn=False), "what ECN adds to fq_codel"),
    Variant("cubic-ecn-cake", "CUBIC, ECN, cake", "cubic", _aqm("cake"), "another AQM"),
    # PIE is defined in RFC 8033, CoDel in RFC 8289. Several AQMs are run, because they mark packets at different times,
    # and the claim must not depend on one AQM.
    Variant("cubic-ecn-pie", "CUBIC, ECN, pie", "cubic", _aqm("pie"), "another AQM"),
    Variant("cubic-ecn-red", "CUBIC, ECN, red", "cubic", _aqm("red"), "another AQM"),
    Variant("cubic-ecn-codel", "CUBIC, ECN, codel", "cubic", _aqm("codel"), "another AQM"),
    # fq spreads the packets of a window over the round trip. Without pacing, packets leave as soon as ACKs arrive.
    Variant("reno-fq", "Reno, paced (fq)", "reno", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic-fq", "CUBIC, paced (fq)", "cubic", {"tcp.pacing": "fq"}, "pacing"),
    # BBR paces itself with TCP's timers if the host has no fq (sk_pacing_status in tcp_bbr.c's bbr_init).
    Variant("bbr-fq", "BBR, paced by fq", "bbr", {"tcp.pacing": "fq"}, "pacing: BBR's own timers otherwise"),
    Variant("bbr_handover-fq", "BBR, handover-aware, fq", "bbr_handover", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic_handover-fq", "CUBIC, handover-aware, fq", "cubic_handover", {"tcp.pacing": "fq"}, "pacing"),
)
"""Variants with a queue discipline that is not the default, and variants in which fq paces packets."""

REPAIRS = (
    # Without SACK (RFC 2018), the sender repairs one loss per round trip (NewReno, RFC 6582).
    Variant("cubic-nosack", "CUBIC, no SACK", "cubic", {"tcp.sack": False}, "claim 3.11"),
    # RACK (RFC 8985) detects losses by time; without RACK, the sender waits for three duplicate ACKs.
    Variant("cubic-norack", "CUBIC, no RACK", "cubic", {"tcp.rack": False}, "RACK"),
    # With DSACK (RFC 2883), a sender learns that a retransmission was spurious, and Linux undoes the cut.
    Variant("cubic-nodsack", "CUBIC, no DSACK", "cubic", {"tcp.dsack": False}, "DSACK"),
    Variant("reno-nosack", "Reno, no SACK", "reno", {"tcp.sack": False}, "claim 3.11"),
    Variant("bbr-nosack", "BBR, no SACK", "bbr", {"tcp.sack": False}, "claim 3.11"),
)
"""The variants that switch off one part of loss detection or of loss repair."""

VARIANTS = (*MAIN, *CURES, *PROPOSALS, *BBR3, *OTHERS, *REPAIRS)
BY_NAME = {variant.name: variant for variant in VARIANTS}

BESIDE = "cubic"
"""In the group `beside`, each variant shares the link with a flow of this variant."""
NEVER_BESIDE = ("cubic-nodsack", "reno-nosack", "bbr-nosack", *(variant.name for variant in (*PROPOSALS, *BBR3)))
"""The variants that are left out of the group `beside`. Most of these variants change a setting of the whole host, such
as SACK. This setting would also change the CUBIC flow on this host. BBR version 3 is in a separate group."""

CLEAN = (*MAIN, *CURES, REPAIRS[0])
"""The variants that are also run without isolated loss, because isolated loss hides the effect of handovers at peak."""

_KEYS: dict[str, Any] = {
    "access.queue_discipline": "fifo", "access.ecn": False, "access.queue_parameters": {}, "tcp.ecn": "passive",
    "tcp.pacing": "internal", "tcp.sack": "profile", "tcp.rack": "profile", "tcp.dsack": "profile",
    "modules.bbr_handover.only_defer": "0", "modules.cubic_handover.marks_only": "0",
}  # fmt: skip
"""The scenario keys in which variants differ, and their values for variants that do not set the key."""


def in_step(variants: Sequence[Variant]) -> dict[str, Any]:
    """Return the scenario keys of the variants, as parameters that vary together. The variant's name is set as the
    scenario's name, which becomes the column `name` of the results."""
    table: dict[str, Any] = {
        "name": [variant.name for variant in variants],
        "flows.0.congestion_control": {
            "label": "congestion_control",
            "values": [variant.congestion_control for variant in variants],
        },
    }
    for key, default in _KEYS.items():
        values = [variant.set.get(key, default) for variant in variants]
        # A key that no variant of the group sets is left out, so that the scenario's own value applies.
        if any(value != default for value in values):
            table[key] = values
    return table
