# SPDX-License-Identifier: Apache-2.0
"""Reads measured files, scenarios and runs as measurements, and describes them as text and JSON."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.flownames import FlowKey, named
from leowarp.cli.results.look_verbs import plan_of
from leowarp.results.run import Run
from leowarp.scenario import Plan
from leowarp.scenario.schema import Access, Measured
from leowarp.timeline.recordings import Description, Measurement, read, read_capacity
from leowarp.timeline.recordings.formats.files import capacity_format_of
from leowarp.timeline.recordings.from_timeline import measurement_of_timeline
from leowarp.timeline.recordings.losses import Loss
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.planned import measurement_of, wall_ns_of
from leowarp.timeline.recordings.transfer import TransferDescription


def measurements(
    path: Path,
    format: str,
    interval_ns: int | None,
    capacity: Path | None,
    settings: list[str] | None,
    columns: tuple[str, ...] | None = None,
) -> list[Measurement]:
    """Return the measurements of the file, scenario or run at a path. A measured file or a scenario has one
    measurement, and a run has one per ping flow.

    format: The word "auto", or the name of the program that wrote the file.
    interval_ns: The interval between two lines, for formats that do not contain it.
    capacity: The file with the path's capacity, if `path` is a file of delays.
    Raises ScenarioError or TraceError if the path contains no measurement, or if a file is not in its format. The
        message names file and line number.
    """
    if path.is_dir():
        return _of_run(path)
    if path.suffix == ".toml":
        # A directory is a run, and a .toml file is a scenario. The option --format applies to neither runs nor
        # scenarios, because no format of measurements uses a directory or a .toml file.
        return [_of_plan(plan_of(path, settings), str(path))]
    # A file may contain only a capacity, for example a Mahimahi trace or a table of rates.
    kind = capacity_format_of(path) if format == "auto" and columns is None else None
    if kind is not None or format == "mahimahi":
        down, up, wall_ns = read_capacity(path, kind or format)
        alone = Measurement(source=str(path), format=kind or format, wall_ns=wall_ns)
        return [alone.with_capacity(down, up)]
    measurement = read(path, format, interval_ns, columns)
    if capacity is not None:
        down, up, _ = read_capacity(capacity)
        measurement = measurement.with_capacity(down, up)
    return [measurement]


def _of_plan(plan: Plan, source: str) -> Measurement:
    """Return the plan's measured path or access link as a measurement. For an access link, the timeline is sampled from
    gateway to terminal (down) and from terminal to gateway (up)."""
    if isinstance(plan.medium, Measured):
        return measurement_of(plan.medium, plan.run.start_ns + plan.run.duration_ns)
    if not isinstance(plan.medium, Access):
        raise ScenarioError(
            f"{source}: neither a measured path nor an access link", f"its events: leowarp timeline {source}"
        )
    from leowarp import media
    from leowarp.media.access import GATEWAY, TERMINAL

    wall_ns = wall_ns_of(plan.medium.clock)
    return measurement_of_timeline(
        media.timeline_of(plan), source, plan.run.duration_ns, down=(GATEWAY, TERMINAL), wall_ns=wall_ns
    )


def _of_run(path: Path) -> list[Measurement]:
    """Return one measurement for each ping flow with replies. A measurement contains the sending times and round trips
    of the probes. A round trip is nan if the probe or its reply was lost."""
    run = Run(path)
    plan, echoes = run.plan, run.table("echoes")
    pings = []
    for number, flow in enumerate(plan.flows):
        if flow.kind != "ping" or not flow.replies:
            continue
        of_flow = echoes.filter(np.equal(echoes["flow"].to_numpy(), number)).sort_by("sent_ns")
        sent_ns = of_flow["sent_ns"].to_numpy()
        # The last requests may have no reply, because the run may have ended before the reply arrived.
        rtt_ns = of_flow["reply_ns"].to_numpy().astype(np.float64) - sent_ns
        # Times of a measurement must be strictly ascending, so of two probes at the same time only one is used.
        kept = np.diff(sent_ns, prepend=-1) > 0
        # If the run's clock has a date and time, reconfigurations are printed as seconds of a minute.
        wall_ns = wall_ns_of(plan.medium.clock) if isinstance(plan.medium, Access) else None
        source = f"{path}, {named(FlowKey.of_plan(number, flow))}"
        pings.append(Measurement.of_round_trips(sent_ns[kept], rtt_ns[kept], wall_ns=wall_ns, source=source))
    if not pings:
        raise ScenarioError(f"{path}: the run has no pings", 'a probe is a flow with kind = "ping"')
    return pings


def lines(description: Description) -> dict[str, str]:
    """Return a description as a dict of names and texts, in the order of the output."""
    values = (
        {"samples": f"{description.samples}", "span": f"{description.span_ns / 1e9:g} s"} if description.samples else {}
    )
    if description.interval_ns is not None:
        values["interval"] = f"{description.interval_ns / 1e6:g} ms"
    if description.samples:
        longest = max((gap.length_ns for gap in description.gaps), default=0)
        values["gaps"] = f"{len(description.gaps)}" + (f", the longest {longest / 1e9:g} s" if description.gaps else "")
        values |= _delay_lines(description) | _schedule_lines(description) | _loss_lines(description)
    # Facts about the recording are printed even if there are no delays. They may show the reason, for example a clock
    # that was set back.
    values |= _recorder_lines(description)
    if description.transfer is not None:
        values |= _transfer_lines(description.transfer)
    if description.transfer_back is not None:
        # Only the sender's file can contain retransmissions and windows. This file, however, is from the receiver.
        values |= {
            name: value
            for name, value in _transfer_lines(description.transfer_back).items()
            if name.startswith("through")
        }
    for name, capacity in (("down", description.capacity_down), ("up", description.capacity_up)):
        if capacity is None:
            continue
        if capacity.mean_bps is None:
            values[f"capacity {name}"] = "unshaped"
            continue
        values[f"capacity {name}, mean"] = f"{capacity.mean_bps / 1e6:.2f} Mbit/s"
        values[f"capacity {name}: 5 %, median, 95 %"] = _mbps(capacity.quantiles_bps, (0.05, 0.5, 0.95))
        if capacity.interval_ns is not None:
            steps = _mbps(capacity.steps_bps, (0.5, 0.95))
            rows = f"{capacity.interval_ns / 1e6:g} ms"
            values[f"capacity {name}, step from row to row ({rows}): median, 95 %"] = steps
        values[f"capacity {name}, none at all"] = f"{capacity.zero_ns / 1e9:g} s"
    return values


def _delay_lines(description: Description) -> dict[str, str]:
    if description.mean_ns is None:
        return {"delay": "every probe was lost"}
    values = {"delay, mean": f"{description.mean_ns / 1e6:.3f} ms"}
    for names, of_these in (("least, 1 %, 5 %", (0.0, 0.01, 0.05)), ("25 %, median, 75 %", (0.25, 0.5, 0.75)),
                            ("95 %, 99 %, most", (0.95, 0.99, 1.0))):  # fmt: skip
        values[f"delay: {names}"] = ", ".join(f"{description.quantiles_ns[q] / 1e6:.3f}" for q in of_these) + " ms"
    if description.mean_abs_step_ns is not None:
        values["mean difference of one and the next"] = f"{description.mean_abs_step_ns / 1e6:.3f} ms"
    return values


def _schedule_lines(description: Description) -> dict[str, str]:
    """Return lines about the reconfigurations found in the data, the steps between slots, and the spikes. Times are on
    the measurement's clock."""
    heights_ms = [spike.height_ns / 1e6 for spike in description.spikes]
    spikes = {"spikes": f"{len(description.spikes)}"}
    if description.spikes:
        lengths_ms = [spike.length_ns / 1e6 for spike in description.spikes]
        spikes["spikes: median height, length"] = f"{np.median(heights_ms):.1f} ms, {np.median(lengths_ms):g} ms"
    if description.schedule is None:
        return {"reconfigurations": "no period found"} | _confidence_lines(description) | spikes
    every_s, first_s = description.schedule.period_ns / 1e9, description.schedule.phase_ns / 1e9
    values = {"reconfigurations": f"every {every_s:.3f} s, at {first_s:.3f} s + k times that"}
    values |= _confidence_lines(description)
    if description.seconds_of_minute is not None:
        values["on the wall clock"] = "at seconds " + " ".join(
            f"{second:.2f}" for second in description.seconds_of_minute
        )
    values["slots"] = f"{len(description.slots)}"
    # Only the size of a step counts, because a congestion control has to cope with steps in both directions.
    steps_ms = np.abs(np.array(description.steps_ns)) / 1e6
    if len(steps_ms):
        values["step of the least delay: median, most"] = f"{np.median(steps_ms):.3f}, {steps_ms.max():.3f} ms"
    slot_spikes_ms = [slot.spike_ns / 1e6 for slot in description.slots if slot.spike_ns is not None]
    if slot_spikes_ms:
        values["worst within 1 s of a slot's beginning, over its least: median, most"] = (
            f"{np.median(slot_spikes_ms):.1f}, {max(slot_spikes_ms):.1f} ms"
        )
    spikes["spikes"] += f", {description.spikes_at_reconfigurations} within 1 s of a reconfiguration"
    return values | spikes


