# SPDX-License-Identifier: Apache-2.0
"""Compare probes over the profile `starlink` with published values, and show their sensitivity to assumptions.

    PYTHONPATH=tests python design/starlink-profile.py [--guest | --json]

The script prints the tables of design/starlink-profile.md: half an hour of pings over the tables of 20 seeds (no
kernel). The script also prints how sensitive the results are to the steps of the jitter and to the model of a frame.
`--guest` runs TCP in the guest over the profile, for 60 s with each of several rates of isolated loss. `--json` prints
only the first table, with the value of each seed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.media.access import Profile, Way
from support.probes import SECOND_NS, passed, pings, pings_by_reply, profile_for

MINUTES = 30
FRAME_MINUTES = 5
"""The length in minutes of the profiles that compare frame models. These profiles are shorter than `MINUTES`, because
their tables of frames are long."""
SEEDS = range(1, 21)
FLOOD_NS = 10_000_000
GUEST_SEEDS = (1, 2, 3)
LOSSES = ("0 %", "0.001 %", "0.01 %", "0.02 %", "0.1 %", "0.4 %")
CONGESTION_CONTROLS = ("reno", "cubic", "bbr")

SCENARIO = """
name = "loss"
[run]
duration = "60 s"
[access]
residual_loss_up = "0.001 %"
[observe]
packets = "none"
reordering_window = "none"
[[flows]]
source = "server"
destination = "dish"
"""


def statistics(profile: Profile, seed: int) -> dict[str, float]:
    """Return statistics of pings over half an hour, by the name that the table shows."""
    end_ns = MINUTES * 60 * SECOND_NS
    t_ns = np.arange(0, end_ns, FLOOD_NS, dtype=np.int64)
    rtt_ms = pings(profile, t_ns, seed) / 1e6
    seconds_ns = np.arange(0, end_ns, SECOND_NS, dtype=np.int64)
    lost = np.isnan(pings(profile, seconds_ns, seed))
    off_ns = np.abs((seconds_ns - profile.slots.begin_ns[1] + 7_500_000_000) % (15 * SECOND_NS) - 7_500_000_000)
    least_ms, over_ms = slots_of(profile, t_ns, rtt_ms)
    _, by_reply_ns = pings_by_reply(profile, 300 * SECOND_NS, seed)
    runs = lengths_of_runs(np.isnan(rtt_ms))
    silent = np.array(profile.slot_table()["outages"])[1:-1] == 0
    return {
        "mean difference of successive RTTs, 10 ms apart, ms": mean_difference(rtt_ms),
        "the same, each sent at the reply before, ms": mean_difference(by_reply_ns / 1e6),
        "least RTT of a slot, smallest, ms": float(least_ms.min()),
        "least RTT of a slot, largest, ms": float(least_ms.max()),
        "step of that at a reconfiguration, mean, ms": float(np.abs(np.diff(least_ms)).mean()),
        "step of that at a reconfiguration, smallest, ms": float(np.abs(np.diff(least_ms)).min()),
        "median RTT, ms": float(np.nanmedian(rtt_ms)),
        "largest RTT at a reconfiguration over the slot's median, median, ms": float(np.median(over_ms)),
        "the same, 90th percentile, ms": float(np.quantile(over_ms, 0.9)),
        "largest RTT of all, ms": float(np.nanmax(rtt_ms)),
        "loss of pings once a second, %": 100 * float(lost.mean()),
        "of it within 1 s of a reconfiguration, %": 100 * float((off_ns[lost] <= SECOND_NS).mean()),
        "loss of a flood, %": 100 * float(np.isnan(rtt_ms).mean()),
        "run of lost pings of a flood, median": float(np.median(runs)),
        "run of lost pings of a flood, mean": float(runs.mean()),
        "run of lost pings of a flood, longest": float(runs.max()),
        "reconfigurations without an outage, %": 100 * float(silent.mean()),
    }


def mean_difference(rtt_ms: NDArray[np.float64]) -> float:
    """Return the mean absolute difference of successive round trips in ms, without lost replies."""
    return float(np.abs(np.diff(rtt_ms[~np.isnan(rtt_ms)])).mean())


def slots_of(profile: Profile, t_ns: NDArray[np.int64], rtt_ms: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return the smallest RTT of each whole slot. The first and the last second of the slot do not count. Also return
    the largest RTT at the slot's beginning, minus the slot's median RTT."""
    least_ms, over_ms = [], []
    for begin_ns in profile.slots.begin_ns[1:-1]:
        rest_ms = rtt_ms[(t_ns > begin_ns + SECOND_NS) & (t_ns < begin_ns + 14 * SECOND_NS)]
        least_ms.append(np.nanmin(rest_ms))
        spike_ms = rtt_ms[(t_ns > begin_ns - 60_000_000) & (t_ns < begin_ns + 250_000_000)]
        if not np.isnan(spike_ms).all():
            over_ms.append(np.nanmax(spike_ms) - np.nanmedian(rest_ms))
    return np.array(least_ms), np.array(over_ms)


