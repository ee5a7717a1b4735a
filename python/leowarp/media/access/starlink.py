# SPDX-License-Identifier: Apache-2.0
"""Computes the profile of a Starlink dish (`starlink`). The tables of both directions follow from parameters, slots and
a seed.

docs/guides/access-links.md explains the model and the source of each number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.base.streams import stream
from leowarp.media.access.capacity import capacity_rows, slot_levels_bps
from leowarp.media.access.delays import channel_rows
from leowarp.media.access.outages import merged, outages_ns, stalls_ns
from leowarp.media.access.profile import Drawn, Profile, Way
from leowarp.media.access.slots import Slots
from leowarp.scenario.schema import Access


def starlink_profile(access: Access, slots: Slots, *, seed: int, duration_ns: int) -> Profile:
    """Return the delay, loss and capacity of an access link over a run.

    slots: The slots of the same plan (`slots.slots_of`).
    seed: The ``run.seed``. The order of components does not matter: each has its own random stream, named ``access.*``.
    """
    count = len(slots.begin_ns)
    handover_ns = _uniform_ns(seed, "access.handover", access.handover_min_ns, access.handover_max_ns, count)
    spike_ns = None
    held = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if access.handover == "hold":
        # Packets are held and get no additional delay: a hold alone already produces the published spike of 30 to 50
        # ms. With a hold and an equal spike, RTTs would rise by 70 to 90 ms (design/starlink-profile.md, "Hold, not
        # spike").
        held = merged(slots.begin_ns, slots.begin_ns + handover_ns)
    else:
        spike_ns = _uniform_ns(seed, "access.spike", access.spike_min_ns, access.spike_max_ns, count)
    stalls = stalls_ns(access, seed=seed, duration_ns=duration_ns)
    # Both directions have the same outages, because an outage is a loss of signal.
    outage_begin_ns, outage_end_ns = outages_ns(access, slots, seed=seed, duration_ns=duration_ns)
    # Each direction has its own random streams, so a key of one direction does not change the other direction.
    levels = {way: slot_levels_bps(access, way, count, seed) for way in ("up", "down")}
    drawn = Drawn(
        handover_ns=handover_ns,
        spike_ns=spike_ns,
        capacity_bps=levels["down"],
        capacity_up_bps=levels["up"],
        outage_begin_ns=outage_begin_ns,
        outage_end_ns=outage_end_ns,
    )

    def made(way: str) -> Way:
        waits = held
        if len(stalls[way][0]):
            waits = merged(*(np.concatenate(both) for both in zip(held, stalls[way], strict=True)))
        capacity_t_ns, rate_bps = capacity_rows(
            access, way, slots.begin_ns, levels[way], waits, seed=seed, duration_ns=duration_ns
        )
        channel_t_ns, delay_ns, loss_ratio = channel_rows(access, way, slots, drawn, seed=seed, duration_ns=duration_ns)
        return Way(
            capacity_t_ns=capacity_t_ns,
            rate_bps=rate_bps,
            channel_t_ns=channel_t_ns,
            delay_ns=delay_ns,
            loss_ratio=loss_ratio,
        )

    return Profile(up=made("up"), down=made("down"), slots=slots, drawn=drawn)


def _uniform_ns(seed: int, name: str, low_ns: int, high_ns: int, count: int) -> NDArray[np.int64]:
    """For each slot, return a random number of nanoseconds from low_ns to high_ns (both included), shape (count,). The
    stream is `name`."""
    return stream(seed, name).integers(low_ns, high_ns, count, dtype=np.int64, endpoint=True)
