# SPDX-License-Identifier: Apache-2.0
"""Why does `torres2020` measure a mean displacement of 5.3 packets with exponential jitter of 1 ms, and not 6.06?

    python design/exponential-jitter.py [--tables DIRECTORY]

The script prints the table of design/exponential-jitter.md: each possible explanation and its computed mean
displacement (python/leowarp_studies/torres2020/simulation.py, 20 probes of 65,535 packets each). An explanation fits if
its mean displacement for the exponential distribution is within 3 % of 5.3 packets. An explanation may also affect the
uniform and the normal distribution. Their mean displacements must then be within 3 % of 7.1 and 6.6 packets,
respectively.

`--tables`: directory of iproute2's distribution tables (Debian: /usr/lib/x86_64-linux-gnu/tc).
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from leowarp_studies.torres2020.simulation import (
    PROBE_PKTS,
    PROBE_RATE_PKTS_PER_S,
    THRESHOLD_PKTS,
    arrival_order,
    density,
    deviations,
    mean_displacement_pkts,
)

STUDY_PKTS = {"uniform": 7.1, "normal": 6.6, "exponential": 5.3}
TOLERANCE_RATIO = 0.03
SIGMA_S = 1e-3
PROBES = 20

SCALE = 8192
"""The number that means one sigma in the tables of tc and the kernel (NETEM_DIST_SCALE). Entries are 16 bits, so up to
4 sigma."""

Draw = Callable[[int, np.random.Generator], np.ndarray]


def exponential(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` exponential draws with mean 1 and standard deviation 1."""
    return rng.standard_exponential(count)


