# SPDX-License-Identifier: Apache-2.0
"""The figures by name. For example, `figure(run, "goodput")` draws the figure "goodput"."""

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
    """A kind of figure that can be drawn from one or several runs.

    draw: The function `draw(runs, **options) -> Figure`.
    caption: The text that says what the figure shows and how to read it.
    study: The number of the reproduced figure in `frederiksen2024`, or "".
    several: Whether the figure shows all runs that it gets. If not, it shows only the first run.
    shows: The subject of the figure, a key of `_HAS`. The page of a run leaves out the figures whose subject does not
        occur in the run.
    needs: The trace tables from which the figure is drawn.
    part: The section of a run's page that contains the figure.
    own_flows: Whether the figure itself chooses the flows that it shows.
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
        """Whether the figure has the option `change_s`, the time of the shown route change."""
        # The signature decides, because a separate flag could contradict it.
        return "change_s" in inspect.signature(self.draw).parameters

    def concerns(self, runs: Sequence[Run]) -> bool:
        """Return whether the figure's subject occurs in every run."""
        return all(_HAS[self.shows](run) for run in runs)


_HAS: dict[str, Callable[[Run], bool]] = {
    "tcp": lambda run: bool(run.tcp_flows),
    "several tcp": lambda run: len(run.tcp_flows) > 1,
    "many tcp": lambda run: len(run.tcp_flows) > MOST_LINES,
    "pairs": across_flows.has_pairs,
    "sizes": across_flows.has_sizes,
    "capacity": lambda run: bool(run.tcp_flows and run.tables.channels.capacity_bps),
    # Without satellites a path never changes, and a figure of changes would be empty.
    "changes": lambda run: bool(run.tcp_flows) and (run.plan.constellation is not None or len(run.changes) > 0),
    "probes": lambda run: bool(run.probe_flows),
    "pings": lambda run: bool(run.ping_flows),
    "routes": lambda run: bool(run.tcp_flows) and run.plan.constellation is not None and not is_access(run),
    "mobile": lambda run: mobile_of(run) is not None,
    "players": lambda run: bool(applications.flows_with(run, "segment")),
    "page loads": lambda run: bool(applications.flows_with(run, "page")),
    "any": lambda run: True,
}

