# SPDX-License-Identifier: Apache-2.0
"""The rows of the overview for TCP flows, probes, pings, programs and the run. For each row, its scalars and the
condition under which it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from leowarp import scalars
from leowarp.scalars.of_programs import IPERF3, MEASURES, PROGRAMS
from leowarp.scalars.texts import plainly, ratio_text, span_text


class Shown(Enum):
    """The condition under which a quantity has a row."""

    ALWAYS = "always"
    KNOWN = "if it is known of some column"
    ANY = "if it is known of some column, and not 0"
    CHANGES = "if it is known of some column, and the path of one changed"


@dataclass(frozen=True)
class Row:
    """A quantity, and the condition under which it is shown as a row.

    name: The name of a declared scalar. The scalar's declaration determines the label and the unit of the row.
    also: The names of further scalars that the text contains.
    text: The function that formats the values of `name` and `also`. By default, the function depends on the unit.
    unless: The name of a scalar. The row is hidden if the scalar has a value in at least one column.
    label: The label of the row. If it is given, it replaces the label from the declaration.
    unknown: The text for a flow that has no value although its path changed.
    """

    name: str
    shown: Shown = Shown.ALWAYS
    also: tuple[str, ...] = ()
    text: Callable[..., str | None] | None = None
    unless: str | None = None
    label: str | None = None
    unknown: str | None = None


def part_text(value: int, whole: int | None) -> str:
    return f"{value:,} ({ratio_text(value / whole)})" if value and whole else f"{value:,}"


def changes_text(value: int, shorter: int | None) -> str:
    return f"{value:,}" if shorter is None or not value else f"{value:,} ({shorter:,})"


def between_text(least_ns: int, largest_ns: int | None) -> str:
    if largest_ns is None or largest_ns == least_ns:
        return span_text(least_ns)
    least, unit = span_text(least_ns).split()
    largest, same = span_text(largest_ns).split()
    return f"{least} to {largest} {same}" if unit == same else f"{least} {unit} to {largest} {same}"


def recovery_text(recovered_ratio: float, median_ns: int | None) -> str:
    # Recovery is examined for 5 s after each change (`metrics.recovery`). If less than half of the changes were
    # followed by a recovery within these 5 s, there is no median.
    return "> 5 s" if median_ns is None else span_text(median_ns)


def speed_text(cpu_s: float, virtual_s: float | None) -> str | None:
    return plainly(virtual_s / cpu_s) if cpu_s and virtual_s is not None else None


_LATE = (
    Row("late_pkts", Shown.ANY),
    Row("reordering_extent_max_pkts", Shown.ANY),
    Row("mean_displacement_pkts", Shown.ANY),
    Row("entropy_nats", Shown.ANY),
)

TCP_ROWS = (
    Row("congestion_control"),
    Row("goodput_mean_bps"),
    Row("connection_goodput_mean_bps", Shown.KNOWN),
    Row("capacity_used_ratio", Shown.KNOWN),
    Row("completion_ns", Shown.KNOWN),
    Row("share_ratio", Shown.KNOWN),
    Row("rtt_p50_ns", Shown.KNOWN),
    Row("rtt_p99_ns", Shown.KNOWN),
    Row("srtt_p50_us", Shown.KNOWN, unless="rtt_p50_ns"),
    Row("srtt_p99_us", Shown.KNOWN, unless="rtt_p50_ns"),
    Row("sent_pkts", Shown.KNOWN),
    Row("retransmissions_pkts", Shown.KNOWN, ("sent_pkts",), part_text),
    Row("sender_retransmissions_pkts", Shown.KNOWN, unless="retransmissions_pkts"),
    Row("spurious_retransmissions_pkts", Shown.KNOWN),
    Row("lost_queue_pkts", Shown.KNOWN),
    Row("lost_loss_pkts", Shown.KNOWN),
    Row("lost_link_down_pkts", Shown.ANY),
    Row("lost_no_route_pkts", Shown.ANY),
    Row("lost_unknown_pkts", Shown.ANY),
    Row("lost_near_changes_pkts", Shown.CHANGES),
    Row("received_ce_pkts", Shown.ANY),
    Row("sender_timeouts", Shown.ANY),
    *_LATE,
    Row("recovered_ratio", Shown.CHANGES, ("recovery_p50_ns",), recovery_text,
         label=scalars.FLOW_SCALARS["recovery_p50_ns"].overview),
    Row("recovered_ratio", Shown.CHANGES),
)  # fmt: skip

PROBE_ROWS = (
    Row("probes_pkts"),
    Row("probes_lost_pkts", also=("probes_pkts",), text=part_text),
    Row("loss_run_max_pkts", Shown.ANY),
    Row("owd_min_ns", Shown.KNOWN),
    Row("owd_p50_ns", Shown.KNOWN),
    Row("owd_max_ns", Shown.KNOWN),
    *_LATE,
)

DATAGRAM_ROWS = (
    Row("payload_mean_bps"),
    Row("payload_back_mean_bps", Shown.ANY),
    *PROBE_ROWS,
)

PING_ROWS = (
    Row("probes_pkts"),
    Row("replies_lost_pkts", also=("probes_pkts",), text=part_text),
    Row("replies_lost_near_changes_pkts", Shown.CHANGES),
    Row("loss_run_max_pkts", Shown.ANY, label="  longest run"),
    Row("rtt_min_ns", Shown.KNOWN),
    Row("rtt_p50_ns", Shown.KNOWN),
    Row("rtt_p99_ns", Shown.KNOWN),
    Row("rtt_step_mean_ns", Shown.KNOWN),
    Row("spike_p50_ns", Shown.CHANGES, unknown="too few pings to tell"),
    *_LATE,
)

RUN_ROWS = (
    Row("route_changes", Shown.ANY, ("route_changes_shorter",), changes_text),
    Row("path_delay_min_ns", Shown.KNOWN, ("path_delay_max_ns",), between_text),
    Row("no_path_s", Shown.ANY),
    Row("moved_pkts", Shown.KNOWN),
    Row("held_back_pkts", Shown.KNOWN),
    Row("held_back_max_bytes", Shown.ANY),
    Row("held_back_longest_ns", Shown.KNOWN),
    Row("hold_full_pkts", Shown.ANY),
    Row("fairness.jain_index", Shown.KNOWN),
    Row("virtual_s", Shown.KNOWN),
    Row("cpu_s", Shown.KNOWN),
    Row("cpu_s", Shown.KNOWN, ("virtual_s",), speed_text, label="virtual s per CPU s"),
)

_ABOVE_0 = {"transactions_failed", "pages_failed", "stalled_ratio", "frames_lost", "frozen_ns"}

PROGRAM_ROWS = tuple(
    Row(scalar.name, Shown.ANY if scalar.name in _ABOVE_0 else Shown.KNOWN)
    for scalar in (*PROGRAMS, *IPERF3, *MEASURES)
    if scalar.overview is not None
)

KINDS = {
    "tcp": ("TCP", TCP_ROWS), "ping": ("Pings", PING_ROWS), "probe": ("Probes one way", PROBE_ROWS),
    "datagrams": ("UDP of programs", DATAGRAM_ROWS), "program": ("Programs", PROGRAM_ROWS),
}  # fmt: skip
