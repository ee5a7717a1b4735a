# SPDX-License-Identifier: Apache-2.0
"""Claims about senders (5.7, 5.8, 5.13 to 5.15, 5.17). These claims are about the cost of reordering, the effects of
notices, and the effects of alternative loss detection.
"""

from __future__ import annotations

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if, not_so
from leowarp.study.statistics import Middle
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures import scalar
from leowarp_studies.cures.changes import LONGER
from leowarp_studies.cures.evidence import Frames
from leowarp_studies.cures.variants import AT_HOSTS, BOTH, BY_NAME, FROZEN, KEEP_ORDER, NONE, TCP_LABELS, TCPS

LINUX = ("reno", "cubic", "bbr")
NINE_TENTHS = 0.9


# Implements claim 5.7 of cures (RACK, DSACK and timestamps of Linux).
def linux_loses_little(frames: Frames) -> Outcome:
    """Return the payload delivered by the oracle (`hold` with `move`) minus the payload delivered by a sender without a
    cure, by TCP. The difference is given as a share of the data that the path can carry in the 5 s after a change.

    Only changes to a longer path are evaluated, and only if the path is saturated.

    Returns
    -------
    Outcome
        Numbers: `lost_ratio` by TCP, medians with intervals.
    """
    lost = {tcp: ev.lost_ratio(frames, NONE, BOTH, tcp=tcp, direction=LONGER) for tcp in TCPS}
    lost = {tcp: value for tcp, value in lost.items() if value.known}
    parts = {tcp: value.median < 0.02 if tcp in LINUX else value.median > 0.05 for tcp, value in lost.items()}
    return Outcome(
        holds_if(parts),
        "lost: " + ev.listed({TCP_LABELS[tcp]: value.text(100, 2) + " %" for tcp, value in lost.items()}),
        {"lost_ratio": {tcp: value.numbers() for tcp, value in lost.items()}},
        "" if all(parts.values()) else _sender_text(frames, NONE),
    )


# Implements claim 5.8 of cures (claim 5.6).
def order_restores_classic(frames: Frames) -> Outcome:
    """Return how much less payload classic TCP delivers with each order-preserving cure than with the oracle (`hold`
    with `move`), at saturation.

    Returns
    -------
    Outcome
        Numbers: `lost_ratio` by cure, medians with intervals.
    """
    lost = {name: ev.lost_ratio(frames, name, BOTH, tcp="classic") for name in KEEP_ORDER if name != BOTH}
    parts = {name: value.high < 0.01 for name, value in lost.items()}
    without = ev.lost_ratio(frames, NONE, BOTH, tcp="classic")
    texts = {BY_NAME[name].label: f"{value.text(100, 2)} %" for name, value in lost.items()}
    numbers = {name: value.numbers() for name, value in lost.items()}
    return Outcome(
        holds_if(parts),
        f"classic TCP loses {ev.listed(texts)}; without a cure {without.text(100, 2)} %",
        {"lost_ratio": numbers, "lost_without_ratio": without.numbers()},
        "" if all(parts.values()) else _sender_text(frames, "hold"),
    )


# Implements claim 5.13 of cures (RACK waits for a quarter of the RTT).
def notices_in_time(frames: Frames) -> Outcome:
    """Return the share of spurious retransmissions that a notice avoids at saturation. The share is returned for three
    cases: notices on time, notices 200 ms late, and a loss of half of the notices.

    The share is computed over all TCPs together, because it is undefined for a TCP without spurious retransmissions.

    Returns
    -------
    Outcome
        Numbers: `removed_ratio` by variant.
    """
    without = ev.total(frames, NONE, "spurious_pkts")
    removed = {name: 1 - ev.total(frames, name, "spurious_pkts") / without
               for name in ("notify", "notify-late", "notify-lossy")}  # fmt: skip
    parts = {"in time": removed["notify"] >= NINE_TENTHS, "late": removed["notify-late"] < 0.5}
    return Outcome(
        holds_if(parts),
        f"removed: in time {removed['notify']:.1%}, 200 ms late {removed['notify-late']:.1%}, half of them lost "
        f"{removed['notify-lossy']:.1%}, of {without:.0f} spurious retransmissions",
        {"removed_ratio": removed, "spurious_without_pkts": without},
        "" if all(parts.values()) else _left(frames, "notify"),
    )


