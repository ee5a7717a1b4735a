# SPDX-License-Identifier: Apache-2.0
"""The tables of the study's page: table 1, all sessions by delayed-ACK setting, other TCPs, and assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.report import html
from leowarp.study.statistics import HOW, middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.runs import ALGORITHMS, ASSUMPTIONS, BY_ACKS, OFF, ON, PROFILE_TEXT

STUDY_RETRANSMISSIONS = {
    7: (1068, 1333, 6969), 8: (932, 1100, 16914), 9: (925, 1105, 23073), 10: (789, 949, 16782), 11: (748, 923, 22399),
    12: (742, 780, 23852), 13: (706, 789, 20688),
}  # fmt: skip
"""The study's table 1: the number of packets retransmitted in 600 s with delayed ACKs, by SNR in dB. The values are for
NewReno, CUBIC and Hybla."""

CELLS = (
    ("goodput_bps", 1e-3, 0, "goodput, kbit/s"),
    ("acks_per_segment_ratio", 1, 2, "ACKs a segment"),
    ("timeouts_ratio", 100, 3, "timeouts, %"),
    ("duplicate_acks_ratio", 100, 1, "duplicate ACKs, %"),
    ("spurious_ratio", 100, 2, "spurious, %"),
    ("timeout_retransmissions_ratio", 100, 2, "by timeout, %"),
    ("rttvar_us", 1e-3, 1, "RTT variation, ms"),
    ("rto_us", 1e-3, 0, "RTO, ms"),
)


def retransmissions(frames: Mapping[str, Any]) -> str:
    """Return table 1 of the study, with leowarp's numbers beside the study's."""
    rows = []
    for snr_db in ev.snrs_db(frames):
        mine = [
            ev.median(frames, "retransmissions_pkts", control, resequencing=False, delayed_ack=ON, snr_db=snr_db)
            for control in ALGORITHMS
        ]
        # The study's numbers are shown only for comparison. Claim 4.9 is about the order of leowarp's numbers, and
        # about how they change with the SNR.
        theirs = STUDY_RETRANSMISSIONS.get(int(snr_db), ())
        rows.append([f"{snr_db:g}", *(value.text(1, 0) for value in mine), *theirs])
    names = [ev.label(control) for control in ALGORITHMS]
    header = ["SNR, dB", *(f"{name}, here" for name in names), *(f"{name}, the study" for name in names)]
    caption = f"Packets retransmitted in 600 s, delayed ACKs on, without resequencing; {HOW}"
    return html.table(caption, header, rows)


def delayed(frames: Mapping[str, Any]) -> str:
    """Return the table of all sessions that use the TCP of the study. Each value is for the sessions at all SNRs
    together. The table has one row per combination of congestion control, resequencing and delayed-ACK setting."""
    rows = []
    for ordered in (False, True):
        for control in ALGORITHMS:
            for delayed_ack in (ON, OFF):
                mine = ev.sessions(frames, control, resequencing=ordered, delayed_ack=delayed_ack)
                rows.append([
                    ev.label(control), "yes" if ordered else "no", delayed_ack,
                    *(middle(mine[column]).text(scale, digits) for column, scale, digits, _ in CELLS),
                ])  # fmt: skip
    header = ["", "resequencing", "delayed ACKs", *(heading for *_, heading in CELLS)]
    note = (
        "Per cent of the packets sent. ACKs a segment is counted from the packets: 1 is an ACK for every segment, 0.5 "
        "one for every second. Medians over all SNRs and seeds: for ratios between rows see the claims, which pair "
        "them."
    )
    return html.table(f"Delayed ACKs on and off; {HOW}", header, rows) + f"<p>{html.text(note)}</p>"


def profiles(frames: Mapping[str, Any]) -> str:
    """Return the table of other TCPs at each of their SNRs."""
    sessions: pd.DataFrame = frames["profiles"]
    rows = []
    for keys, mine in sessions.groupby(["congestion_control", "resequencing", "profile", "delayed_ack"], sort=True):
        control, ordered, profile, delayed_ack = keys
        cells = []
        for snr_db in sorted(sessions["snr_db"].unique()):
            here = mine[mine["snr_db"] == snr_db]
            cells.append(middle(here["goodput_bps"]).text(1e-3, 0))
        cells += [middle(mine["acks_per_segment_ratio"]).text(1, 2), f"{mine['recoveries'].mean():,.0f}",
                  f"{mine['undos'].mean():,.0f}", f"{mine['timeouts'].mean():,.0f}",
                  f"{100 * mine['spurious_ratio'].mean():.2f}"]  # fmt: skip
        rows.append([ev.label(str(control)), "yes" if ordered else "no", profile, delayed_ack, *cells])
    header = ["", "resequencing", "profile", "delayed ACKs",
              *(f"kbit/s at {snr_db:g} dB" for snr_db in sorted(sessions["snr_db"].unique())), "ACKs a segment",
              "recoveries", "taken back", "timeouts", "spurious, %"]  # fmt: skip
    texts = "; ".join(f"{name}: {text}" for name, text in PROFILE_TEXT.items())
    return html.table(f"The same sessions on other TCPs; {HOW}; counts are means", header, rows) + (
        f"<p>{html.text(texts)}.</p>"
    )


def by_acks(frames: Mapping[str, Any]) -> str:
    """Return an HTML table with the effect of delayed ACKs. The table compares windows that grow per acknowledged
    segment with windows that grow per ACK."""
    same, theirs = ev.like_by_acks(frames), ev.by_acks(frames)
    frame_of = {control: frame for own, other in BY_ACKS.items() for control, frame in ((own, same), (other, theirs))}
    snrs_db = ev.snrs_db(theirs)
    rows = []
    for ordered in (False, True):
        for control, mine in frame_of.items():
            cells = []
            for delayed_ack in (ON, OFF):
                values = ev.curve(mine, "goodput_bps", control, resequencing=ordered, delayed_ack=delayed_ack)
                cells += [value.text(1e-3, 0) for value in values]
            change = ev.effect(mine, "goodput_bps", control, resequencing=ordered)
            rows.append([ev.label(control), "yes" if ordered else "no", *cells, ev.percent(change)])
    header = ["", "resequencing",
              *(f"on, {snr_db:g} dB" for snr_db in snrs_db), *(f"off, {snr_db:g} dB" for snr_db in snrs_db),
              "change by delayed ACKs"]  # fmt: skip
    note = (
        "All with the profile newreno, at the same SNRs and seeds. Those by ACKs are Linux's own but for one thing, "
        f"the modules {' and '.join(f'{name}.c' for name in BY_ACKS.values())}: an ACK adds to the window what in "
        "Linux each segment adds that it acknowledges. RFC 5681 allows both; ns-2's Reno counts ACKs."
    )
    return html.table(f"Goodput in kbit/s, delayed ACKs on and off; {HOW}", header, rows) + f"<p>{html.text(note)}</p>"


def assumptions() -> str:
    """Return an HTML table of the values that the study does not give. For each, it has leowarp's value and the reason
    for it."""
    rows = [
        [each.label, str(each.default), ", ".join(str(value) for value in each.others), each.why]
        for each in ASSUMPTIONS
    ]
    caption = "What the study does not say; none is chosen by what a claim makes of it"
    return html.table(caption, ["assumption", "here", "also tried", "why"], rows, left=frozenset(range(4)))


def frame(frames: Mapping[str, Any]) -> pd.DataFrame:
    """Return the points of all figures as a table that programs can read. The columns are `congestion_control,
    resequencing, delayed_ack, snr_db, quantity, median, low, high, count`. The name of a quantity contains its unit."""
    rows = []
    keys = ["congestion_control", "resequencing", "delayed_ack", "snr_db"]
    for values, mine in frames["sessions"].groupby(keys, sort=True):
        for column, *_ in (*CELLS, ("retransmissions_pkts", 1, 0, "")):
            rows.append(dict(zip(keys, values, strict=True)) | {"quantity": column} | middle(mine[column]).numbers())
    return pd.DataFrame(rows)