def lengths_of_runs(lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the length of each run of consecutive lost probes."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(np.int8), [0]])))
    return edges[1::2] - edges[::2]


def standing_ms(way: Way) -> float:
    """Send a packet every 0.1 ms. Return the mean additional delay in ms, compared with packets that are sent alone."""
    t_ns = np.arange(13 * SECOND_NS, 26 * SECOND_NS, 100_000, dtype=np.int64)
    alone_ns = way.delay_ns[np.searchsorted(way.channel_t_ns, t_ns, side="right") - 1]
    return float((passed(way, t_ns, np.random.default_rng(1))[0] - t_ns - alone_ns).mean() / 1e6)


def by_steps() -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table about uplink jitter. All rows have the same distribution, but steps of different
    length."""
    for step_ms in (1.5, 3, 6, 9, 12, 24):
        profile = profile_for(MINUTES, jitter_up_step_ns=int(step_ms * 1e6))
        t_ns = np.arange(0, MINUTES * 60 * SECOND_NS, FLOOD_NS, dtype=np.int64)
        _, by_reply_ns = pings_by_reply(profile, 300 * SECOND_NS)
        yield (
            step_ms, mean_difference(pings(profile, t_ns) / 1e6), mean_difference(by_reply_ns / 1e6),
            standing_ms(profile.up), len(profile.up.channel_t_ns) / (60 * MINUTES),
        )  # fmt: skip


def by_frames() -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table of frame models. The models differ in the number of steps within each frame. With 0
    steps, the waiting time is always half a frame."""
    for steps in (0, 2, 4, 8, 16):
        began_s = time.process_time()
        profile = profile_for(FRAME_MINUTES, frame_steps=steps)
        took_s = time.process_time() - began_s
        t_ns = np.arange(0, FRAME_MINUTES * 60 * SECOND_NS, FLOOD_NS, dtype=np.int64)
        rtt_ms = pings(profile, t_ns) / 1e6
        rows = len(profile.up.channel_t_ns) + len(profile.down.channel_t_ns)
        yield (
            steps, mean_difference(rtt_ms), float(np.nanmedian(rtt_ms)), standing_ms(profile.up),
            standing_ms(profile.down), rows / 1e6, 24 * rows / 1e6, took_s,
        )  # fmt: skip


def by_loss() -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table of isolated loss. A row has the median goodput over seeds, measured in the guest in
    Mbit/s, and CUBIC's goodput by the formula of RFC 9438."""
    import leowarp as lw

    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "loss.toml"
        scenario.write_text(SCENARIO)
        for loss in LOSSES:
            row: list[Any] = [loss]
            for control in CONGESTION_CONTROLS:
                goodputs = []
                for seed in GUEST_SEEDS:
                    changes = {"access.residual_loss": loss, "flows.0.congestion_control": control, "run.seed": seed}
                    run = lw.run(scenario, changes, Path(folder) / "run", force=True, report=False, progress=False)
                    goodputs.append(run.summary["flows"][0]["goodput_mean_bps"] / 1e6)
                row.append(float(np.median(goodputs)))
            yield *row, formula_mbit_s(float(loss.removesuffix(" %")) / 100)


def formula_mbit_s(loss_ratio: float, rtt_s: float = 0.045) -> float | str:
    """Return CUBIC's mean rate if only loss limits it. The rate is the mean window divided by the RTT (RFC 9438, 5.1: C
    = 0.4, beta = 0.7)."""
    if loss_ratio == 0:
        return ""
    window_pkts = (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (rtt_s / loss_ratio) ** 0.75
    return window_pkts * 1448 * 8 / rtt_s / 1e6


def table(heads: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Print `heads` and `rows` as a Markdown table."""
    print("| " + " | ".join(heads) + " |")
    print("|---" + "|---:" * (len(heads) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guest", action="store_true", help="TCP with other isolated losses, in the guest")
    parser.add_argument("--json", action="store_true", help="the first table alone, as one JSON object")
    options = parser.parse_args()
    found = [statistics(profile_for(MINUTES, seed), seed) for seed in SEEDS]
    if options.json:
        print(json.dumps({name: [one[name] for one in found] for name in found[0]}))
        return
    rows = ((name, *np.quantile([one[name] for one in found], [0.5, 0.0, 1.0]).tolist()) for name in found[0])
    table((f"of {MINUTES} minutes, {len(SEEDS)} seeds", "median", "least", "most"), rows)
    table(
        ("steps of the jitter up, ms", "10 ms apart: ms", "by reply: ms", "standing delay up, ms", "rows a second"),
        by_steps(),
    )
    table(
        ("steps of a frame", "10 ms apart: ms", "median RTT, ms", "standing up, ms", "standing down, ms",
         "rows, millions", "MB in the guest", "made in CPU s"),
        by_frames(),
    )  # fmt: skip
    if options.guest:
        table(("isolated loss down", *CONGESTION_CONTROLS, "CUBIC by RFC 9438"), by_loss())


if __name__ == "__main__":
    main()
