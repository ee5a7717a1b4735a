# SPDX-License-Identifier: Apache-2.0
"""Computes how hybrid ARQ's loss depends on the parameters that `tauran2018` does not give.

    python design/harq-sensitivity.py [--figure FILE | --json]

The script prints the tables of design/lms-harq.md: residual loss and retransmissions with all defaults, and the loss
with one assumption changed at a time. The channel is intermediate tree shadowing at 40 degrees with 7, 10 and 13 dB.
Each of five seeds is a drive of 10 km (600 s at 60 km/h) with 60,000 codewords. `--json` prints only the first table,
with the means over the seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from leowarp.timeline.channel.decibels import power_db
from leowarp.timeline.channel.harq import Harq, Outcomes, levels_known, outcomes
from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series
from leowarp.timeline.channel.loo import mixture_share_below
from leowarp.timeline.channel.mutual_information import BITS_PER_SYMBOL, snr_for

SNRS_DB = (7.0, 10.0, 13.0)
STUDY_RATIO = {7.0: 0.04, 13.0: 0.005}
"""The study's share of lost packets at each SNR: 4 % at 7 dB, and less than 0.5 % at 13 dB."""

SEEDS = (1, 2, 3, 4, 5)
WAY_M = 10_000.0
CODEWORDS = 60_000
KMH = 1 / 3.6


@dataclass(frozen=True)
class Case:
    """A case with one changed assumption."""

    what: str
    value: str
    channel: LandMobile = field(default_factory=LandMobile)
    harq: Harq = field(default_factory=Harq)
    snr_offset_db: float = 0.0


def channel(what: str, value: str, **keys: object) -> Case:
    return Case(what, value, channel=dataclasses.replace(LandMobile(), **keys))  # type: ignore[arg-type]


def harq(what: str, value: str, **keys: object) -> Case:
    return Case(what, value, harq=dataclasses.replace(Harq(), **keys))  # type: ignore[arg-type]


DEFAULT = Case("**all at their defaults**", "")

CASES = (
    DEFAULT,
    *(channel("speed", f"{kmh:g} km/h", speed_m_per_s=kmh * KMH) for kmh in (1, 3, 10, 30, 120)),
    *(channel("carrier", f"{ghz:g} GHz", carrier_hz=ghz * 1e9) for ghz in (1.6, 3.5, 12)),
    *(channel("correlation distance", f"{m:g} m", correlation_m=m) for m in (0.5, 5.0)),
    channel("slope between states", "0 m", transition_m=0.0),
    channel("slope between states", "6 m", transition_m=6.0),
    channel("frame", "3 m", frame_m=3.0),
    channel("frame", "by state", frames="by-state"),
    *(harq("first transmission", f"target {100 * p:g} %", first_target_ratio=p) for p in (0.2, 0.35, 0.65, 0.8, 0.9)),
    *(harq("first transmission", f"{bits:,} bits", first_bits=bits) for bits in (10_704, 17_840, 26_760)),
    harq("rule", "predicted, target 50 %", rule="predicted"),
    harq("rule", "predicted, target 80 %", rule="predicted", target_ratio=0.8),
    harq("rule", "statistics, target 50 %", rule="statistics"),
    harq("rule", "statistics, target 80 %", rule="statistics", target_ratio=0.8),
    harq("rule", "equal parts", rule="equal"),
    harq("last transmission", "by the rule", last_sends_rest=False),
    *(harq("threshold", f"{ratio:g}", threshold_ratio=ratio) for ratio in (1.05, 1.1, 1.2, 1.3)),
    harq("threshold", "by rate", threshold_kind="by-rate"),
    *(harq("delay between transmissions", f"{ms} ms", retransmission_delay_ns=ms * 1_000_000) for ms in (5, 40)),
    *(harq("retransmissions", f"at most {n}", retransmissions=n) for n in (0, 1, 2)),
    harq("kind", "chase", kind="chase"),
    Case("SNR means", "energy a coded bit (Es/N0 3 dB higher)", snr_offset_db=float(power_db(2.0))),
    *(channel("environment", f"{name}, 40 deg", environment=name) for name in ("suburban", "heavy-tree-shadowed")),
)


@lru_cache(maxsize=8)
def series(parameters: LandMobile, longest_ns: int, seed: int) -> PowerSeries:
    return power_series(parameters, round(1e9 * WAY_M / parameters.speed_m_per_s) + longest_ns, seed)


def found(case: Case, snr_db: float) -> list[Outcomes]:
    """Return the outcomes of all codewords, with one series per seed. The codewords are sent at equal distances along
    the way."""
    levels = levels_known(case.channel, case.harq)
    begins = np.linspace(0, 1e9 * WAY_M / case.channel.speed_m_per_s, CODEWORDS, endpoint=False).astype(np.int64)
    # All cases use the same margin, and can therefore use the same series.
    longest_ns = 2_000_000_000
    return [
        outcomes(series(case.channel, longest_ns, seed), snr_db + case.snr_offset_db, case.harq, begins, levels)
        for seed in SEEDS
    ]


