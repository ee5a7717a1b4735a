# SPDX-License-Identifier: Apache-2.0
"""The quantities and states of a flow over time, for example its congestion window. Each series has a name, a unit and
an exact definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.spelling import guess
from leowarp.metrics.inputs.tables import floats
from leowarp.metrics.network.queues import path_queues
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, goodput
from leowarp.metrics.sharing.shares import SERIES_NUMBERS
from leowarp.trace import TABLES
from leowarp.trace.bbr import BBR_CONTROLS, BBR_GAINS, bbr_modes
from leowarp.trace.schema.hosts import BBR_MODES

if TYPE_CHECKING:
    from leowarp.metrics.numbers import Numbers

QUEUE_GRID_NS = 10_000_000
"""The queues of a path are added up at instants this far apart."""


@dataclass(frozen=True)
class Series:
    """A quantity or a state of a flow over time.

    name: The name of the series, which ends in the unit.
    unit: The unit. An empty text means a plain count or a ratio.
    definition: The exact definition.
    needs: The trace table from which the series is read.
    steps: True if a value is valid until the next value. False means that a value applies only at its instant. An
        example is the delay of one packet.
    words: If the values are states, the meaning of each number. Series that are not states have no words.
    """

    name: str
    unit: str
    definition: str
    needs: str
    steps: bool = True
    words: Mapping[int, str] = field(default_factory=dict, hash=False)

    def word(self, number: int) -> str:
        """Return the word for the number of a state. A state of a newer version has its number as word."""
        return self.words.get(number, str(number))

    def of_flow(self, numbers: Numbers, flow: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (int64, ns) and values (float64, in `unit`), both of shape (n,). Missing values are nan.

        Raises TraceError if the run did not record the required table.
        """
        if self.needs and not numbers.tables.has(self.needs):
            raise TraceError(
                f"the run has no {self.name}: it recorded no {self.needs}",
                hint="its plan has them switched off ([observe]), or the run is older; run it again with them",
            )
        return _COMPUTED.get(self.name, _sampled)(numbers, flow, self.name)


def series_of(text: str) -> Series:
    """Return the series with this name. The unit may be omitted (`cwnd` for `cwnd_pkts`). `goodput` means
    `goodput_in_order_bps`.

    Raises ScenarioError if there is no series with this name. The message has the most similar name and all names.
    """
    if text in SERIES:
        return SERIES[text]
    if text in _SHORT:
        return SERIES[_SHORT[text]]
    # If a series has a short name, the list contains only the short name, so that the list is readable.
    names = {name: name for name in SERIES} | {name: short for short, name in _SHORT.items()}
    meant = guess(text, [*SERIES, *_SHORT])
    raise ScenarioError(f"there is no series {text!r:.60}", hint=f"{meant}one of {', '.join(names.values())}")


def _goodput(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    frame = goodput(numbers.tables, flow, name.removeprefix("goodput_").removesuffix("_bps"))
    return frame["t_ns"].to_numpy(dtype="int64"), floats(frame["goodput_bps"])


def _path_delay(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    ends = numbers.flows[flow]
    frame = numbers.path_delay[ends.source, ends.destination]
    return frame["t_ns"].to_numpy(dtype="int64"), floats(frame["delay_ns"])


def _share(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    mine = numbers.shares[numbers.shares["flow"] == flow]
    return mine["t_ns"].to_numpy(dtype="int64"), floats(mine[name])


def _path_queue(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    ends = numbers.flows[flow]
    grid = np.arange(0, numbers.end_ns, QUEUE_GRID_NS, dtype="int64")
    total = np.zeros(len(grid))
    for in_force, waiting_pkts in path_queues(numbers.tables, (ends.source, ends.destination), numbers.end_ns, grid):
        total[in_force] += waiting_pkts[in_force]
    return grid, total


def _sampled(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    samples = numbers.tables.of_flow("sockets", flow)
    value = floats(samples[name])
    # 0 means that the sender has no RTT sample yet.
    value = np.where(value > 0, value, np.nan) if name == "srtt_us" else value
    return samples["t_ns"].to_numpy(dtype="int64"), value


def flow_bbr_modes(flow: Any, samples: pd.DataFrame) -> np.ndarray:
    """Return the mode of a BBR flow in each of its samples (`trace.bbr.bbr_modes`). For other congestion controls, the
    mode is nan."""
    # A table of an older run may lack the columns with BBR's gains.
    if flow.congestion_control not in BBR_CONTROLS or not set(BBR_GAINS) <= set(samples.columns):
        return np.full(len(samples), np.nan)
    return bbr_modes(*(floats(samples[gain]) for gain in BBR_GAINS))


def _bbr_mode(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    samples = numbers.tables.of_flow("sockets", flow)
    return samples["t_ns"].to_numpy(dtype="int64"), flow_bbr_modes(numbers.flows[flow], samples)


def _probed(numbers: Numbers, flow: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    echoes = numbers.tables.of_flow("echoes", flow)
    sent = echoes["sent_ns"].to_numpy(dtype="int64")
    return sent, floats(echoes["reply_ns" if name == "probe_rtt_ns" else "received_ns"]) - sent


_FROM = "mean rate from t_ns to the next sample, of "
_COMPUTED: dict[str, Callable[[Numbers, int, str], tuple[np.ndarray, np.ndarray]]] = {
    **{f"goodput_{series}_bps": _goodput for series in GOODPUT_SERIES},
    "path_delay_ns": _path_delay,
    "path_queue_pkts": _path_queue,
    "share_ratio": _share,
    "bbr_mode": _bbr_mode,
    "probe_delay_ns": _probed,
    "probe_rtt_ns": _probed,
}

SERIES: dict[str, Series] = {
    each.name: each
    for each in (
        *(Series(f"goodput_{name}_bps", "bit/s", _FROM + words, "sockets") for name, words in GOODPUT_SERIES.items()),
        Series("path_delay_ns", "ns", "propagation delay of the path from source to destination, from t_ns on", ""),
        Series("path_queue_pkts", "pkts", "packets waiting on all links of the current path, every 10 ms", "links"),
        Series("share_ratio", "", SERIES_NUMBERS["share_ratio"], "sockets"),
        Series(
            "bbr_mode", "", "BBR's mode, derived from its two gains: STARTUP, DRAIN, PROBE_BW or PROBE_RTT; null for "
            "other congestion controls and your own modules; at every `observe.sockets`", "sockets", words=BBR_MODES,
        ),
        Series("probe_delay_ns", "ns", "one-way delay of a probe sent at t_ns; null: lost", "echoes", steps=False),
        Series("probe_rtt_ns", "ns", "round-trip time of a ping sent at t_ns; null: no reply", "echoes", steps=False),
        *(
            Series(column.name, column.unit, f"{column.doc}; at every `observe.sockets`", "sockets", words=column.words)
            for column in TABLES["sockets"].columns
            if column.name not in ("t_ns", "flow") and not pa.types.is_boolean(column.type)
        ),
    )
}  # fmt: skip
"""All series. The computed series are first, then the quantities sampled from the sockets, except truth values."""


def _stem(name: str) -> str:
    return next((name.removesuffix(end) for end in ("_pkts", "_bps", "_ns", "_us", "_bytes", "_ratio")
                 if name.endswith(end)), name)  # fmt: skip


# If two names differ only in their unit, the name without a unit would be ambiguous, so neither of the two gets a short
# name.
_SHORT = {"goodput": "goodput_in_order_bps", "queue": "path_queue_pkts"} | {
    _stem(name): name for name in SERIES if [_stem(other) for other in SERIES].count(_stem(name)) == 1
}
