# SPDX-License-Identifier: Apache-2.0
"""The section of the page about the mobile channel. It shows codewords, their effect on packets, and the channel's
states beside the model's."""

from __future__ import annotations

from typing import Any

from leowarp.base.errors import TraceError
from leowarp.media.mobile import SATELLITE, TERMINAL, fading_of, harq_of
from leowarp.report import html
from leowarp.report.labels import mobile_of
from leowarp.results.run import Run
from leowarp.scenario.schema import Mobile
from leowarp.timeline.channel import Realisation
from leowarp.timeline.channel.statistics import state_rows


def channel_section(view: Run, pictures: str) -> str:
    """Return HTML with the channel's figure, the outcomes of codewords and packets, and the shares of the states.
    Return "" if the run has no mobile channel, or one sentence if the channel cannot be recomputed."""
    mobile = mobile_of(view)
    if mobile is None:
        return ""
    try:
        found = view.realisation
    # The channel is recomputed from the plan and compared with the timeline's channel. The recomputed channel may
    # differ from the timeline's if an older version of leowarp made the timeline.
    except TraceError as error:
        return f"<p>{html.text(error.message)}.</p>"
    return pictures + _codewords(mobile, found) + _losses(view, found) + _states(mobile, found)


def _codewords(mobile: Mobile, found: Realisation) -> str:
    harq, outcomes = harq_of(mobile), found.outcomes
    rows: list[list[object]] = [
        [f"decoded after {again} retransmission{'' if again == 1 else 's'}", 100 * share,
         (harq.first_delay_ns + again * harq.retransmission_delay_ns) / 1e6]
        for again, share in enumerate(outcomes.decoded_shares(harq.retransmissions))
    ]  # fmt: skip
    rows.append(["lost", 100 * outcomes.loss_ratio, None])
    caption = (
        f"All {len(outcomes.lost):,} codewords of the run, one every {harq.codeword_period_ns / 1e3:g} us, whether "
        f"they carried a packet or not. First transmission: {outcomes.first_bits:,} of {harq.codeword_bits:,} bits; "
        f"symbols sent over those of first transmissions: {outcomes.symbols_ratio:.3f}."
    )
    return html.table(caption, ["what became of them", "share, %", "delay, ms"], rows)


def _losses(view: Run, found: Realisation) -> str:
    lost, count = int(found.outcomes.lost.sum()), len(found.outcomes.lost)
    rows: list[list[object]] = [["all codewords", count, lost, 100 * lost / count]]
    links = view.numbers.links
    mine = links[(links["a"] == SATELLITE) & (links["b"] == TERMINAL)]
    for link in mine.itertuples(index=False):
        # `sent` excludes packets that the queue dropped, and packets that were dropped as the link went down.
        sent = int(link.offered_pkts) - int(link.dropped_queue_pkts) - int(link.dropped_down_pkts)
        dropped = int(link.dropped_loss_pkts)
        rows.append(["packets sent over the link, by the trace", sent, dropped, 100 * dropped / sent if sent else None])
    caption = (
        "Lost on the link from satellite to terminal. Packets are not an even sample of the codewords: TCP sends less "
        "after losses, so most of its packets are sent while the channel is good."
    )
    return html.table(caption, ["", "number", "lost", "lost, %"], rows)


def _states(mobile: Mobile, found: Realisation) -> str:
    fading = fading_of(mobile)
    if fading is None:
        return "<p>Nothing fades (<code>fading = false</code>).</p>"
    named: dict[str, list[Any]] = {}
    for statistic, state, _, value, closed_form, _ in state_rows(found.power, fading):
        if statistic in ("state_share", "dwell"):
            scale = 100 if statistic == "state_share" else 1
            cells = [None if number is None else scale * number for number in (value, closed_form)]
            named.setdefault(str(state), []).extend(cells)
    rows = [[name, *cells] for name, cells in named.items()]
    header = ["state", "share of time, %", "by the model", "mean stay, s", "by the model"]
    return html.table("Shadowing states in the run beside the model's.", header, rows)
