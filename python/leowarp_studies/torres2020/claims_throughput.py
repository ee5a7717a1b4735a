# SPDX-License-Identifier: Apache-2.0
"""Claims about the effect of reordering on TCP (2.5 to 2.8). For each claim, further runs show which mechanism of TCP
determines the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from leowarp.study.claim import Claim, Outcome, Verdict, holds_if
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020.evidence import NAMES, Frames
from leowarp_studies.torres2020.runs import PROFILES
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS

WELL, COLLAPSED = 0.9, 0.5
"""Two shares of the throughput without jitter. The study says "above 90 %". Below one half, throughput counts as
collapsed."""

FIGURE_8 = ("bic", "highspeed", "westwood", "yeah")
"""The algorithms in the study's figure 8."""
STUDY_ENTROPY = {"bic": 3.3, "highspeed": 3.3, "yeah": 3.3, "westwood": 0.75}
"""The E_r in nats up to which each algorithm keeps its throughput, from the study's text about figure 8."""
SAME_ENTROPY = 3.8
"""The study compares the distributions of jitter at this E_r (reordering entropy), in nats."""


# Implements claim 2.5 of torres2020 (figure 6).
def collapse_against_displacement(frames: Frames) -> Outcome:
    """Test the MD at which throughput collapses with each distribution (see `_collapse_md`)."""
    return as_measured(frames, _collapse_md, DISTRIBUTIONS, ("bic",))


# Implements claim 2.6 of torres2020 (figure 7).
def collapse_against_entropy(frames: Frames) -> Outcome:
    """Test the E_r at which throughput collapses with each distribution (see `_collapse_entropy`)."""
    return as_measured(frames, _collapse_entropy, DISTRIBUTIONS, ("bic",))


# Implements claim 2.7 of torres2020 (figure 8).
def four_algorithms(frames: Frames) -> Outcome:
    """For each of the four algorithms with normal jitter, test up to which E_r it keeps its throughput (see
    `_collapse_by_algorithm`)."""
    return as_measured(frames, _collapse_by_algorithm, ("normal",), FIGURE_8)


# Implements claim 2.8 of torres2020 (section V).
def same_metric_other_throughput(frames: Frames) -> Outcome:
    """At equal MD and at equal E_r, test whether the throughput differs between the distributions (see `_apart`)."""
    return as_measured(frames, _apart, DISTRIBUTIONS, ("bic",))


Lines = Mapping[tuple[str, str], pd.DataFrame]
"""The curves by distribution and algorithm."""

Test = Callable[[Lines], tuple[dict[str, bool], str, dict[str, Any]]]
"""A function that tests curves, and returns the parts of a verdict, a text, and numbers."""


def as_measured(frames: Frames, test: Test, distributions: Sequence[str], algorithms: Sequence[str]) -> Outcome:
    """Return the outcome of a test for one TCP, which is named in the sample's `profile`. Without `profile`, the TCP is
    the default TCP of Linux 6.12.

    If the verdict on the first sample is not "holds", the text `cause` also gives the test's result for every other
    TCP.
    """
    profile = frames.get("profile", PROFILES[0])
    # One group has the study's 16,740 runs, and another has the fourth algorithm of figure 8. Together, the groups
    # `transfers` and `yeah` contain the study's transfers.
    every = pd.concat([frames["transfers"], frames["yeah"]], ignore_index=True)
    parts, text, numbers = test(_lines(every, frames["path"], distributions, algorithms, profile))
    verdict = _verdict(parts)
    if verdict == "holds":
        cause = ""
    elif profile != PROFILES[0]:
        cause = _did(frames["mechanisms"], [profile], algorithms[0])
    else:
        cause = _cause(frames, test, distributions, algorithms)
    return Outcome(verdict, text, numbers, cause)


def _verdict(parts: Mapping[str, bool]) -> Verdict:
    """Return the result of `holds_if`, or "cannot be told" if there are no parts, because the test had no data."""
    return holds_if(parts) if parts else "cannot be told"


