# SPDX-License-Identifier: Apache-2.0
"""All figures by name; for example, `figure(run, "goodput")` draws one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.spelling import one_of
from leowarp.report.figures import (
    across_flows,
    applications,
    around_changes,
    channel,
    distributions,
    goodputs,
    packets,
    probes,
    queues,
    reordering,
    routemap,
    throughput,
)
from leowarp.report.labels import MOST_LINES, is_access, mobile_of, numbers_of
from leowarp.report.style import styled
from leowarp.results.run import Run


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure, which can be drawn for one or several runs.

    draw: Function `draw(runs, **options) -> Figure`.
    caption: What the figure shows and how to read it.
    study: Number of the figure of `frederiksen2024` that it reproduces, or "".
    several: True if it draws all given runs, False if only the first.
    shows: Its subject, which is a key of `_HAS`. Subjects are routes over satellites, a mobile channel, measurements of
        programs (`players`, `page loads`), and flows of a kind. Kinds of flows are for example `many tcp` (more than
        lines can distinguish), `pairs` (between many pairs of stations), `sizes` (many with a size) and `pings` (those
        with replies). `capacity` is TCP over a link with a capacity table, and `changes` TCP over a path that can
        change. A page leaves the figure out if the run does not have its subject.
    needs: Trace tables from which the figure is drawn.
    part: Section of a run's page in which the figure is.
    own_flows: Whether the figure chooses its flows itself.
    """

    draw: Callable[..., Figure]
    title: str
    caption: str
    study: str = ""
    several: bool = True
    shows: str = "tcp"
    needs: tuple[str, ...] = ()
    part: str = "figures"
    own_flows: bool = False

    @property
    def around_changes(self) -> bool:
        """Whether the figure has the option `change_s`, an instant around which it shows the runs."""
        # The signature itself is checked, also of a `functools.partial`, because a separate flag could contradict it.
        return "change_s" in inspect.signature(self.draw).parameters

    def concerns(self, runs: Sequence[Run]) -> bool:
        """Whether each of the runs has the subject of the figure."""
        return all(_HAS[self.shows](run) for run in runs)


_HAS: dict[str, Callable[[Run], bool]] = {
    "tcp": lambda run: bool(run.tcp_flows),
    "several tcp": lambda run: len(run.tcp_flows) > 1,
    "many tcp": lambda run: len(run.tcp_flows) > MOST_LINES,
    "pairs": across_flows.has_pairs,
    "sizes": across_flows.has_sizes,
    "capacity": lambda run: bool(run.tcp_flows and run.tables.channels.capacity_bps),
    # Without satellites a path never changes, so this figure would be empty.
    "changes": lambda run: bool(run.tcp_flows) and (run.plan.constellation is not None or len(run.changes) > 0),
    "probes": lambda run: bool(run.probe_flows),
    "pings": lambda run: bool(run.ping_flows),
    "routes": lambda run: bool(run.tcp_flows) and run.plan.constellation is not None and not is_access(run),
    "mobile": lambda run: mobile_of(run) is not None,
    "players": lambda run: applications.has_measured(run, "segment"),
    "page loads": lambda run: applications.has_measured(run, "page"),
    "any": lambda run: True,
}

