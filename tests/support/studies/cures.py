# SPDX-License-Identifier: Apache-2.0
"""Invented results of the study of cures, for tests of claims and figures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures import runs, scalar
from leowarp_studies.cures.changes import AFTER_S, LONGER
from leowarp_studies.cures.results import COLUMNS
from leowarp_studies.cures.variants import BOTH, BY_NAME, FROZEN, KEEP_ORDER, LOADED, MANAGED, NONE, QUEUES, SHORT, TCPS

CAPACITY_BPS = 95e6
ROOM_BYTES = CAPACITY_BPS * AFTER_S / 8
SPURIOUS_LEFT = {NONE: 1.0, "notify": 0.0, "notify-ahead": 0.05, "notify-late": 0.9, "notify-lossy": 0.5,
                 "ncr-careful": 0.0, "pr": 0.0}  # fmt: skip
"""A dict from variant to the share of the spurious retransmissions that remain. For other variants, the share is 0 if
the variant keeps packets in order, otherwise 1."""


def frames(**changed: Any) -> dict[str, Any]:
    """Return all data sets, in the form that the claims expect. `changed` contains data sets that replace the default
    ones."""
    return {"around": around(), "predictors": scalar.scores(jittered())} | changed


def around() -> pd.DataFrame:
    """Return rows in the form of `results.around_changes`."""
    rows = []
    for load, variant, tcp in itertools.product(runs.LOADS, BY_NAME, TCPS):
        if (load != runs.SATURATED and variant not in LOADED) or not BY_NAME[variant].runs_under(tcp):
            continue
        each = runs.CHANGES if load == runs.SATURATED else runs.LOADED_CHANGES
        rows += [_row(variant, tcp, load, change) for change in route_changes.changes(each)]
    return pd.DataFrame(rows)


def _row(variant: str, tcp: str, load: str, change: route_changes.Change) -> dict[str, Any]:
    full, longer = load == runs.SATURATED, change.direction == LONGER
    ordered = variant in KEEP_ORDER or variant.startswith(FROZEN) or variant.startswith("resequence-1")
    late = 200.0 if full and longer else 0.0
    if ordered or (variant == "move" and longer):
        late = 0.0
    elif variant == "resequence-50":
        late /= 10
    elif variant in MANAGED or variant == "emptied":
        late /= 20
    late = min(late, SHORT.get(variant, late))
    spurious = late * (0.5 if tcp == "classic" else 0.1) * SPURIOUS_LEFT.get(variant, 0.0 if ordered else 1.0)
    # A classic TCP interprets the change as a loss. This interpretation costs the TCP a tenth of the bytes that the
    # path can carry in 5 s. TCPs other than `classic` lose almost nothing.
    lost_bytes = ROOM_BYTES * (0.1 if tcp == "classic" else 0.001) if spurious else 0.0
    if variant in ("scheduled", "emptied"):
        lost_bytes = ROOM_BYTES * (0.05 if variant == "emptied" else 0.002)
    # If the queue is shorter than the path, loss-based TCPs have less goodput, even on a frozen path.
    is_short = variant.removeprefix(f"{FROZEN}-") in QUEUES
    goodput_bps = 80e6 if is_short and tcp != "bbr" else 90e6
    held_bytes = {"hold": 300e3, BOTH: 10e3}.get(variant, 0.0) if full else 0.0
    held_ns = {"hold": 25e6, BOTH: 1e6}.get(variant, 0.0) if full else 0.0
    row: dict[str, Any] = dict.fromkeys(COLUMNS, 0.0) | {
        "variant": variant, "tcp": tcp, "load": load, "change": f"{change.pair.name}-{change.at_s}",
        "pair": change.pair.name, "direction": change.direction, "step_ns": change.step_ns, "at_sender": longer,
        "late_pkts": late, "spurious_pkts": spurious, "bytes": 150e6 - lost_bytes, "capacity_bps": CAPACITY_BPS,
        "goodput_bps": goodput_bps, "dip_ratio": 0.4 if spurious else 0.03, "recoveries": 1.0, "tail_loss_probes": 0.0,
        "held_bytes": held_bytes, "held_ns": held_ns,
        "waiting_longest_ns": 70e6 if variant.startswith("resequence") else 0.0, "room_bytes": ROOM_BYTES,
        "signalling_bytes": {"duplicate": 2e6, "marker": 60.0, "notify": 60.0}.get(variant, 0.0),
        "drops_pkts": 80.0 if variant == "duplicate" else 50.0, "call_p99_ns": 45e6 if is_short else 70e6,
        "ping_p99_ns": 117e6,
        "route_changes": 0.0 if variant.startswith(FROZEN) else 1.0,
    }  # fmt: skip
    return row


def jittered() -> pd.DataFrame:
    """Return rows in the form of `scalar.jittered`. The harm to TCP depends only on one value of a row: the share of
    packets that are 3-reordered."""
    jitters = [0, 75, 300, 600, 858, 1247, 1800, 3750, 7500, 10_000]
    rows = []
    for tcp, seed, (place, jitter_us) in itertools.product(("linux", "classic"), range(3), enumerate(jitters)):
        three = (place * 7 % 10) / 20
        row = {name: float((place * 3 + 5) % 7 + 0.1 * seed) for name in scalar.NUMBERS.values()}
        rows.append(row | {
            "tcp": tcp, "congestion_control": "bic", "distribution": "normal", "jitter_ns": jitter_us * 1000,
            "reordered3_ratio": three, "spurious_ratio": three**2, "lost_ratio": np.sqrt(three), "goodput_bps": 1e6,
        })  # fmt: skip
    return pd.DataFrame(rows)
