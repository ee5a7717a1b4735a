# SPDX-License-Identifier: Apache-2.0
"""Claims that the two metrics help to compare protocols, and show small variations of delay (2.12 to 2.15).

If a TCP's throughput never collapses, the tests of these claims have nothing to compare, and the verdict is "cannot be
told".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020.claims_throughput import (
    COLLAPSED,
    FIGURE_8,
    NEEDS,
    THROUGHPUT,
    WELL,
    Lines,
    as_measured,
)
from leowarp_studies.torres2020.evidence import NAMES, Frames
from leowarp_studies.torres2020.runs import SHAPE_US
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS

AXES = {"entropy_nats": "E_r", "mean_displacement_pkts": "MD", "jitter_ms": "jitter"}
"""The columns that can be the horizontal axis of a curve, and their names."""
METRICS = ("mean_displacement_pkts", "entropy_nats")

CLEAR = 0.25
"""A distance is "clear" if it is at least this share of the axis."""
SMALL_MS, LARGER_MS = 0.075, 1.0
"""The two jitters, in ms, that the paper names: 0.75 % and 10 % of the paper's largest jitter."""


# Implements claim 2.12 of torres2020 (sections IV, V).
def entropy_separates(frames: Frames) -> Outcome:
    """For normal jitter, test how far apart the algorithms collapse on each axis (see `_separation`)."""
    return as_measured(frames, _separation, ("normal",), FIGURE_8)


# Implements claim 2.13 of torres2020 (section V).
def metrics_compare(frames: Frames) -> Outcome:
    """Test whether throughput falls sharply as a metric grows, and whether algorithms differ (see `_edges`)."""
    return as_measured(frames, _edges, DISTRIBUTIONS, FIGURE_8)


# Implements claim 2.14 of torres2020 (section IV).
def entropy_follows_displacements(frames: Frames) -> Outcome:
    """At one jitter, test whether the distributions have the same order by packet displacement as by E_r.

    Displacements and E_r are computed from the same probes. In the claim, "larger packet displacements" is taken to
    mean the tail of the distribution. The test uses two values: the displacement that 1 % of the packets exceed, and
    the largest displacement. The mean displacement is listed, but not tested, because it gives a different order of the
    distributions (claim 2.3).

    Returns: Numbers by distribution: `entropy_nats`, `percentile_99_pkts`, `largest_pkts`, `mean_displacement_pkts`.
    """
    found: dict[str, dict[str, float]] = {
        name: {} for name in ("entropy_nats", "percentile_99_pkts", "largest_pkts", "mean_displacement_pkts")
    }
    for distribution in DISTRIBUTIONS:
        rd = frames["shapes"][distribution]
        size, share = np.abs(rd.displacement_pkts), rd.share / rd.share.sum()
        order = np.argsort(size, kind="stable")
        reached = np.cumsum(share[order])
        # The tolerance of 1e-12 is needed because rounding may make a share of exactly 99 % slightly smaller.
        found["percentile_99_pkts"][distribution] = float(size[order][np.argmax(reached >= 0.99 - 1e-12)])
        found["largest_pkts"][distribution] = float(size[share > 0].max())
        found["mean_displacement_pkts"][distribution] = float((size * share).sum())
        some = share[share > 0]
        found["entropy_nats"][distribution] = float(-(some * np.log(some)).sum())
    by_entropy = _order(found["entropy_nats"])
    parts = {name: _order(found[name]) == by_entropy for name in ("percentile_99_pkts", "largest_pkts")}
    words = {"entropy_nats": "E_r", "percentile_99_pkts": "99th percentile of displacements",
             "largest_pkts": "largest displacement", "mean_displacement_pkts": "MD"}  # fmt: skip
    return Outcome(
        holds_if(parts),
        "; ".join(
            f"{words[name]} "
            + " > ".join(f"{distribution} {values[distribution]:.4g}" for distribution in _order(values))
            for name, values in found.items()
        ),
        found,
        ""
        if all(parts.values())
        else "entropy measures how evenly packets are spread over places, and not how far the farthest lie: of all "
        "distributions with its variance the normal one has the highest, and a long thin tail lowers it",
    )


