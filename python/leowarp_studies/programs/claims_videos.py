# SPDX-License-Identifier: Apache-2.0
"""The claims about DASH players (6.20 to 6.23)."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from leowarp.study import Claim, Outcome
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.evidence import Frames
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, STARLINK, STILL
from leowarp_studies.programs.ways import BY_NAME, FILM, LIVE, PLAYED, PLAYERS

QUARTER = 0.25
CUBIC, BBR, QUIC = PLAYED


def played(frames: Frames, path: str, condition: str, player: str, way: str) -> pd.DataFrame:
    """Return the films of one player with one protocol and stack over a path, one row per run."""
    frame: pd.DataFrame = frames["videos"]
    mine = (frame["path"] == path) & (frame["condition"] == condition)
    return frame[mine & (frame["player"] == player) & (frame["way"] == way)]


def _each(frames: Frames, path: str, column: str, condition: str = MOVING) -> dict[str, dict[str, float]]:
    """Return the mean of a column over all films that were played. The keys of the result are the player, then protocol
    and stack."""
    found: dict[str, dict[str, float]] = {}
    for player in PLAYERS:
        mine = {way: played(frames, path, condition, player.name, way) for way in player.ways}
        found[player.name] = {way: float(rows[column].mean()) for way, rows in mine.items() if len(rows)}
    return found


def _said(values: Mapping[str, Mapping[str, float]], scale: float, digits: int) -> str:
    return "; ".join(
        f"{player}: " + ", ".join(f"{BY_NAME[way].label} {value * scale:.{digits}f}" for way, value in mine.items())
        for player, mine in values.items()
    )


def _by_bit_rate(parts: Mapping[str, bool], found: Mapping[str, Mapping[str, float]]) -> Outcome:
    return ev.outcome(parts, f"mean bit rate, Mbit/s: {_said(found, 1e-6, 2)}", {"bitrate_bps": found})


# Implements claim 6.20 of programs (claim 6.6: less than 5 % of 3 s is missing).
def no_player_stalls_at_a_change(frames: Frames) -> Outcome:
    """Check the number of stalls near route changes, in all films.

    Returns: Numbers: `stalls`, the mean number of stalls for each player, protocol and stack; `still_stalls`, this
        number on the frozen path.
    """
    found, still = _each(frames, CHANGES, "stalls"), _each(frames, CHANGES, "stalls", STILL)
    parts = {
        f"{player}, {BY_NAME[way].label}": value == 0 for player, mine in found.items() for way, value in mine.items()
    }
    return ev.outcome(
        parts,
        f"stalls, mean: {_said(found, 1, 1)}; on the frozen path: {_said(still, 1, 1)}",
        {"stalls": found, "still_stalls": still},
    )


# Implements claim 6.21 of programs (a buffer covers shorter interruptions).
def a_short_buffer_stalls(frames: Frames) -> Outcome:
    """Compare how long videos stall in total over the profile `starlink`, with buffers of 2 s and of 6 s.

    Returns: Numbers: `stalled_ns`, the mean for each player, protocol and stack.
    """
    found = _each(frames, STARLINK, "stalled_ns")
    parts = {f"live, {BY_NAME[way].label}": value > 0 for way, value in found[LIVE].items()}
    parts |= {f"film, {BY_NAME[way].label}": value == 0 for way, value in found[FILM].items()}
    return ev.outcome(parts, f"stalled, mean, s: {_said(found, 1e-9, 2)}", {"stalled_ns": found})


# Implements claim 6.22 of programs (losses around reconfigurations do not indicate congestion).
def bbr_shows_better_pictures(frames: Frames) -> Outcome:
    """Compare the mean bit rates of films with BBR and CUBIC over the profile `starlink`.

    Returns: Numbers: `bitrate_bps`, mean by player, protocol and stack.
    """
    found = _each(frames, STARLINK, "bitrate_bps")
    parts = {player: mine[BBR] > mine[CUBIC] for player, mine in found.items() if {BBR, CUBIC} <= mine.keys()}
    return _by_bit_rate(parts, found)


# Implements claim 6.23 of programs (6.11).
def fixed_thresholds_show_poor_pictures(frames: Frames) -> Outcome:
    """Compare the mean bit rates of films over the mobile channel without resequencing: HTTP/3 by aioquic against
    CUBIC.

    Returns: Numbers: `bitrate_bps`, mean by player, protocol and stack.
    """
    found = _each(frames, MOBILE, "bitrate_bps")
    mine = found[LIVE]
    parts = {"live": mine[QUIC] <= QUARTER * mine[CUBIC]} if {QUIC, CUBIC} <= mine.keys() else {}
    return _by_bit_rate(parts, found)


CLAIMS = (
    Claim(
        "6.20",
        "No player stalls at a route change, be its buffer 2 s or 6 s.",
        "claim 6.6: less than 5 % of 3 s is missing",
        "Stalls of 20 s around each of two changes; each player and way is a part.",
        ("videos",),
        no_player_stalls_at_a_change,
    ),
    Claim(
        "6.21",
        "Over the profile starlink the live player with 2 s of buffer stalls, the film player with 6 s does not.",
        "a buffer covers shorter interruptions",
        "Stalled time of 20 s with two reconfigurations, mean over seeds; each player and way is a part.",
        ("videos",),
        a_short_buffer_stalls,
    ),
    Claim(
        "6.22",
        "Over the profile starlink BBR brings players a higher bit rate than CUBIC.",
        "losses around reconfigurations do not indicate congestion",
        "Mean bit rate of all segments, mean over seeds; each player is a part.",
        ("videos",),
        bbr_shows_better_pictures,
    ),
    Claim(
        "6.23",
        "Over the mobile channel without resequencing a live player by HTTP/3 (aioquic) gets at most a quarter of the "
        "bit rate that CUBIC brings it.",
        "6.11",
        "As 6.22, the live player.",
        ("videos",),
        fixed_thresholds_show_poor_pictures,
    ),
)