# Implements claim 5.14 of cures (RFC 4653; TCP-PR; RR-TCP).
def hosts_can_wait(frames: Frames) -> Outcome:
    """Return, for each alternative loss detection, how many of classic TCP's spurious retransmissions it avoids, as a
    share. The path is saturated.

    Only the results of TCP-PR and of NCR's careful form affect the verdict. The remaining results are listed.

    Returns
    -------
    Outcome
        Numbers: `removed_ratio` (a dict from variant to ratio), `spurious_without_pkts`.
    """
    without = ev.total(frames, NONE, "spurious_pkts", tcp="classic")
    removed = {name: 1 - ev.total(frames, name, "spurious_pkts", tcp="classic") / without for name in AT_HOSTS}
    parts = {name: removed[name] >= NINE_TENTHS for name in ("ncr-careful", "pr")}
    return Outcome(
        holds_if(parts),
        "removed: "
        + ev.listed({BY_NAME[name].label: f"{value:.1%}" for name, value in removed.items()})
        + f", of {without:.0f}",
        {"removed_ratio": removed, "spurious_without_pkts": without},
        "" if all(parts.values()) else "; ".join(_left(frames, name) for name, good in parts.items() if not good),
    )


# Implements claim 5.15 of cures (losses are detected later).
def hosts_cost_nothing(frames: Frames) -> Outcome:
    """Compare, for each TCP, the goodput with each alternative loss detection and with the kernel's own. The path is
    frozen and saturated.

    Even without route changes, slow start and an overflowing queue cause losses in these runs.

    Returns
    -------
    Outcome
        Numbers: `kept_ratio` by variant and TCP, medians with intervals.
    """
    kept: dict[str, Middle] = {}
    for name in AT_HOSTS:
        for tcp in TCPS:
            both = ev.against(frames, f"{FROZEN}-{name}", FROZEN, "goodput_bps", tcp=tcp)
            if len(both):
                kept[f"{BY_NAME[name].label}, {TCP_LABELS[tcp]}"] = ev.middle(both["one"] / both["other"])
    parts = {name: value.low >= 0.95 for name, value in kept.items()}
    worst = sorted(kept.items(), key=lambda item: item[1].median)[:4]
    return Outcome(
        "cannot be told" if not kept else holds_if(parts),
        f"{sum(parts.values())} of {len(parts)} keep 95 %; the least: "
        + ev.listed({name: f"{value.text(100, 1)} %" for name, value in worst}),
        {"kept_ratio": {name: value.numbers() for name, value in kept.items()}},
        not_so(parts),
    )


# Implements claim 5.17 of cures (torres2020, which asks for one scalar).
def a_scalar_predicts(frames: Frames) -> Outcome:
    """For each TCP, find the reordering metric that best predicts the runs outside the fit (see `scalar`).

    Returns
    -------
    Outcome
        Numbers by TCP and outcome: `best`, `explained_ratio`, and the shares that mean displacement and entropy
            explain.
    """
    table = frames["predictors"]
    best = scalar.best(table)
    parts = {}
    for (tcp, outcome), row in best.iterrows():
        usual = table[(table["tcp"] == tcp) & (table["outcome"] == outcome) & table["number"].isin(scalar.USUAL)]
        parts[f"{tcp}, {outcome}"] = bool(row["explained_ratio"] > usual["explained_ratio"].max() + scalar.CLEAR
                                          and row["explained_ratio"] >= scalar.GOOD)  # fmt: skip
    verdict: Verdict = "cannot be told" if not parts else holds_if(parts)
    texts = [f"{tcp}, {outcome}: {row['number']} explains {row['explained_ratio']:.0%}"
             for (tcp, outcome), row in best.iterrows()]  # fmt: skip
    return Outcome(
        verdict,
        "; ".join(texts),
        {"best": [{"tcp": tcp, "outcome": outcome} | row.to_dict() for (tcp, outcome), row in best.iterrows()]},
        "" if verdict == "holds" else "no better by 5 points than mean displacement and entropy, or below 80 %: "
        + ", ".join(name for name, good in parts.items() if not good),
    )  # fmt: skip