# Implements claim 2.15 of torres2020 (section IV).
def entropy_early(frames: Frames) -> Outcome:
    """For each distribution, divide E_r by its value at the largest jitter, and do the same with MD. Test these shares
    at two smaller jitters.

    Returns: The numbers `entropy_ratio` and `displacement_ratio`, for each jitter and distribution.
    """
    tables = {column: ev.pivot(frames["probes"], column) for column in METRICS}
    shares = {
        column: {
            f"{jitter_ms:g} ms": {
                name: float(table.loc[jitter_ms, name] / table[name].iloc[-1]) for name in DISTRIBUTIONS
            }
            for jitter_ms in (SMALL_MS, LARGER_MS)
        }
        for column, table in tables.items()
    }
    entropy, displacement = shares["entropy_nats"], shares["mean_displacement_pkts"]
    small, larger = entropy
    parts = {
        "5 % at the small jitter": all(value >= 0.05 for value in entropy[small].values()),
        "half at the larger": all(value >= 0.5 for value in entropy[larger].values()),
        "5 times MD's share": all(entropy[small][name] >= 5 * displacement[small][name] for name in DISTRIBUTIONS),
    }
    softer = all(value >= 0.1 for value in entropy[small].values())
    return Outcome(
        holds_if(parts),
        "; ".join(
            f"at {jitter} E_r is {_percent(entropy[jitter])} of its largest, MD {_percent(displacement[jitter])}"
            for jitter in entropy
        )
        + f" ({', '.join(DISTRIBUTIONS)}); 10 % at {small}: {'yes' if softer else 'no'}",
        {"entropy_ratio": entropy, "displacement_ratio": displacement},
        not_so(parts),
    )


