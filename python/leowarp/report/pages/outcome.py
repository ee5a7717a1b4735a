# SPDX-License-Identifier: Apache-2.0
"""Describe a run in three sentences: its traffic and path, its results, and the effect of route changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from leowarp.report import html
from leowarp.report.labels import worded
from leowarp.results.run import Run
from leowarp.scalars.overview import total_goodput_bps
from leowarp.scalars.texts import rate_text, ratio_text, span_text
from leowarp.scenario.schema import Access, Chain, Jittered, Measured, Mobile


def outcome(run: Run) -> str:
    """Return sentences about a run's setting, result and route changes, as a paragraph of HTML.

    A fact is left out if the run did not record it, for example without samples or packet observation. The sentences
    contain numbers, and no adjectives that rate them.
    """
    sentences = [_setting(run), _result(run), _changes(run)]
    shown = " ".join(sentence for sentence in sentences if sentence)
    return f'<p class="outcome">{html.text(worded([run], shown))}</p>\n'


def _setting(run: Run) -> str:
    kinds = Counter(
        flow.congestion_control or "TCP" if flow.kind == "tcp" else flow.kind for flow in run.observed_plan.flows
    )
    if len(run.observed_plan.flows) == 1:
        flow = run.observed_plan.flows[0]
        (kind,) = kinds
        who = f"One {kind} flow" if flow.kind == "tcp" else f"One {kind}"
        who += f" from {flow.source} to {flow.destination}"
    else:
        who = _listed([f"{count} {kind} flow{'s' * (count > 1)}" for kind, count in kinds.items()])
    return f"{who} ran for {run.end_ns / 1e9:g} s of virtual time over {_medium(run)}."


def _medium(run: Run) -> str:
    match run.plan.medium:
        case Access() as access:
            return f"an access link ({access.profile}{f', {access.preset}' if access.preset else ''})"
        case Chain() as chain:
            return f"a chain of {chain.hops} links"
        case Measured() as measured:
            return f"a measured path ({measured.file.name})" if measured.file is not None else "a measured path"
        case Jittered():
            return "one link whose delay varies from packet to packet"
        case Mobile():
            return "a fading mobile channel"
        case _:
            return "the links of a constellation"


def _result(run: Run) -> str:
    flows = [run.summary["flows"][number] for number in run.tcp_flows]
    if not flows:
        return ""
    if len(flows) == 1:
        return _of_one(flows[0], "It" if len(run.observed_plan.flows) == 1 else "The TCP flow")
    rates = [flow["goodput_mean_bps"] for flow in flows if flow.get("goodput_mean_bps") is not None]
    total_bps = total_goodput_bps(flows)
    if len(rates) < len(flows) or total_bps is None:
        return ""
    names = [run.flow_names[number] for number in run.tcp_flows]
    least, most = rates.index(min(rates)), rates.index(max(rates))
    shares = run.summary.get("fairness", {}).get("jain_index")
    fair = f", shared with a Jain's index of {shares:.3f}" if shares is not None else ""
    return (
        f"The {len(flows)} TCP flows got {rate_text(total_bps)} in order{fair}: from {rate_text(rates[least])} "
        f"({names[least]}) to {rate_text(rates[most])} ({names[most]})."
    )


def _of_one(flow: Mapping[str, Any], who: str) -> str:
    rate_bps = flow.get("goodput_mean_bps")
    if rate_bps is None:
        return ""
    sentence = f"{who} got {rate_text(rate_bps)} in order"
    if (used_ratio := flow.get("capacity_used_ratio")) is not None:
        sentence += f", {ratio_text(used_ratio)} of what its path could carry"
    if (median_ns := flow.get("rtt_p50_ns")) is not None:
        sentence += f", at a median round-trip time of {span_text(median_ns)}"
    again, spurious = flow.get("retransmissions_pkts"), flow.get("spurious_retransmissions_pkts")
    if again is not None and spurious is not None:
        of_these = f"of {again:,} retransmissions {spurious:,} were spurious" if again else "nothing was sent again"
        sentence += f"; {of_these}"
    return sentence + "."


def _changes(run: Run) -> str:
    count = run.summary.get("route_changes")
    if count is None or (run.plan.constellation is None and not count):
        return ""
    if not count:
        return "The route never changed."
    sentence = f"There {'was 1 route change' if count == 1 else f'were {count:,} route changes'}"
    late = [flow.get("late_pkts") for flow in run.summary["flows"]]
    lost = [flow.get("lost_near_changes_pkts") for flow in run.summary["flows"] if flow.get("kind", "tcp") == "tcp"]
    known_late, known_lost = [n for n in late if n is not None], [n for n in lost if n is not None]
    if known_late:
        sentence += f"; in the whole run {sum(known_late):,} packets came late, overtaken by others"
    if known_lost:
        sentence += f", and {sum(known_lost):,} were lost within 1 s of a route change"
    return sentence + "."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