def _confidence_lines(description: Description) -> dict[str, str]:
    finding = description.finding
    if finding is None:
        return {}
    values = {"confidence in that": _chance(finding.confidence_ratio)}
    if any(ratio >= _WORTH_TELLING for _, ratio in finding.runners_up):
        values["it could also be"] = "; ".join(
            f"{_every(one)} ({_chance(ratio)})" for one, ratio in finding.runners_up if ratio >= _WORTH_TELLING
        )
    if finding.parts > 1:
        values["within a period"] = f"something else happens at its {_PARTS[finding.parts]}"
    for sign, one in finding.by_sign.items():
        values[f"by {sign} alone"] = _every(one)
    return values


def _every(schedule: Schedule | None) -> str:
    if schedule is None:
        return "no period"
    return f"every {schedule.period_ns / 1e9:.3f} s at {schedule.phase_ns / 1e9:.2f} s"


def _recorder_lines(description: Description) -> dict[str, str]:
    """Return the effects that come from the recording and not from the path."""
    values = {}
    if description.clock_steps:
        values["the sender's clock was set"] = "; ".join(
            f"{'forward' if step.by_ns > 0 else 'back'} by {abs(step.by_ns) / 1e9:.2f} s at {step.t_ns / 1e9:.2f} s"
            for step in description.clock_steps
        )
    if description.duplicates:
        values["duplicates, left out"] = f"{description.duplicates}"
    return values