FIGURES: dict[str, FigureKind] = {
    "playback": FigureKind(
        applications.playback, "Buffer and bit rate of a player",
        "Above: media that is there to be played; a red field is a stall. Below: bit rate of each segment, as long as "
        "it took to come, and the throughput that it got.",
        shows="players", needs=("measures",), own_flows=True,
    ),
    "waterfall": FigureKind(
        applications.waterfall, "The objects of a page",
        "Of each flow the page that took longest: when each object was asked for, waited for a connection, and came.",
        shows="page loads", needs=("measures",), own_flows=True,
    ),
    "goodput": FigureKind(
        goodputs.goodput_over_time, "Goodput over time",
        "Bytes that the receiver got in order; a pink line is a route change. Of a long run means of many 50 ms bins, "
        "and pale behind them the range of these. A hole in the sequence stops this series, its filling is a burst "
        "above the link's rate (cut off).",
        "Fig. 6", needs=("sockets",),
    ),
    "throughput": FigureKind(
        throughput.throughput, "Goodput and capacity",
        "Bytes that the receiver got in order, in bins of half a second, above what the narrowest link of the path "
        "could carry of payload in the same bin (its table, integrated).",
        shows="capacity", needs=("sockets",),
    ),
    "shares": FigureKind(
        throughput.flow_shares, "Shares of the flows",
        "Goodput of each TCP flow by the second, and Jain's index over the flows that run through that second: 1 if "
        "all get the same.",
        shows="several tcp", needs=("sockets",),
    ),
    "matrix": FigureKind(
        across_flows.matrix, "From where to where",
        "TCP by source (rows) and destination (columns): the sum of the goodput, the median round trip (over the flows "
        "of a pair the median of theirs), and the share of the data packets that were lost. White without a number: no "
        "flow.",
        several=False, shows="pairs", own_flows=True,
    ),
    "flows": FigureKind(
        across_flows.distribution, "Distribution over the flows",
        "Each TCP flow is a step: the share of the flows whose mean goodput, median round trip or share of lost "
        "packets is at or below x.",
        shows="many tcp", own_flows=True,
    ),
    "completion": FigureKind(
        across_flows.completion, "Time to completion by size",
        "Each TCP flow with a size is a point: from its start, connecting included, until its last byte had arrived. A "
        "hollow triangle was not done when the run or the flow ended. Lines are medians of flows of like size, three "
        "to a decade.",
        shows="sizes", own_flows=True,
    ),
    "goodput_cdf": FigureKind(
        distributions.goodput_cdf, "Distribution of goodput",
        "Share of 50 ms bins with in-order goodput at or below x. The axis is stretched around the path's capacity "
        "(dotted), or around 0 if the flow seldom comes near it.",
        "Fig. 4", needs=("sockets",),
    ),
    "goodput_cdf_log": FigureKind(
        functools.partial(distributions.goodput_cdf, y_scale="log"), "Distribution of goodput, rare dips",
        "As the distribution of goodput, with a logarithmic share, so that dips of 0.5 % of the time can be read.",
        "Fig. 9b", needs=("sockets",),
    ),
    "rtt_ccdf": FigureKind(
        distributions.rtt_ccdf, "Distribution of the round-trip time",
        "Share of time in which the sender's smoothed RTT was above x, each sample weighted by how long it held.",
        "Fig. 5", needs=("sockets",),
    ),
    "cwnd": FigureKind(
        around_changes.cwnd_around_changes, "Window and retransmissions around route changes",
        "Above: congestion window at every sample. Below: retransmissions by the 50 ms in which they were sent; "
        "hatched: spurious (the original arrived, too). The changes shown are those with the most late packets, "
        "then with the most lost.",
        "Fig. 7", shows="changes", needs=("sockets", "bins"),
    ),
    "srtt": FigureKind(
        around_changes.srtt_around_changes, "Round-trip time around route changes",
        "The sender's smoothed RTT, the RTT of each stored packet when its ACK arrived, and the propagation of the "
        "empty path there and back.",
        "Fig. 8", shows="changes", needs=("sockets",),
    ),
    "packets": FigureKind(
        packets.packet_diagram, "A route change, packet by packet",
        "Each packet at its number: when it left and when it arrived, on the old or the new path. Late: a first "
        "transmission that arrived after any packet sent later.",
        "Fig. 2", several=False, shows="changes",
    ),
    "map": FigureKind(
        routemap.route_map, "The route before and after a change",
        "Orthographic view from above the middle of the path; grey dots are satellites; the land is a coarse outline.",
        "Fig. 3", several=False, shows="routes",
    ),
    "queues": FigureKind(
        queues.queues, "Where the queue stands",
        "Packets waiting at the n-th link of the path in force, largest sample in each pixel.", needs=("links",),
    ),
    "queues_change": FigureKind(
        queues.queues_at_change, "Queues around route changes",
        "Queues of the links that the change abandons (dashed), keeps (solid) and newly takes (dotted); links with "
        "fewer than 2 waiting packets are left out. What stands on an abandoned link is overtaken.", shows="changes",
        needs=("links",),
    ),
    "channel": FigureKind(
        channel.channel_over_time, "The mobile channel over the run",
        "Above: the shadowing state, and what the terminal receives (Es/N0), median and middle 90 % of each column of "
        "the picture. Middle: all codewords, whether they carried a packet or not, by how often they were sent again. "
        "Below: bytes that the receiver got in order.",
        several=False, shows="mobile", part="channel", own_flows=True,
    ),
    "probes": FigureKind(
        probes.probe_delays, "Delay of the probes",
        "One-way delay and round-trip time of each ping or udp packet, by when it was sent.", shows="probes",
        needs=("echoes",),
    ),
    "ping": FigureKind(
        probes.ping_over_time, "Round-trip time of each ping",
        "Each probe at the time at which it was sent; marks on the time axis are probes without a reply.",
        shows="pings", needs=("echoes",),
    ),
    "ping_change": FigureKind(
        probes.ping_around_change, "Pings around a route change",
        "The route change with the largest round-trip time within a second of it.", shows="pings", needs=("echoes",),
    ),
    "ping_slots": FigureKind(
        probes.ping_between_changes, "Pings away from route changes",
        "The route changes are cut out, so that what is left varies by itself; the steps are the smallest round-trip "
        "time between two of them.", shows="pings", needs=("echoes",),
    ),
    "reordering": FigureKind(
        reordering.reordering_densities, "Reordering over the whole run",
        "First transmissions alone. RD: share of packets at each displacement from the order of sending, late ones to "
        "the right. RBD: share of arrivals after which a buffer that restores the order holds so many packets. "
        "n-reordering: share of packets that arrive right after n packets sent later. Extent: how many arrivals ago "
        "the first of the packets sent later came.",
        shows="any", needs=("reordering", "densities"), part="reordering",
    ),
    "reordering_time": FigureKind(
        reordering.reordering_over_time, "Reordering over time",
        "Thin: windows of sending time; thick: the packets sent around a route change. Each is a sequence of its own: "
        "a packet overtaken across the border of two windows is late in neither. What is displaced by more than the "
        "threshold of RD counts into the share of reordered packets only.",
        shows="any", needs=("reordering", "densities"), part="reordering",
    ),
}  # fmt: skip
"""Every figure, in the order in which a report shows them."""

