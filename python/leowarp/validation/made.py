# SPDX-License-Identifier: Apache-2.0
"""Repeat the measurement of a recording in the guest. The path is a replay of the recording, or a profile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.results.run import Run
from leowarp.running.one import run as run_of
from leowarp.scenario import plan_of
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.measurement import Measurement, Series, Transfer
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.written import csv_of, write_csv
from leowarp.validation.quantities import Samples, of_probes, of_transfer

PRESET, TABLE = "fitted.toml", "recording.csv"

_QUIET = """
[observe]
packets = "none"
reordering_window = "none"
queues = "none"
"""
_SCENARIO = """name = "{name}"
[run]
duration = "{duration_ns} ns"
seed = {seed}
{medium}
[[flows]]
source = "{source}"
destination = "{destination}"
{flow}
"""
_SHORTEST_NS = 5_000_000

# The run starts at a whole second, so that its first reconfiguration is at the time in the key `phase`.
_ACCESS = '[access]\nclock = "2024-05-17T12:00:00Z"\n'


def media_of(measurement: Measurement, folder: Path, profile: str = "starlink") -> dict[str, tuple[str, str, str]]:
    """Return the media over which the measurement is repeated, by name: the section of the scenario, and the two ends
    of the measurement."""
    down = measurement.transfer is not None and measurement.transfer.way == "down"
    ends = ("server", "dish") if down else ("dish", "server")
    media = {}
    if measurement.transfer is None:
        write_csv(csv_of(_as_rows(measurement)), folder / TABLE)
        replay = f'[measured]\nfile = "{TABLE}"\ngaps = "hold"\n'
        media["replay"] = (replay, "B", "A")
    media["fitted"] = (_ACCESS + f'preset = "{PRESET}"\n', *ends)
    media["default"] = (_ACCESS + f'profile = "{profile}"\n', *ends)
    return media


def _as_rows(measurement: Measurement) -> Measurement:
    """Return a table in which each probe is valid from the middle between the previous probe and itself."""
    assert measurement.round_trip is not None
    t_ns = measurement.round_trip.t_ns
    middles_ns = np.append(t_ns[:1], (t_ns[1:] + t_ns[:-1]) // 2)
    # If probes are 1 ns apart, two successive middles may be equal.
    kept = np.append(True, np.diff(middles_ns) > 0)
    rows = replace(measurement.round_trip.take(kept), t_ns=middles_ns[kept])
    return Measurement(source=measurement.source, format="arrays", round_trip=rows, wall_ns=measurement.wall_ns)


def samples_of(
    measurement: Measurement, medium: tuple[str, str, str], name: str, folder: Path, *, schedule: Schedule | None,
    duration_ns: int, seed: int,
) -> Samples:  # fmt: skip
    """Repeat the measurement in a guest with the given medium, and return the samples.

    schedule: The schedule of the recording, for a replay. A profile has its own.
    """
    text, source, destination = medium
    flow = 'congestion_control = "cubic"'
    if measurement.transfer is None:
        assert measurement.round_trip is not None
        flow = f'kind = "ping"\ninterval = "{_interval_ns(measurement.round_trip)} ns"'
    scenario = folder / f"{name}-run.toml"
    scenario.write_text(
        _SCENARIO.format(
            name=name, duration_ns=duration_ns, seed=seed, medium=text, source=source, destination=destination,
            flow=flow,
        ) + _QUIET,
        encoding="utf-8",
    )  # fmt: skip
    plan = plan_of(scenario)
    result = run_of(plan, (), folder / name, force=True, report=False, progress=False)
    if measurement.transfer is not None:
        return of_transfer(transfer_of(result, measurement.transfer.way))
    if isinstance(plan.medium, Access):
        schedule = Schedule(plan.medium.period_ns, plan.medium.phase_ns % plan.medium.period_ns)
    assert measurement.round_trip is not None
    return of_probes(_where_recorded(pings_of(result), measurement.round_trip), schedule)


def _interval_ns(recorded: Series) -> int:
    """Return the interval between the guest's pings. It is short, because the same ping would otherwise often be the
    nearest one to several probes of the recording."""
    apart_ns = np.quantile(np.diff(recorded.t_ns), 0.05)
    return int(min(max(float(apart_ns), _SHORTEST_NS), float(np.median(np.diff(recorded.t_ns)))))


def _where_recorded(pings: Series, recorded: Series) -> Series:
    """Return the guest's pings with the sending times nearest to the recording's, with the same gaps."""
    inside = recorded.t_ns[(recorded.t_ns >= pings.t_ns[0]) & (recorded.t_ns <= pings.t_ns[-1])]
    middles_ns = (pings.t_ns[1:] + pings.t_ns[:-1]) // 2
    return pings.take(np.unique(np.searchsorted(middles_ns, inside, side="right")))


def pings_of(run: Run, flow: int = 0) -> Series:
    """Return the round trips of a run's ping flow, with nan for lost pings."""
    echoes = run.table("echoes")
    of_flow = echoes.filter(np.equal(echoes["flow"].to_numpy(), flow)).sort_by("sent_ns")
    sent_ns = of_flow["sent_ns"].to_numpy()
    rtt_ns = of_flow["reply_ns"].to_numpy().astype(np.float64) - sent_ns
    kept = np.diff(sent_ns, prepend=-1) > 0
    # Pings of the last second are left out, because the run may have ended before their replies arrived.
    kept &= sent_ns < run.plan.run.duration_ns - 1_000_000_000
    return Series.of(sent_ns[kept], printed_ns(rtt_ns[kept]))