def _lines(
    transfers: pd.DataFrame, probes: pd.DataFrame, distributions: Sequence[str], algorithms: Sequence[str], profile: str
) -> Lines:
    """Return one curve per distribution and algorithm, from the transfers with one TCP.

    Except for bic, each algorithm has only the curve of the normal distribution, because the study shows no further
    curves.
    """
    return {
        (distribution, algorithm): ev.curve(transfers, probes, distribution, algorithm, profile)
        for distribution in distributions
        for algorithm in algorithms
        if distribution == "normal" or algorithm == "bic"
    }


def _collapse_md(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """Test whether each curve falls below half of the undisturbed throughput. Also test the MD at this point, and the
    range of jitter over which the curve falls.

    A curve collapses at its first point below half of the undisturbed throughput. The range of jitter begins at the
    last point with at least 90 % of the undisturbed throughput. It ends where the curve collapses.
    """
    texts, at, span, half = [], {}, {}, {}
    for (name, _), line in lines.items():
        well, collapsed = ev.last_at_or_above(line, WELL), ev.first_below(line, COLLAPSED)
        # Three points describe how a curve falls: the last point at 90 % or more, the first point below 90 %, and the
        # first point below half.
        dip = ev.first_below(line, WELL)
        texts.append(f"{name}: " + _fall_text(line))
        if dip is not None:
            at[name] = float(dip["mean_displacement_pkts"])
        if collapsed is not None:
            half[name] = float(collapsed["mean_displacement_pkts"])
            span[name] = float(collapsed["jitter_ms"] - well["jitter_ms"])
    parts = {
        "collapses in all": len(half) == len(lines),
        # "Quite different" is taken to mean a factor of at least 1.5. At equal jitter, the MDs of the distributions
        # differ by much less: the largest is 0.87 / 0.74 times the smallest.
        "at MD 1.5 times apart": len(half) == len(lines) and max(half.values()) >= 1.5 * min(half.values()),
        # "A small range of jitter" is taken to mean at most a fifth of the study's 10 ms.
        "within 2 ms": len(span) == len(lines) and max(span.values()) <= 2.0,
    }
    wide = len(half) == len(lines) and max(half.values()) >= 1.25 * min(half.values())
    apart = f"; at MD 1.25 times apart: {'yes' if wide else 'no'}" if half else ""
    return parts, "; ".join(texts) + apart, {"md_below_90_pkts": at, "md_below_50_pkts": half, "jitter_span_ms": span}


def _collapse_entropy(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """Find the E_r and the MD at which each curve collapses, and test them. Also test the throughput at an E_r of 3.8,
    for which the study gives two limits.

    E_r and MD have no common scale. Each point is therefore given as a share of the largest measured value on its axis.
    """
    place: dict[str, dict[str, float]] = {"entropy_nats": {}, "mean_displacement_pkts": {}}
    at_same, texts = {}, []
    for (name, _), line in lines.items():
        collapsed = ev.first_below(line, COLLAPSED)
        # No probe has an E_r of exactly 3.8, so the throughput is interpolated linearly between two points.
        at_same[name] = ev.ratio_at(line, "entropy_nats", SAME_ENTROPY)
        if collapsed is not None:
            for column, shares in place.items():
                shares[name] = float(collapsed[column] / line[column].max())
        texts.append(f"{name}: {_fall_text(line)}, {at_same[name]:.0%} at E_r {SAME_ENTROPY:g}")
    entropy, displacement = place["entropy_nats"], place["mean_displacement_pkts"]
    # The claim is about all three curves, so it does not hold if a curve never collapses.
    whole = len(entropy) == len(lines)
    parts = {
        "in the middle half of the E_r axis": whole and all(0.25 <= value <= 0.75 for value in entropy.values()),
        "further along than on the MD axis": whole and all(entropy[name] > displacement[name] for name in entropy),
        "uniform over 90 %": at_same["uniform"] > 0.9,
        "exponential under 80 %": at_same["exponential"] < 0.8,
    }
    places = ", ".join(f"{name} at {entropy[name]:.0%} (MD axis {displacement[name]:.0%})" for name in entropy)
    text = "; ".join(texts) + (f"; collapse along the E_r axis: {places}" if places else "")
    return parts, text, {"ratio_at_3_8": at_same, "entropy_axis_ratio": entropy, "md_axis_ratio": displacement}


def _collapse_by_algorithm(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """For each algorithm, test the E_r up to which it keeps its throughput in the study. This E_r must lie between the
    last point with at least 90 % of the throughput and the first point below 90 %.

    Because leowarp simulates only some jitters, throughput collapses somewhere between the two points. The study's
    value may lie up to 0.3 outside of these two points.
    """
    texts, holds_to, parts, half = [], {}, {}, {}
    for (_, algorithm), line in lines.items():
        well, dip = ev.last_at_or_above(line, WELL), ev.first_below(line, WELL)
        holds_to[algorithm] = float(well["entropy_nats"])
        # The collapse is between the points `well` and `dip`.
        parts[algorithm] = dip is not None and (
            holds_to[algorithm] - 0.3 <= STUDY_ENTROPY[algorithm] <= float(dip["entropy_nats"]) + 0.3
        )
        collapsed = ev.first_below(line, COLLAPSED)
        half[algorithm] = None if collapsed is None else float(collapsed["entropy_nats"])
        texts.append(f"{NAMES[algorithm]}: {_fall_text(line)}")
    wide = [
        NAMES[algorithm]
        for algorithm, value in half.items()
        if value is not None and abs(value - STUDY_ENTROPY[algorithm]) <= 0.6
    ]
    # Algorithms are compared by their last point with a throughput of 90 % or more. A comparison by the first point
    # below 90 % would give the same order, because all algorithms are run with the same jitters.
    parts["westwood first"] = all(holds_to["westwood"] < holds_to[name] for name in holds_to if name != "westwood")
    text = "; ".join(texts) + f"; below 50 % within 0.6 of the study's E_r: {', '.join(wide) or 'none'}"
    return parts, text, {"holds_to_entropy_nats": holds_to, "below_50_entropy_nats": half}


def _apart(lines: Lines) -> tuple[dict[str, bool], str, dict[str, Any]]:
    """Compare the curves at equal MD, and at equal E_r. The largest difference in throughput must be at least as large
    as the spread over seeds."""
    by_name = {name: line for (name, _), line in lines.items()}
    apart: dict[str, tuple[float, float]] = {
        column: ev.spread_between(by_name, column) for column in ("mean_displacement_pkts", "entropy_nats")
    }
    # A difference below the interquartile range over seeds may be chance.
    noise = max(float((line["q3_ratio"] - line["q1_ratio"]).median()) for line in by_name.values())
    parts = {column: value >= max(0.1, noise) for column, (value, _) in apart.items()}
    (md, at_md), (entropy, at_entropy) = apart["mean_displacement_pkts"], apart["entropy_nats"]
    # The result depends on the threshold, so it is given for two thresholds, 10 % and 20 %.
    over = "both" if min(md, entropy) >= 0.2 else "one" if max(md, entropy) >= 0.2 else "neither"
    text = (
        f"largest difference between distributions {md:.0%} of the undisturbed throughput at equal MD ({at_md:.1f} "
        f"packets), {entropy:.0%} at equal E_r ({at_entropy:.2f}); the middle half of seeds spans {noise:.1%}; 20 % or "
        f"more: {over}"
    )
    return parts, text, {"apart_at_equal_md_ratio": md, "apart_at_equal_entropy_ratio": entropy, "noise_ratio": noise}


def _fall_text(line: pd.DataFrame) -> str:
    """Return a text with two results for a curve: up to which point it keeps its throughput, and where it falls below
    half."""
    well, collapsed = ev.last_at_or_above(line, WELL), ev.first_below(line, COLLAPSED)
    where = f"{well['jitter_ms']:g} ms (E_r {well['entropy_nats']:.2f}, MD {well['mean_displacement_pkts']:.1f})"
    if ev.first_below(line, WELL) is None:
        return f"at 90 % or more to the end, {where}"
    text = f"at 90 % or more to {where}"
    if collapsed is None:
        return f"{text}, at {line['ratio'].iloc[-1]:.0%} at the end"
    return (
        f"{text}, below 50 % at {collapsed['jitter_ms']:g} ms (E_r {collapsed['entropy_nats']:.2f}, MD "
        f"{collapsed['mean_displacement_pkts']:.1f})"
    )


def _cause(frames: Frames, test: Test, distributions: Sequence[str], algorithms: Sequence[str]) -> str:
    """Return a text that explains the cause. The text gives the test's result for each TCP except the first. It also
    gives the sender's reactions in one transfer with each TCP."""
    # Every other TCP differs from the first TCP in one mechanism. The comparison with the first TCP therefore tests the
    # cause.
    mechanisms: pd.DataFrame = frames["mechanisms"]
    there = ev.profiles_of(mechanisms)
    verdicts = []
    for profile in there:
        if profile == PROFILES[0]:
            continue
        lines = _lines(mechanisms, frames["path"], distributions, algorithms, profile)
        verdict = _verdict(test(lines)[0])
        verdicts.append(f"{profile}: {verdict} ({_falls(lines)})")
    return (
        f"how loss is distinguished from reordering. {_did(mechanisms, there, algorithms[0])}. "
        f"The same test on those TCPs, coarser grid: {'; '.join(verdicts)}. What they are: section Mechanisms"
    )


def _did(mechanisms: pd.DataFrame, profiles: Sequence[str], algorithm: str) -> str:
    """Return a text that says how the sender reacts with each TCP. The jitter is the one at which the study's transfers
    collapse."""
    at_ns = ev.telling_jitter_ns(mechanisms)
    did = (f"{profile} {ev.sender_did(mechanisms, profile, algorithm, at_ns)}" for profile in profiles)
    return f"{NAMES[algorithm]}, normal jitter of {at_ns / 1e6:g} ms: {'; '.join(did)}"


def _falls(lines: Lines) -> str:
    """Return a text that states for each curve the jitters at which it falls below 90 % and below 50 %."""
    # A curve is named by the property that differs between the curves: the algorithm in claim 2.7, and the distribution
    # in other claims.
    several_algorithms = len({algorithm for _, algorithm in lines}) > 1
    texts = []
    for (distribution, algorithm), line in lines.items():
        points = [ev.first_below(line, ratio) for ratio in (WELL, COLLAPSED)]
        jitters = ["never" if point is None else f"{point['jitter_ms']:g} ms" for point in points]
        texts.append(f"{NAMES[algorithm] if several_algorithms else distribution} {', '.join(jitters)}")
    return "below 90 % and below 50 % from: " + "; ".join(texts)


THROUGHPUT = (
    "Throughput: bytes delivered over the time they took, mean over seeds, as a share of the same algorithm's without "
    "jitter."
)

NEEDS = ("transfers", "yeah", "path", "mechanisms")

CLAIMS = (
    Claim("2.5", "TCP throughput (bic) collapses at quite different MD for the three distributions, within a small "
          "range of jitter.", "6",
          f"{THROUGHPUT} (a) below 50 % somewhere up to 10 ms, for each; (b) MD at the first such point differs by a "
          "factor of 1.5 or more (1.25 is given too); (c) from the last point at 90 % to the first below 50 % it is 2 "
          "ms or less, for each. All: holds; some: partly.", NEEDS, collapse_against_displacement),
    Claim("2.6", "Against E_r the collapse is at intermediate values and easier to see; at E_r 3.8 uniform still gives "
          "above 90 %, exponential below 80 %.", "7",
          f"{THROUGHPUT} (a) the first point below 50 % lies between 25 and 75 % of the largest E_r measured, for "
          "each; (b) further along that axis than along that of MD, for each; (c), (d) the two numbers at E_r 3.8, on "
          "straight lines between points. All: holds; some: partly.", NEEDS, collapse_against_entropy),
    Claim("2.7", "bic, highspeed and yeah hold until E_r about 3.3; westwood collapses at about 0.75 (normal jitter).",
          "8",
          f"{THROUGHPUT} Normal jitter. It falls below 90 % within 0.3 of that E_r, for each of the four: the "
          "interval from the last point of the grid before to the first below, widened by 0.3, holds it (the first "
          "below 50 %, within 0.6, is given too); westwood falls before the others. "
          "All: holds; some: partly.", NEEDS, four_algorithms),
    Claim("2.8", "Equal MD or E_r can mean different performance when the distribution differs.", "V",
          f"{THROUGHPUT} bic, on straight lines between points: largest difference between distributions at equal MD, "
          "and at equal E_r, is 10 % or more (20 % is given too) and more than the middle half of seeds spans. Both: "
          "holds; one: partly.", NEEDS, same_metric_other_throughput),
)  # fmt: skip