def _sender_text(frames: Frames, variant: str) -> str:
    """Return a text about how TCP reacts if the sender's satellite changes. The reactions of the same TCP on the frozen
    path are subtracted."""
    texts = []
    for tcp in TCPS:
        more = {
            column: ev.added(frames, variant, FROZEN, column, tcp=tcp, at_sender=True)
            for column in ("recoveries", "undos", "timeouts", "tail_loss_probes", "drops_pkts")
        }
        if more["recoveries"].known:
            texts.append(
                f"{TCP_LABELS[tcp]} " + ", ".join(f"{column} {value.median:+.0f}" for column, value in more.items())
            )
    return f"{BY_NAME[variant].label}, where the sender's satellite changes, against the frozen path: " + "; ".join(
        texts
    )


def _left(frames: Frames, variant: str) -> str:
    """Return a text that explains a verdict. The text gives the number of spurious retransmissions with a variant, for
    each TCP."""
    return f"{BY_NAME[variant].label} leaves {ev.listed(ev.sums_by_tcp(frames, variant, 'spurious_pkts'), '{:.0f}')}"


CLAIMS = (
    Claim(
        "5.7",
        "At saturation reordering costs Linux's Reno, CUBIC and BBR less than 2 % of what the path carries in the five "
        "seconds after a change to a longer path; it costs classic TCP more than 5 %.",
        "RACK, DSACK and timestamps of Linux",
        "Payload without a cure less that with the oracle (moving the queue and holding) around the same change, over "
        "the path's capacity in 5 s; median over the changes to a longer path; each TCP is a part.",
        ("around",),
        linux_loses_little,
    ),
    Claim(
        "5.8",
        "A network that keeps the order brings classic TCP to within 1 % of the oracle.",
        "claim 5.6",
        "As 5.7, hold alone and the end marker against the oracle, all changes: the interval of the median below 1 %.",
        ("around",),
        order_restores_classic,
    ),
    Claim(
        "5.13",
        "A notice in time removes nine tenths of the spurious retransmissions; one that comes 200 ms late removes less "
        "than half.",
        "RACK waits for a quarter of the RTT",
        "Spurious retransmissions because of changes at saturation, all TCPs and changes together, against no cure.",
        ("around",),
        notices_in_time,
    ),
    Claim(
        "5.14",
        "At the end host, waiting for a window's worth of duplicates (NCR) or for time alone (TCP-PR) removes nine "
        "tenths of classic TCP's spurious retransmissions.",
        "RFC 4653; TCP-PR; RR-TCP",
        "As 5.13, classic TCP, careful NCR and TCP-PR.",
        ("around",),
        hosts_can_wait,
    ),
    Claim(
        "5.15",
        "No cure at the end host costs more than 5 % of goodput on a path that does not change.",
        "losses are detected later",
        "Goodput of the whole transfer at saturation with the path frozen, over that with the kernel's own loss "
        "detection; the interval of the median at 95 % or more; each cure and TCP is a part.",
        ("around",),
        hosts_cost_nothing,
    ),
    Claim(
        "5.17",
        "One number of a path's reordering predicts a TCP's spurious retransmissions and its lost throughput, on runs "
        "it was not fitted to, better than mean displacement and entropy do.",
        "torres2020, which asks for one scalar",
        "Jittered transfers, four TCPs: a monotone curve is fitted to every second jitter; share of the variance "
        "explained on the others. The best number is 5 points or more above both, and explains 80 %; each TCP and "
        "outcome is a part.",
        ("predictors",),
        a_scalar_predicts,
    ),
)
