# SPDX-License-Identifier: Apache-2.0
"""Made-up results of the study of programs: what tests judge and draw. Each number is chosen, none is measured."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leowarp.study.programs.runs import CHANGES, MOBILE, MOVING, SHARE, STARLINK, STILL, TRANSFERS
from leowarp.study.programs.senders import AIOQUIC, BBR, CUBIC, FIXED, NGTCP2, QUIC_GO, QUINN, SENDERS

SAMPLES = ("one", "two", "three")
LATE_PKTS, BEYOND_PKTS = 100, 30
TAKEN_RATIO = {CUBIC: 0.2, BBR: 0.1, NGTCP2: 0.5}
"""Share of the late packets that a sender takes for lost; the others take them all."""
GOODPUT_BPS = {
    STARLINK: {CUBIC: 10e6, BBR: 15e6, NGTCP2: 9e6, QUINN: 11e6, QUIC_GO: 8e6, AIOQUIC: 7e6},
    MOBILE: {CUBIC: 5e6, BBR: 5e6, NGTCP2: 3e6, QUINN: 1e6, QUIC_GO: 1e6, AIOQUIC: 1e6},
}
SHARES = {CUBIC: 0.5, BBR: 0.6, NGTCP2: 0.45, QUINN: 0.5, QUIC_GO: 0.3, AIOQUIC: 0.2}


def frames() -> dict[str, Any]:
    """All data sets, as the claims have it."""
    return {"runs": runs()}


def runs() -> pd.DataFrame:
    """Rows as `results.frame_of` gives them."""
    return pd.DataFrame([
        _row(group, sample, condition, sender.name)
        for group in (CHANGES, STARLINK, MOBILE, SHARE)
        for sample in SAMPLES
        for condition in ((STILL,) if group == SHARE else (MOVING, STILL))
        for sender in SENDERS
    ])  # fmt: skip


def _row(group: str, sample: str, condition: str, sender: str) -> dict[str, Any]:
    moves = condition == MOVING
    late = LATE_PKTS if moves and group in (CHANGES, MOBILE) else 0
    spurious = round(late * TAKEN_RATIO.get(sender, 1.0))
    goodput_bps = GOODPUT_BPS.get(group, {}).get(sender, 18e6) if moves else 18e6
    heard: float | None = float(spurious) if sender in (NGTCP2, QUIC_GO, AIOQUIC) else None
    if sender == AIOQUIC and heard:
        heard -= BEYOND_PKTS
    size_bytes = TRANSFERS[group].size_bytes
    known = group == CHANGES and moves
    return {
        "group": group, "sample": sample, "condition": condition, "sender": sender, "size_bytes": size_bytes,
        "completion_ns": size_bytes * 8e9 / goodput_bps, "goodput_bps": goodput_bps, "sent_pkts": 15_000,
        "lost_pkts": 40, "late_pkts": late, "beyond_pkts": BEYOND_PKTS if late else 0, "declared_pkts": 40 + spurious,
        "spurious_pkts": spurious, "found_spurious_pkts": heard,
        "share_ratio": SHARES[sender] if group == SHARE else None, "run": "there is none",
        "bytes": 7e6 if group in (CHANGES, STARLINK) else None,
        "missing_ratio": 0.02 if known else None, "dip_ratio": 0.3 if known else None,
        "recovery_ns": (4e8 if sender in FIXED else 0.0) if known else None,
    }  # fmt: skip