Runs = str | Path | Run | Sequence[str | Path | Run]


def views(runs: Runs) -> list[Run]:
    """Runs to draw. A run, its directory, and several of these are accepted. A run need not be complete, because its
    report is drawn before its manifest is written."""
    # A string is a sequence too. Without this check, the letters of a directory's name would be treated as runs.
    many = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    found = [run if isinstance(run, Run) else Run(run, complete=False) for run in many]
    # The plan is read now, so that a directory without a plan gives an error before a figure is half drawn.
    for run in found:
        _ = run.document
    return found


def figure(runs: Runs, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
    """Draw a figure of a run or of several runs.

    Parameters
    ----------
    runs : path, Run, or a sequence of them
        Run directories.
    name : str
        Name of the figure in `FIGURES`.
    flow : int or str, or a sequence of them, optional
        Flows of each run to draw, by number or name; by default all that can be in the figure. Up to eight flows get
        one line each. If there are more, the figure shows their distribution or the flows that were affected most, and
        says which.
    options
        Options of that figure, for example `bin_ns`, `start_s`, `change_s`.

    Raises
    ------
    ScenarioError
        If there is no such figure or option.
    TraceError
        If the runs lack the data that the figure shows.
    """
    if name not in FIGURES:
        raise ScenarioError(f"there is no figure {name!r:.60}", hint=one_of(name, FIGURES))
    given = views(runs)
    if not given:
        raise ScenarioError(f"cannot draw the figure {name!r} of no runs", hint="give at least one run directory")
    for run in given:
        for table in FIGURES[name].needs:
            # The last sample of a socket exists even if sockets were not sampled.
            unsampled = table == "sockets" and run.plan.observe.sockets_ns is None
            if unsampled or not run.tables.has(table):
                key = {"sockets": 'observe.sockets="50 ms"', "links": 'observe.queues="50 ms"'}.get(
                    table, "observe.truth=true"
                )
                raise TraceError(
                    f"cannot draw the figure {name!r} of {run.path.name}: the run recorded no {table}",
                    hint=f"run it again with --set {key}, or, if its plan says so already, with this version",
                )
    if FIGURES[name].own_flows:
        if flow is not None:
            raise ScenarioError(f"cannot choose flows of the figure {name!r}", hint="it shows all of them")
        shown = given
    else:
        shown = [view for run in given for view in _of_flows(run, name, flow)]
    with styled():
        return FIGURES[name].draw(shown, **options)


def flows_of(run: Run, name: str) -> list[int]:
    """Numbers of those flows of a run that the figure can show."""
    every = list(range(len(run.observed_plan.flows)))
    return {"probes": run.probe_flows, "pings": run.ping_flows, "any": every}.get(FIGURES[name].shows, run.tcp_flows)


def _of_flows(run: Run, name: str, flow: int | str | Sequence[int | str] | None) -> list[Run]:
    """A view of each flow of the run that the figure shows. If there are fewer than two such flows, the run itself.

    Raises ScenarioError if the run does not have a requested flow, or if the figure cannot show it.
    """
    if flow is None and run.chosen_flow is not None:
        return [run]
    have = flows_of(run, name)
    if flow is None:
        # If there are TCP flows, reordering is shown for these only.
        have = run.tcp_flows or have if FIGURES[name].shows == "any" else have
        return [run] if len(have) < 2 else [run.of_flow(number) for number in have]
    wanted = numbers_of(run, flow)
    wrong = [number for number in wanted if number not in have]
    if wrong or not wanted:
        known = ", ".join(f"{number} ({run.flow_names[number]})" for number in have[:MOST_LINES])
        more = f", and {len(have) - MOST_LINES} more" if len(have) > MOST_LINES else ""
        what = f"flow {wrong[0]}" if wrong else "no flow"
        raise ScenarioError(
            f"cannot draw the figure {name!r} of {what} of {run.path.name}: it is about none such",
            hint=f"its flows: {known}{more}" if have else "the run has no flow that it is about",
        )
    return [run.of_flow(number) for number in wanted]