def printed_ns(rtt_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round the round trips as ping prints them, because recordings contain the printed values. The steps are 0.01 ms
    below 10 ms, 0.1 ms below 100 ms, and 1 ms from 100 ms on (iputils, ping_common.c)."""
    unit_ns = np.where(rtt_ns >= 100e6, 1e6, np.where(rtt_ns >= 10e6, 1e5, 1e4))
    return np.asarray(np.round(rtt_ns / unit_ns) * unit_ns)


def transfer_of(run: Run, way: str, flow: int = 0) -> Transfer:
    """Return a flow's goodput, retransmissions and smoothed round-trip times in intervals of 0.1 s."""
    goodput, sockets = run.series("goodput", flow), run.sockets(flow)
    step_ns = 100_000_000
    count = run.plan.run.duration_ns // step_ns
    t_ns = np.arange(count, dtype=np.int64) * step_ns
    bins_ns = goodput["t_ns"].to_numpy().astype(np.int64)
    width_ns = int(np.median(np.diff(bins_ns))) if len(bins_ns) > 1 else step_ns
    bits = goodput["goodput_in_order_bps"].to_numpy() * width_ns / 1e9
    place = bins_ns // step_ns
    rate_bps = np.bincount(place[place < count], weights=bits[place < count], minlength=count) * 1e9 / step_ns
    at_ns = sockets["t_ns"].to_numpy().astype(np.int64)
    again = sockets["retrans_pkts"].to_numpy().astype(np.float64)
    rows = np.searchsorted(at_ns, t_ns + step_ns, side="right") - 1
    total = np.where(rows >= 0, again[np.maximum(rows, 0)], 0.0)
    srtt_ns = sockets["srtt_us"].to_numpy().astype(np.float64) * 1e3
    nothing = np.full(count, np.nan)
    return Transfer(
        t_ns=t_ns,
        length_ns=np.full(count, step_ns, dtype=np.int64),
        way=way,
        rate_bps=rate_bps,
        retransmissions=np.diff(total, prepend=0.0),
        cwnd_bytes=nothing,
        rtt_ns=np.where(rows >= 0, srtt_ns[np.maximum(rows, 0)], np.nan),
    )
