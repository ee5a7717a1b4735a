# SPDX-License-Identifier: Apache-2.0
"""The parameters of the channel model that follow from a plan's ``[mobile]``, and warnings about them."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from leowarp.routes import LastHop
from leowarp.scenario.network.links import SMALLEST_MTU_BYTES
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import ChannelRows, Harq, LandMobile, Outcomes, Realisation, realisation
from leowarp.timeline.metadata import CodewordSummary

ModelT = TypeVar("ModelT", LandMobile, Harq)


def fading_of(mobile: Mobile) -> LandMobile | None:
    """Return the parameters of the fading, or None if the plan has no fading.

    Lengths that the plan does not give are None. `LandMobile.model` then uses the lengths from the table of the
    environment.
    """
    if not mobile.fading:
        return None
    path = None if mobile.environments is None else mobile.environments.path
    return _of_equal_names(LandMobile, mobile, environments_path=path)


def harq_of(mobile: Mobile) -> Harq:
    """Return the parameters of the link layer with hybrid ARQ.

    design/lms-harq.md explains each default, and how much the results depend on it.
    """
    return _of_equal_names(Harq, mobile, kind=mobile.harq)


def _of_equal_names(model: type[ModelT], mobile: Mobile, **others: Any) -> ModelT:
    """Return parameters of the channel model: the keys of equal names, and `others`."""
    names = [field.name for field in dataclasses.fields(model) if field.name not in others]
    return model(**{name: getattr(mobile, name) for name in names}, **others)


def realisation_of(plan: Plan, mobile: Mobile) -> Realisation:
    """Compute the received power, the codewords and the codewords' outcomes. All are for the last hop over the whole
    run. The result depends only on the plan.

    A run directory contains neither power nor codewords, so `view.series.fading_of_run` recomputes them.
    """
    return realisation(fading_of(mobile), harq_of(mobile), mobile.snr_db, plan.run.duration_ns, plan.run.seed)


def rows_of(plan: Plan, mobile: Mobile) -> tuple[ChannelRows, Outcomes]:
    """Compute the delay and loss that the last hop causes over the whole run.

    Returns rows: The delay and loss (0 or 1) in the direction from satellite to terminal, from each time on.
    Returns outcomes: The outcome of all codewords of the run, whether or not they carried a packet.
    """
    realised = realisation_of(plan, mobile)
    return realised.rows(), realised.outcomes


def described(mobile: Mobile, outcomes: Outcomes) -> CodewordSummary:
    """Return a summary of the codewords' outcomes.

    The timeline's metadata contains this summary as `harq`. The report reads it there.
    """
    return CodewordSummary(
        codewords=len(outcomes.lost),
        loss_ratio=outcomes.loss_ratio,
        decoded_shares=outcomes.decoded_shares(mobile.retransmissions),
        first_bits=outcomes.first_bits,
        symbols_ratio=outcomes.symbols_ratio,
    )


def warnings_about(plan: Plan, mobile: Mobile) -> list[str]:
    """Return warnings about the channel of a run."""
    warnings = []
    packet_bytes = mobile.data_bits // 8
    if plan.network.mtu_bytes > packet_bytes:
        warnings.append(
            f"network.mtu = {plan.network.mtu_bytes} B is more than a codeword's {packet_bytes} B of data: a packet "
            "that takes several codewords meets what the one meets in which it begins"
            + (f'; write network.mtu = "{packet_bytes} B"' if packet_bytes >= SMALLEST_MTU_BYTES else "")
        )
    if mobile.fading and mobile.speed_m_per_s == 0:
        still = "the channel is one draw for the whole run; another seed is another place"
        warnings.append(f"mobile.speed = 0 m/s: {still}")
    return warnings


def last_hop_of(mobile: Mobile) -> LastHop:
    """Return the fading link between satellite and terminal, which replaces a ground link. The fading link's nominal
    delay is the delay of a packet without a retransmission.

    From the terminal to the satellite, the delay is `return_delay_ns`. From the satellite to the terminal, the delay is
    `first_delay_ns` plus the time of retransmissions.
    """
    return LastHop(rule=mobile.last_satellite, leaving_ns=mobile.return_delay_ns, arriving_ns=mobile.first_delay_ns)