def _separation(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """For each axis, return the position at which each algorithm falls below 50 %, as a share of the axis. Also return
    the largest distance between two algorithms.

    A share is a fraction of the largest measured value on its axis. An algorithm's position is the first point of its
    curve that is below 50 %. The positions can be compared, because all algorithms are measured at the same jitters.
    """
    places: dict[str, dict[str, float]] = {column: {} for column in AXES}
    for (_, algorithm), line in lines.items():
        collapsed = ev.first_below(line, COLLAPSED)
        if collapsed is not None:
            for column in AXES:
                places[column][algorithm] = float(collapsed[column] / line[column].max())
    fallen = places["entropy_nats"]
    if len(fallen) < 2:
        names = ", ".join(NAMES[algorithm] for algorithm in fallen) or "none"
        return {}, f"algorithms that fall below 50 %: {names}; two are needed to be differentiated", {"place": places}
    apart = {column: max(values.values()) - min(values.values()) for column, values in places.items()}
    numbers = {"place": places, "apart_ratio": apart}
    if not any(apart.values()):
        # The algorithms may still collapse at different jitters. Only runs with more jitters in between would show such
        # a difference.
        (at, *_) = places["jitter_ms"].values()
        return {}, f"all that fall below 50 % do at one point of the grid, {at:.1%} of the jitter axis", numbers
    parts = {
        "clear on the E_r axis": apart["entropy_nats"] >= CLEAR,
        # The limit is a fifth of the axis of 10 ms, as in claim 2.5.
        "little jitter": apart["jitter_ms"] <= 0.2,
        # The paper calls E_r "more significant ... due to its logarithmic scale" than MD. MD is proportional to the
        # jitter.
        "twice as clear as on the MD axis": apart["entropy_nats"] >= 2 * apart["mean_displacement_pkts"],
    }
    text = "falls below 50 % at "
    text += "; ".join(
        f"{NAMES[algorithm]} "
        + ", ".join(f"{places[column][algorithm]:.1%} of {axis}" for column, axis in AXES.items())
        for algorithm in fallen
    )
    text += "; apart by " + ", ".join(f"{apart[column]:.1%} of the {axis} axis" for column, axis in AXES.items())
    return parts, text, numbers


def _edges(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """Test whether each curve that collapses rises again. Also measure the width of the fall from 90 % to 50 %, as a
    share of each axis.

    For BIC, the curves of all distributions are tested. For the other algorithms, only the curve of the normal
    distribution is tested. A rise of less than 5 % of the undisturbed throughput is ignored.
    """
    lines = {key: line for key, line in lines.items() if key[1] == "bic" or key[0] == "normal"}
    texts, rises, widths = [], {}, {}
    parts = {}
    for (distribution, algorithm), line in lines.items():
        name = f"{NAMES[algorithm]}, {distribution}"
        collapsed = ev.first_below(line, COLLAPSED)
        if collapsed is None:
            texts.append(f"{name}: no collapse")
            continue
        well = ev.last_at_or_above(line, WELL)
        rises[name] = {metric: _rise(line, metric) for metric in METRICS}
        widths[name] = {metric: float((collapsed[metric] - well[metric]) / line[metric].max()) for metric in METRICS}
        parts[f"{name}: falls"] = all(value < 0.05 for value in rises[name].values())
        parts[f"{name}: edge"] = widths[name]["entropy_nats"] <= CLEAR
        texts.append(
            f"{name}: from 90 % to 50 % within "
            + ", ".join(f"{widths[name][metric]:.0%} of the {AXES[metric]} axis" for metric in METRICS)
            + f", rises again by {max(rises[name].values()):.0%}"
        )
    if not parts:
        return {}, "no curve collapses: there is no edge to detect and nothing to compare", {}
    of_normal = {algorithm: line for (distribution, algorithm), line in lines.items() if distribution == "normal"}
    noise = max(float((line["q3_ratio"] - line["q1_ratio"]).median()) for line in of_normal.values())
    apart = {metric: ev.spread_between(of_normal, metric)[0] for metric in METRICS}
    parts |= {f"algorithms differ at equal {AXES[metric]}": value >= max(0.1, noise) for metric, value in apart.items()}
    texts.append(
        "algorithms differ by "
        + ", ".join(f"{apart[metric]:.0%} at equal {AXES[metric]}" for metric in METRICS)
        + f" (the middle half of seeds spans {noise:.1%})"
    )
    numbers = {"rise_ratio": rises, "edge_axis_ratio": widths, "apart_ratio": apart, "noise_ratio": noise}
    return parts, "; ".join(texts), numbers


def _rise(line: pd.DataFrame, metric: str) -> float:
    """Return the largest rise of a curve above its lowest earlier value, as a share of the undisturbed throughput.
    Points are in the order of the metric."""
    ratio = line.sort_values(metric, kind="stable")["ratio"].to_numpy()
    return float(np.max(ratio - np.minimum.accumulate(ratio)))


def _order(values: dict[str, float]) -> tuple[str, ...]:
    """Return the names sorted by value, the largest first."""
    return tuple(sorted(values, key=lambda name: -values[name]))


def _percent(values: dict[str, float]) -> str:
    """Return the ratios as a text of percentages, in the order of the distributions."""
    return ", ".join(f"{values[name]:.1%}" for name in DISTRIBUTIONS)


CLAIMS = (
    Claim("2.12", "E_r is the more significant metric due to its logarithmic scale: it differentiates the algorithms "
          "clearly, in spite of the small difference of the jitters at which they collapse.", "sections IV, V",
          f"{THROUGHPUT} Normal jitter, the first point below 50 % of each algorithm that has one, as a share of the "
          "largest E_r, MD and jitter measured. From the first to the last algorithm it is (a) 25 % or more of the "
          "E_r axis; (b) 20 % or less of the jitter axis; (c) twice as much of the E_r axis as of the MD axis or "
          "more. All: holds; some: partly; fewer than two algorithms with such a point, or all at the same: cannot be "
          "told. (Until a first look at few jitters the point was 90 %, below which all are at 0.075 ms without RACK, "
          "and the share in (b) was 10 %.)",
          NEEDS, entropy_separates),
    Claim("2.13", "Both MD and E_r can be used to compare the performance of protocols sensitive to reordering; with "
          "one distribution the largest E_r until the performance collapses is clearly detected.", "V",
          f"{THROUGHPUT} bic over each distribution, the other algorithms over the normal one. For each curve that "
          "falls below 50 %: (a) along MD and along E_r it never rises by 5 % of the undisturbed throughput or more; "
          "(b) from the last point at 90 % to the first below 50 % it takes 25 % of the E_r axis or less. (c) At equal "
          "MD, and at equal E_r, algorithms differ by 10 % or more and by more than the middle half of seeds spans. "
          "All: holds; some: partly; no such curve: cannot be told.", NEEDS, metrics_compare),
    Claim("2.14", "E_r of the distributions differs because it is influenced positively by greater spread "
          "distributions, that is, with larger packet displacements.", "IV",
          f"Probes with jitter of {SHAPE_US / 1e3:g} ms: the order of the three distributions by E_r is that by (a) "
          "the 99th percentile of displacements, of either sign; (b) the largest displacement. One: partly.",
          ("shapes",), entropy_follows_displacements),
    Claim("2.15", "For small delay variation E_r is already significant, other than MD.", "IV",
          "Probes, as shares of what each metric is with jitter of 10 ms, for each distribution: E_r is (a) 5 % or "
          "more at 0.075 ms (10 % is given too); (b) half or more at 1 ms; (c) 5 times MD's share or more at 0.075 "
          "ms. All: holds; some: partly.", ("probes",), entropy_early),
)  # fmt: skip