def _transfer_lines(transfer: TransferDescription) -> dict[str, str]:
    way = f"throughput {transfer.way}"
    values = {f"{way}, mean": f"{transfer.mean_bps / 1e6:.2f} Mbit/s in {transfer.span_ns / 1e9:g} s"}
    values[f"{way}: 5 %, median, 95 %"] = _mbps(transfer.quantiles_bps, (0.05, 0.5, 0.95))
    values[f"{way}, nothing at all"] = f"{transfer.zero_ns / 1e9:g} s"
    if transfer.retransmissions is not None:
        values["retransmissions"] = f"{transfer.retransmissions}"
    if transfer.median_cwnd_bytes is not None:
        values["congestion window, median"] = f"{transfer.median_cwnd_bytes / 1e3:.1f} kB"
    if transfer.median_rtt_ns is not None:
        values["TCP's smoothed round trip, median"] = f"{transfer.median_rtt_ns / 1e6:.3f} ms"
    return values


def _loss_lines(description: Description) -> dict[str, str]:
    loss = description.loss
    values = {"lost": f"{loss.lost} of {loss.sent}" + ("" if loss.ratio is None else f" ({_percent(loss.ratio)})")}
    if loss.over_time_ratio is not None:
        # If the recording is a table with loss ratios, the share of lost packets is a mean over time, and not a share
        # of probes. Without lost probes, the line "lost" is left out, because it would only say "0 of 350".
        values = {} if not loss.lost else values
        values |= _table_loss_lines(loss)
    # Without losses, there are no runs of losses, and the lines about them are left out.
    if not loss.lost:
        return values
    if loss.lost_down is not None:
        values["lost, known to be down, up"] = f"{loss.lost_down}, {loss.lost_up}"
    values["runs of lost ones"] = f"{len(loss.runs)}, mean {np.mean(loss.runs):.2f}, longest {max(loss.runs)}"
    for name, stretches in (("behind an obstacle", loss.obstructions), ("outages", loss.outages)):
        if stretches:
            longest = max(stretches, key=lambda one: one.length_ns)
            values[f"lost, {name}"] = (
                f"{sum(one.lost for one in stretches)} in {len(stretches)}, "
                f"the longest {longest.length_ns / 1e9:.1f} s at {longest.t_ns / 1e9:.1f} s"
            )
    if loss.in_handover_ratio is not None:
        values["lost within 1 s of a reconfiguration"] = (
            f"{loss.in_handover} ({_percent(loss.in_handover_ratio)} of the lost)"
        )
        values["share lost there; elsewhere"] = f"{_percent(loss.ratio_within)}; {_percent(loss.ratio_without)}"
    return values


