# SPDX-License-Identifier: Apache-2.0
"""The result of a profile: two tables for each direction of the link, and the tables' random values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.base.tables.metadata import column, table_schema
from leowarp.media.access.slots import Slots


@dataclass(frozen=True, kw_only=True)
class Way:
    """The tables of one direction of the link, in the guest's format (design/interfaces.md, section 13).

    capacity_t_ns, rate_bps: The times and rates, int64 arrays of shape (n,). A rate is valid from its time until the
        next time. The first time is 0. At rate 0, the link sends nothing.
    channel_t_ns, delay_ns: The times and delays, int64 arrays of shape (m,). A packet has the delay that is valid when
        its transmission begins. A delay is valid from its time until just before the next time. The first time is 0.
    loss_ratio: The probability of loss, 0 to 1, for the same packets as `delay_ns`, float64 array of shape (m,).
    """

    capacity_t_ns: NDArray[np.int64]
    rate_bps: NDArray[np.int64]
    channel_t_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]
    loss_ratio: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The random values that were drawn for each slot, and the outages.

    handover_ns: The length of the handover at the slot's beginning, int64 array of shape (n,).
    spike_ns: The additional delay at the slot's beginning, int64 array of shape (n,). If it is None, handovers have no
        additional delay but hold packets.
    capacity_bps, capacity_up_bps: The median capacity of the slot in each direction, int64 arrays of shape (n,).
    outage_begin_ns, outage_end_ns: The outages, ascending and disjoint, int64 arrays of shape (k,). The first outage
        may begin before the run, and the last one may end after it.
    """

    handover_ns: NDArray[np.int64]
    spike_ns: NDArray[np.int64] | None
    capacity_bps: NDArray[np.int64]
    capacity_up_bps: NDArray[np.int64]
    outage_begin_ns: NDArray[np.int64]
    outage_end_ns: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The delay, loss and capacity of an access link over a run.

    up, down: The directions from terminal to gateway, and from gateway to terminal.
    """

    up: Way
    down: Way
    slots: Slots
    drawn: Drawn

    def slot_table(self) -> pa.Table:
        """Return one row per slot, with the columns `SLOT_COLUMNS`.

        Returns: The rows in order of time. The table is in the timeline's metadata, so that a run directory contains
            the random values of the run.
        """
        slots, drawn = self.slots, self.drawn
        count = len(slots.begin_ns)
        # An outage belongs to the nearest reconfiguration. The outage's beginning alone does not show to which
        # reconfiguration it belongs, because outages lie before and after reconfigurations.
        middle_ns = (drawn.outage_begin_ns + drawn.outage_end_ns) // 2
        borders_ns = slots.begin_ns[:-1] + np.diff(slots.begin_ns) // 2
        of_slot = np.searchsorted(borders_ns, middle_ns, side="right")
        # A slot may have several outages; with `lost_ns[of_slot] += ...`, numpy would only add the last of them.
        lost_ns = np.zeros(count, dtype=np.int64)
        np.add.at(lost_ns, of_slot, drawn.outage_end_ns - drawn.outage_begin_ns)
        nothing = pa.nulls(count, pa.float64())
        return pa.Table.from_arrays(
            [
                pa.array(np.arange(count)),
                pa.array(slots.begin_ns),
                pa.array(slots.names, pa.string()),
                nothing if slots.elevation_deg is None else pa.array(slots.elevation_deg),
                pa.array(slots.base_at_ns(slots.begin_ns)),
                pa.array(drawn.handover_ns),
                pa.nulls(count, pa.int64()) if drawn.spike_ns is None else pa.array(drawn.spike_ns),
                pa.array(np.bincount(of_slot, minlength=count)),
                pa.array(lost_ns),
                pa.array(drawn.capacity_bps),
                pa.array(drawn.capacity_up_bps),
            ],
            schema=table_schema("slots", "One row a slot of an access link.", SLOT_COLUMNS),
        )

    def outage_table(self) -> pa.Table:
        """Return one row per outage: `begin_ns`, `end_ns`.

        The columns are `OUTAGE_COLUMNS`, with times in ns on the run's clock. An outage that began before the run has a
        negative `begin_ns`.
        """
        return pa.Table.from_arrays(
            [pa.array(self.drawn.outage_begin_ns), pa.array(self.drawn.outage_end_ns)],
            schema=table_schema("outages", "One row an outage of an access link, both ways.", OUTAGE_COLUMNS),
        )


SLOT_COLUMNS = (
    column("slot", pa.int64(), "", "its number, the path_id of its path", nullable=False),
    column("begin_ns", pa.int64(), "ns", "its reconfiguration; of the first slot at 0 or before", nullable=False),
    column("satellite", pa.string(), "", "what stands for it in the path", nullable=False),
    column("elevation_deg", pa.float64(), "deg", "of the satellite above the terminal's horizon; null: no geometry"),
    column("base_ns", pa.int64(), "ns", "one-way delay at its beginning, without jitter and waiting", nullable=False),
    column("handover_ns", pa.int64(), "ns", "how long the handover at its beginning lasts", nullable=False),
    column("spike_ns", pa.int64(), "ns", "delay on top when that begins; null: packets are held"),
    column("outages", pa.int64(), "", "how many lie nearest to its reconfiguration", nullable=False),
    column("outage_ns", pa.int64(), "ns", "how long they last together", nullable=False),
    column("capacity_bps", pa.int64(), "bit/s", "median capacity down", nullable=False),
    column("capacity_up_bps", pa.int64(), "bit/s", "median capacity up", nullable=False),
)
OUTAGE_COLUMNS = (
    column("begin_ns", pa.int64(), "ns", "all that begins to be sent from then on is lost", nullable=False),
    column("end_ns", pa.int64(), "ns", "until then", nullable=False),
)
