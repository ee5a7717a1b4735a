# SPDX-License-Identifier: Apache-2.0
"""Invented results of the study of programs, for tests of claims and figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leowarp_studies.programs.application_runs import PAGES, VIDEOS
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, SHARE, STARLINK, STILL, TRANSFERS
from leowarp_studies.programs.senders import AIOQUIC, BBR, CUBIC, FIXED, NGTCP2, QUIC_GO, QUINN, SENDERS
from leowarp_studies.programs.ways import LIVE, LOADED, PLAYERS, WAYS

SAMPLES = ("one", "two", "three")
LATE_PKTS, BEYOND_PKTS = 100, 30
TAKEN_RATIO = {CUBIC: 0.2, BBR: 0.1, NGTCP2: 0.5}
"""A dict from sender to the share of the late packets that it declares lost. A sender that is not in the dict declares
all of them lost."""
GOODPUT_BPS = {
    STARLINK: {CUBIC: 10e6, BBR: 15e6, NGTCP2: 9e6, QUINN: 11e6, QUIC_GO: 8e6, AIOQUIC: 7e6},
    MOBILE: {CUBIC: 5e6, BBR: 5e6, NGTCP2: 3e6, QUINN: 1e6, QUIC_GO: 1e6, AIOQUIC: 1e6},
}
SHARES = {CUBIC: 0.5, BBR: 0.6, NGTCP2: 0.45, QUINN: 0.5, QUIC_GO: 0.3, AIOQUIC: 0.2}


def frames() -> dict[str, Any]:
    """Return all data sets, in the form that the claims expect."""
    return {"runs": runs(), "pages": pages(), "videos": videos()}


def runs() -> pd.DataFrame:
    """Return rows in the form of `results.frame_of`."""
    return pd.DataFrame([
        _row(group, sample, condition, sender.name)
        for group in (CHANGES, STARLINK, MOBILE, SHARE)
        for sample in SAMPLES
        for condition in ((STILL,) if group == SHARE else (MOVING, STILL))
        for sender in SENDERS
    ])  # fmt: skip


def pages() -> pd.DataFrame:
    """Return rows in the form of `application_results.pages_of`."""
    return pd.DataFrame([
        {
            "path": path, "sample": sample, "condition": condition, "way": way.name,
            "load_ns": _load_s(path, condition, way.name) * 1e9,
            "object_mean_ns": 0.6e9 * (_LONGER.get((path, way.name), 1.0) if condition == MOVING else 1.0),
            "sent_pkts": 1400, "lost_pkts": 3, "late_pkts": 30 if condition == MOVING else 0, "run": "there is none",
        }
        for path in PAGES for sample in SAMPLES for condition in (MOVING, STILL) for way in WAYS if way.name in LOADED
    ])  # fmt: skip


_LONGER = {(STARLINK, way.name): 1.2 if way.http == "3" else 1.4 for way in WAYS}
_MOBILE_S = {"http1-cubic": 4.0, "http2-cubic": 6.0, "http3-aioquic": 40.0}


def _load_s(path: str, condition: str, way: str) -> float:
    if path == MOBILE:
        return _MOBILE_S.get(way, 5.0) if condition == MOVING else 3.0
    still_s = 1.8 if way.startswith("http1") else 1.4
    return still_s * (1.15 if way.endswith("bbr") else 1.3) if (path, condition) == (STARLINK, MOVING) else still_s


def videos() -> pd.DataFrame:
    """Return rows in the form of `application_results.videos_of`."""
    return pd.DataFrame([
        {
            "path": path, "sample": sample, "condition": condition, "player": player.name, "way": way,
            "startup_ns": 0.9e9, "stalls": 1 if _stalls(path, condition, player.name) else 0,
            "stalled_ns": 0.7e9 if _stalls(path, condition, player.name) else 0.0,
            "bitrate_bps": 0.3e6 if path == MOBILE and way == "http3-aioquic" else 9e6 if way == "http1-bbr" else 8e6,
            "switches": 3, "latency_ns": 4.4e9 if player.name == LIVE else None, "sent_pkts": 20_000, "lost_pkts": 30,
            "late_pkts": 20, "run": "there is none",
        }
        for path in VIDEOS for sample in SAMPLES[:2] for condition in (MOVING, STILL) for player in PLAYERS
        for way in player.ways
    ])  # fmt: skip


def _stalls(path: str, condition: str, player: str) -> bool:
    return (path, condition, player) == (STARLINK, MOVING, LIVE)


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