def least_snr_db() -> float:
    """Return the lowest Es/N0 at which a codeword can be decoded if all its bits are received."""
    parameters = Harq()
    bits = parameters.threshold_ratio * parameters.data_bits / parameters.codeword_bits
    return float(power_db(snr_for(parameters.modulation, bits * BITS_PER_SYMBOL[parameters.modulation])))


def one_fade(snr_db: float) -> float:
    """Return the loss if the power is the same for all bits of a codeword. During a share of the time, a codeword
    cannot be decoded even if all its bits were sent. This share is the loss."""
    model = LandMobile().model()
    return float(mixture_share_below(model.environment.states, model.way_shares, least_snr_db() - snr_db))


def percent(ratio: float) -> str:
    return f"{100 * ratio:.2f}"


def defaults() -> None:
    print("| SNR | study | loss, mean of seeds (least to most) | one fade | two fades | 0 | 1 | 2 | 3 retransmissions "
          "| bits of the first | symbols sent / of first transmissions |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for snr_db in SNRS_DB:
        runs = found(DEFAULT, snr_db)
        losses = [run.loss_ratio for run in runs]
        shares = np.mean([run.decoded_shares(3) for run in runs], axis=0)
        study = {7.0: "4 %", 13.0: "< 0.5 %"}.get(snr_db, "")
        cells = [
            f"{snr_db:g} dB",
            study,
            f"{percent(float(np.mean(losses)))} % ({percent(min(losses))} to {percent(max(losses))})",
            f"{100 * one_fade(snr_db):.1f} %",
            f"{percent(one_fade(snr_db) ** 2)} %",
            *(f"{100 * share:.1f} %" for share in shares),
            f"{runs[0].first_bits:,}",
            f"{np.mean([run.symbols_ratio for run in runs]):.2f}",
        ]
        print("| " + " | ".join(cells) + " |")


def defaults_as_json() -> str:
    """Return the results with all defaults as JSON, keyed by SNR. They are the lost share, and the shares that are
    decoded after 0 to 3 retransmissions. The JSON also has the least SNR at which a codeword can be decoded."""
    by_snr: dict[str, object] = {}
    for snr_db in SNRS_DB:
        runs = found(DEFAULT, snr_db)
        shares = np.mean([run.decoded_shares(3) for run in runs], axis=0).tolist()
        lost = float(np.mean([run.loss_ratio for run in runs]))
        by_snr[f"{snr_db:g}"] = {"lost": lost} | {str(count): share for count, share in enumerate(shares)}
    return json.dumps(by_snr | {"least_snr_db": least_snr_db()})


def changed() -> list[tuple[Case, dict[float, list[float]]]]:
    print("| changed | to | 7 dB | 10 dB | 13 dB |")
    print("|---|---|---:|---:|---:|")
    rows = []
    for case in CASES:
        losses = {snr_db: [run.loss_ratio for run in found(case, snr_db)] for snr_db in SNRS_DB}
        cells = [f"{percent(float(np.mean(values)))} %" for values in losses.values()]
        print(f"| {case.what} | {case.value} | {' | '.join(cells)} |", flush=True)
        rows.append((case, losses))
    return rows


def draw(rows: list[tuple[Case, dict[float, list[float]]]], path: Path) -> None:
    from leowarp.report.style import PAGE_IN, styled

    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(PAGE_IN, 0.16 * len(rows) + 0.9), layout="constrained")
        panels = figure.subplots(1, len(SNRS_DB), sharey=True)
        for axes, snr_db in zip(panels, SNRS_DB, strict=True):
            for place, (_, losses) in enumerate(rows):
                values = 100 * np.array(losses[snr_db])
                axes.plot([values.min(), values.max()], [place, place], lw=1, color="#0072B2")
                axes.plot([values.mean()], [place], "o", ms=3, color="#0072B2")
            axes.axvspan(100 * one_fade(snr_db) ** 2, 100 * one_fade(snr_db), color="#009E73", alpha=0.12, lw=0)
            if snr_db in STUDY_RATIO:
                axes.axvline(100 * STUDY_RATIO[snr_db], color="#D55E00", ls="--")
            axes.set(xscale="log", xlabel="loss (%)", title=f"{snr_db:g} dB", xlim=(0.01, 100))
        names = [f"{case.what}: {case.value}" if case.value else "all at their defaults" for case, _ in rows]
        panels[0].set_yticks(range(len(rows)), names)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        figure.suptitle(
            "One assumption changed: mean and range of five seeds. Green: two fades to one; dashed: the study"
        )
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, help="where the figure goes (svg, pdf or png)")
    parser.add_argument("--json", action="store_true", help="the first table alone, as one JSON object")
    arguments = parser.parse_args()
    if arguments.json:
        print(defaults_as_json())
        return
    defaults()
    print()
    rows = changed()
    if arguments.figure is not None:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