def from_table(entries: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` draws in units of sigma. As in netem, a draw is a random entry of the table."""
    return entries[rng.integers(0, len(entries), count)] / SCALE


def kept_below(limit: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` exponential draws up to `limit`. Larger draws are discarded."""
    return -np.log1p(-rng.random(count) * -np.expm1(-limit))


def as_int16(values: np.ndarray) -> np.ndarray:
    """Return the values as tc reads them, in units of sigma. Table entries that do not fit into 16 bits overflow."""
    return np.rint(values * SCALE).astype(np.int64).astype(np.int16).astype(float)


def quantiles(size: int) -> np.ndarray:
    """Return an exponential table with `size` entries. Each entry has an equal share of probability, and is the
    quantile in the middle of its share."""
    return -np.log1p(-(np.arange(size) + 0.5) / size)


def maketable(samples: np.ndarray, size: int = 4096) -> np.ndarray:
    """Return the table that iproute2's `maketable` computes from samples. The samples are scaled to mean 0 and sigma 1,
    and limited to +-4. The table is the inverse of their distribution function.

    For each value that occurs, `maketable` computes the share of the samples below it. It interpolates linearly between
    these pairs of share and value. The last entry of the table is the largest value.
    """
    cut = np.clip((samples - samples.mean()) / samples.std(ddof=1), -4, 4 - 1 / 50_000)
    values, counts = np.unique(cut, return_counts=True)
    below = np.concatenate(([0], np.cumsum(counts)[:-1])) / len(cut)
    table = np.rint(np.interp(np.arange(size) / size, below, values) * SCALE)
    table[-1] = 32767
    return table


def pareto(size: int = 4096) -> np.ndarray:
    """Return iproute2's pareto table, computed from its formula with a = 3. Values are in units of the table's standard
    deviation, and are not cut to 16 bits."""
    values = (1 - np.arange(size) / size) ** (-1 / 3)
    return (values - values.mean()) / values.std()


def made_of(draw: Draw, times_s: np.ndarray | None = None, threshold_pkts: int = THRESHOLD_PKTS) -> float:
    """Return the mean displacement in packets. The result is the mean over `PROBES` probes. `draw` gives the delays of
    the packets."""
    found = []
    for seed in range(PROBES):
        delays_s = SIGMA_S * draw(PROBE_PKTS, np.random.default_rng(seed))
        order = arrival_order(delays_s) if times_s is None else np.argsort(times_s + delays_s, kind="stable")
        found.append(mean_displacement_pkts(density(order, threshold_pkts)))
    return float(np.mean(found))


def standard(name: str, sigmas: float = 1.0) -> Draw:
    return lambda count, rng: sigmas * deviations(name, count, rng)


def of_table(entries: np.ndarray) -> Draw:
    return functools.partial(from_table, entries)


def in_bursts(tick_s: float) -> np.ndarray:
    """A sender wakes at each tick, and sends all packets that are due. Return the sending times of the packets in
    seconds."""
    return np.floor(np.arange(PROBE_PKTS) / PROBE_RATE_PKTS_PER_S / tick_s) * tick_s


def explanations(tables: Path) -> list[tuple[str, dict[str, float]]]:
    """Return pairs of an explanation and a dict from distribution to mean displacement. The first explanations do not
    change the exponential distribution."""
    rows: list[tuple[str, dict[str, float]]] = [
        ("as described: sigma is the standard deviation",
         {name: made_of(standard(name)) for name in STUDY_PKTS}),
        ("the grid's jitter nearest to 1 ms was 0.875 ms",
         {name: made_of(standard(name, 0.875)) for name in STUDY_PKTS}),
        ("jitter is the half-width for uniform (netem's own), sigma else",
         {name: made_of(standard(name, 3**-0.5 if name == "uniform" else 1.0)) for name in STUDY_PKTS}),
        ("a sender that wakes every 1 ms", {n: made_of(standard(n), in_bursts(1e-3)) for n in STUDY_PKTS}),
        ("a sender that wakes every 4 ms", {n: made_of(standard(n), in_bursts(4e-3)) for n in STUDY_PKTS}),
        *((f"threshold D_T of {pkts} packets instead of 200",
           {name: made_of(standard(name), threshold_pkts=pkts) for name in STUDY_PKTS}) for pkts in (20, 26, 30, 40)),
    ]  # fmt: skip
    alone: list[tuple[str, Draw]] = [
        ("delays below the base delay count as the base delay", lambda n, r: np.maximum(exponential(n, r) - 1, 0)),
        ("table cut at 4 sigma above its mean", of_table(np.clip(np.rint((quantiles(4096) - 1) * SCALE), None, 32767))),
        ("table from 0 on, cut at 4", of_table(np.clip(np.rint(quantiles(4096) * SCALE), None, 32767))),
        ("table of mean 0 whose entries beyond 16 bits wrap", of_table(as_int16(quantiles(4096) - 1))),
        ("table from 0 on whose entries beyond 16 bits wrap", of_table(as_int16(quantiles(4096)))),
        ("`maketable` of 100,000 samples", of_table(maketable(exponential(100_000, np.random.default_rng(1))))),
        ("`maketable` of 1,000 samples", of_table(maketable(exponential(1_000, np.random.default_rng(1))))),
        ("`maketable` of samples in whole units of the mean",
         of_table(maketable(np.floor(exponential(100_000, np.random.default_rng(1)))))),
        ("samples kept up to 4 sigma above the mean", functools.partial(kept_below, 5.0)),
        ("samples kept up to 4 sigma above the mean, brought to sigma 1",
         lambda n, r: kept_below(5.0, n, r) / kept_below(5.0, 10**6, np.random.default_rng(0)).std()),
        ("samples from 0 on, kept up to 4 (what 16 bits hold)", functools.partial(kept_below, 4.0)),
        ("the same, kept up to 3", functools.partial(kept_below, 3.0)),
        ("the same, kept up to 4, brought to sigma 1",
         lambda n, r: kept_below(4.0, n, r) / kept_below(4.0, 10**6, np.random.default_rng(0)).std()),
        ("Pareto (a = 3) by its formula, sigma 1, not cut", of_table(pareto() * SCALE)),
    ]  # fmt: skip
    for name in ("experimental", "pareto", "paretonormal"):
        path = tables / f"{name}.dist"
        if path.exists():
            entries = read_table(path)
            alone.append((f"iproute2's table `{name}`", of_table(entries)))
            alone.append((f"iproute2's table `{name}`, brought to sigma 1", of_table(entries / entries.std() * SCALE)))
    return rows + [(what, {"exponential": made_of(draw)}) for what, draw in alone]


def read_table(path: Path) -> np.ndarray:
    lines = path.read_text(encoding="ascii").splitlines()
    return np.array(" ".join(line for line in lines if not line.startswith("#")).split(), dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=Path("/usr/lib/x86_64-linux-gnu/tc"))
    print("| explanation | uniform | normal | exponential | off the study's | fits |")
    print("|---|---:|---:|---:|---:|---|")
    print("| the study | 7.1 | 6.6 | 5.3 | | |")
    for what, found in explanations(parser.parse_args().tables):
        off = {name: value / STUDY_PKTS[name] - 1 for name, value in found.items()}
        fits = all(abs(value) <= TOLERANCE_RATIO for value in off.values())
        cells = [f"{found[name]:.2f}" if name in found else "" for name in STUDY_PKTS]
        print(f"| {what} | {' | '.join(cells)} | {off['exponential']:+.1%} | {'yes' if fits else 'no'} |")


if __name__ == "__main__":
    main()