def _table_loss_lines(loss: Loss) -> dict[str, str]:
    values = {"lost, over time": _percent(loss.over_time_ratio)}
    if loss.over_time_up_ratio is not None:
        values = {"lost down, over time": values["lost, over time"],
                  "lost up, over time": _percent(loss.over_time_up_ratio)}  # fmt: skip
    if loss.certain:
        lengths_ms = [one.length_ns / 1e6 for one in loss.certain]
        values["stretches in which all is lost"] = (
            f"{len(lengths_ms)}, mean {np.mean(lengths_ms):.3g} ms, longest {max(lengths_ms):.6g} ms"
        )
    return values


def slot_lines(description: Description) -> list[tuple[str | None, ...]]:
    """Return one row per slot: its begin, the smallest delay, the step from the previous slot, and the spike."""
    return [
        (f"{slot.t_ns / 1e9:.3f} s", _ms(slot.base_ns), _ms(slot.step_ns), _ms(slot.spike_ns))
        for slot in description.slots
    ]


def as_json(description: Description) -> dict[str, Any]:
    """Return a description as a JSON object. In dicts of quantiles, the keys are percentages."""
    document = dataclasses.asdict(description)
    # The values that are added here are computed from fields, and `asdict` returns only fields.
    document["loss"] |= {
        name: getattr(description.loss, name)
        for name in ("ratio", "in_handover_ratio", "ratio_within", "ratio_without")
    }
    for holder, key in _QUANTILES:
        part = document if holder is None else document[holder]
        if part is not None:
            part[key] = {f"{100 * share:g} %": value for share, value in part[key].items()}
    return document


def _ms(nanoseconds: int | None) -> str | None:
    return None if nanoseconds is None else f"{nanoseconds / 1e6:.3f}"


def _mbps(rate_by_share_bps: dict[float, float], shares: tuple[float, ...]) -> str:
    # There may be no values, because a constant capacity has no changes.
    if not rate_by_share_bps:
        return "none"
    return ", ".join(f"{rate_by_share_bps[share] / 1e6:.2f}" for share in shares) + " Mbit/s"


def _chance(ratio: float) -> str:
    # The text has at most 99.9 %, because no data can prove 100 %.
    return f"{min(100 * ratio, 99.9):.3g} %"


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.3g} %"


_WORTH_TELLING = 0.001

_PARTS = {2: "half", 3: "thirds", 4: "quarters"}

_QUANTILES = (
    (None, "quantiles_ns"),
    ("capacity_down", "quantiles_bps"), ("capacity_down", "steps_bps"),
    ("capacity_up", "quantiles_bps"), ("capacity_up", "steps_bps"), ("transfer", "quantiles_bps"),
    ("transfer_back", "quantiles_bps"),
)  # fmt: skip