FIGURES: dict[str, FigureKind] = {
    "playback": FigureKind(
        applications.playback, "Buffer and bit rate of a player",
        "Above: media in the player's buffer; a red area is a stall. Below: bit rate of each segment while it was "
        "downloaded, and the throughput of that download.",
        shows="players", needs=("measures",), own_flows=True,
    ),
    "waterfall": FigureKind(
        applications.waterfall, "The objects of a page",
        "The page of each flow that took longest: when each object was requested, waited for a connection and arrived.",
        shows="page loads", needs=("measures",), own_flows=True,
    ),
    "goodput": FigureKind(
        goodputs.goodput_over_time, "Goodput over time",
        "Bytes that the receiver got in order; a pink line is a route change. In a long run each point is the mean of "
        "many 50 ms bins, and the pale area is the range of these bins. A hole in the sequence stops this series; when "
        "it is filled, the series has a burst above the link's rate (cut off).",
        "Fig. 6", needs=("sockets",),
    ),
    "throughput": FigureKind(
        throughput.throughput, "Goodput and capacity",
        "Bytes that the receiver got in order, in bins of half a second, and the payload that the narrowest link of "
        "the path could carry in the same bin.",
        shows="capacity", needs=("sockets",),
    ),
    "shares": FigureKind(
        throughput.flow_shares, "Shares of the flows",
        "Goodput of each TCP flow per second, and Jain's index over the flows that are active during that second: 1 if "
        "all get the same.",
        shows="several tcp", needs=("sockets",),
    ),
    "matrix": FigureKind(
        across_flows.matrix, "From where to where",
        "TCP by source (rows) and destination (columns): sum of the goodput, median round trip (of a pair: median over "
        "its flows), and share of lost data packets. A white cell without a number has no flow.",
        several=False, shows="pairs", own_flows=True,
    ),
    "flows": FigureKind(
        across_flows.distribution, "Distribution over the flows",
        "Each TCP flow is a step: share of the flows whose mean goodput, median round trip or share of lost packets is "
        "at or below x.",
        shows="many tcp", own_flows=True,
    ),
    "completion": FigureKind(
        across_flows.completion, "Time to completion by size",
        "Each TCP flow with a size is a point: time from its start, connection setup included, to the arrival of its "
        "last byte. A hollow triangle had not finished when the run or the flow ended. Lines are medians of flows of "
        "similar size, three per decade.",
        shows="sizes", own_flows=True,
    ),
    "goodput_cdf": FigureKind(
        distributions.goodput_cdf, "Distribution of goodput",
        "Share of 50 ms bins with in-order goodput at or below x. The axis is stretched around the path's capacity "
        "(dotted), or around 0 if the flow seldom reaches that capacity.",
        "Fig. 4", needs=("sockets",),
    ),
    "goodput_cdf_log": FigureKind(
        functools.partial(distributions.goodput_cdf, y_scale="log"), "Distribution of goodput, rare dips",
        "The distribution of goodput with a logarithmic share axis, which shows dips of 0.5 % of the time.",
        "Fig. 9b", needs=("sockets",),
    ),
    "rtt_ccdf": FigureKind(
        distributions.rtt_ccdf, "Distribution of the round-trip time",
        "Share of time in which the sender's smoothed RTT was above x; each sample counts for the time until the next "
        "one.",
        "Fig. 5", needs=("sockets",),
    ),
    "cwnd": FigureKind(
        around_changes.cwnd_around_changes, "Window and retransmissions around route changes",
        "Above: congestion window at every sample. Below: retransmissions per 50 ms of sending time; hatched ones are "
        "spurious (the original also arrived). The figure shows the changes with the most late packets, then those "
        "with the most lost ones.",
        "Fig. 7", shows="changes", needs=("sockets", "bins"),
    ),
    "srtt": FigureKind(
        around_changes.srtt_around_changes, "Round-trip time around route changes",
        "The sender's smoothed RTT, the RTT of each stored packet at the arrival of its ACK, and the round-trip "
        "propagation of the empty path.",
        "Fig. 8", shows="changes", needs=("sockets",),
    ),
    "packets": FigureKind(
        packets.packet_diagram, "A route change, packet by packet",
        "Departure and arrival of each packet, by its number, on the old or the new path. Late: a first transmission "
        "that arrived after a packet sent later.",
        "Fig. 2", several=False, shows="changes",
    ),
    "map": FigureKind(
        routemap.route_map, "The route before and after a change",
        "Orthographic view from above the middle of the path. Grey dots are satellites, and the land is a coarse "
        "outline.",
        "Fig. 3", several=False, shows="routes",
    ),
    "queues": FigureKind(
        queues.queues, "Where the queue stands",
        "Packets waiting at the n-th link of the current path, largest sample in each pixel.", needs=("links",),
    ),
    "queues_change": FigureKind(
        queues.queues_at_change, "Queues around route changes",
        "Queues of the links that the path leaves at the change (dashed), keeps (solid) and newly uses (dotted). Links "
        "with fewer than 2 waiting packets are left out. Newer packets overtake those that wait on an abandoned link.",
        shows="changes",
        needs=("links",),
    ),
    "channel": FigureKind(
        channel.channel_over_time, "The mobile channel over the run",
        "Above: shadowing state, and the power at the terminal (Es/N0), as median and middle 90 % of each pixel "
        "column. Middle: all codewords, with or without a packet, by number of retransmissions. Below: bytes that the "
        "receiver got in order.",
        several=False, shows="mobile", part="channel", own_flows=True,
    ),
    "probes": FigureKind(
        probes.probe_delays, "Delay of the probes",
        "One-way delay and round-trip time of each ping or udp packet, by sending time.", shows="probes",
        needs=("echoes",),
    ),
    "ping": FigureKind(
        probes.ping_over_time, "Round-trip time of each ping",
        "Each probe at its sending time; marks on the time axis are probes without a reply.",
        shows="pings", needs=("echoes",),
    ),
    "ping_change": FigureKind(
        probes.ping_around_change, "Pings around a route change",
        "The route change with the largest round-trip time within one second of it.", shows="pings", needs=("echoes",),
    ),
    "ping_slots": FigureKind(
        probes.ping_between_changes, "Pings away from route changes",
        "The time around route changes is removed, so only other variation is left. Steps show the smallest round-trip "
        "time between two changes.", shows="pings", needs=("echoes",),
    ),
    "reordering": FigureKind(
        reordering.reordering_densities, "Reordering over the whole run",
        "First transmissions only. RD: share of packets at each displacement from the sending order, late ones on the "
        "right. RBD: share of arrivals after which a buffer that restores the order holds this many packets. "
        "n-reordering: share of packets that arrive right after n packets sent later. Extent: number of arrivals since "
        "the first of the packets sent later.",
        shows="any", needs=("reordering", "densities"), part="reordering",
    ),
    "reordering_time": FigureKind(
        reordering.reordering_over_time, "Reordering over time",
        "Thin: windows of sending time; thick: the packets sent around a route change. Each window is a sequence of "
        "its own, so a packet that is overtaken across the border of two windows counts in neither. Packets displaced "
        "by more than RD's threshold count only in the share of reordered packets.",
        shows="any", needs=("reordering", "densities"), part="reordering",
    ),
}  # fmt: skip
"""The kinds of figures, in the order in which a report shows them."""

Runs = str | Path | Run | Sequence[str | Path | Run]


def views(runs: Runs) -> list[Run]:
    """Return views of `runs`. They may be incomplete, because the report is drawn before the manifest is written."""
    # A string is a sequence of letters, each of which would otherwise be treated as a directory.
    many = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    found = [run if isinstance(run, Run) else Run(run, complete=False) for run in many]
    # The plan is read before any drawing, so that a directory without a plan raises an error at once.
    for run in found:
        _ = run.document
    return found


def figure(runs: Runs, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
    """Draw a figure of a run or of several runs.

    Parameters
    ----------
    runs : path, Run, or a sequence of them
        The run directories.
    name : str
        The name of the figure in `FIGURES`.
    flow : int or str, or a sequence of them, optional
        The numbers or names of the flows to draw, in each run. The default is all flows that the figure can show. Up to
        eight flows have one line each. With more than eight flows, the figure shows their distribution or the flows
        that were affected most. The text of the figure says which flows it shows.
    options
        The options of the figure, for example `bin_ns`, `start_s`, `change_s`.

    Raises
    ------
    ScenarioError
        If there is no such figure, or the figure has no such option.
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
            # The table `sockets` contains each socket's last sample, even if the plan does not sample sockets.
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
    """Return the numbers of the run's flows that the figure can show."""
    every = list(range(len(run.observed_plan.flows)))
    return {"probes": run.probe_flows, "pings": run.ping_flows, "any": every}.get(FIGURES[name].shows, run.tcp_flows)


def _of_flows(run: Run, name: str, flow: int | str | Sequence[int | str] | None) -> list[Run]:
    """Return a view for each flow of the run that the figure shows. If the figure shows no flow or only one, the run
    itself is the only view.

    Raises ScenarioError if the run does not have a requested flow, or if the figure cannot show it.
    """
    if flow is None and run.chosen_flow is not None:
        return [run]
    have = flows_of(run, name)
    if flow is None:
        # If the run has TCP flows, figures of reordering show only TCP flows.
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
