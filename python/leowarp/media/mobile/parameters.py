# SPDX-License-Identifier: Apache-2.0
"""A plan's mobile channel for the channel model: its parameters, derived values, and warnings."""

from __future__ import annotations

from leowarp.routes import LastHop
from leowarp.scenario.network.links import SMALLEST_MTU_BYTES
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import ChannelRows, Harq, LandMobile, Outcomes, Realisation, realisation
from leowarp.timeline.metadata import CodewordSummary


def fading_of(mobile: Mobile) -> LandMobile | None:
    """Parameters of the channel; None: there is no fading.

    Lengths that the plan omits are None here, too, and come from the environment's table (`LandMobile.model`).
    """
    if not mobile.fading:
        return None
    return LandMobile(
        environment=mobile.environment,
        elevation_deg=mobile.elevation_deg,
        environments_path=None if mobile.environments is None else mobile.environments.path,
        speed_m_per_s=mobile.speed_m_per_s,
        carrier_hz=mobile.carrier_hz,
        correlation_m=mobile.correlation_m,
        transition_m=mobile.transition_m,
        frames=mobile.frames,
        frame_m=mobile.frame_m,
        samples_per_wavelength=mobile.samples_per_wavelength,
    )


def harq_of(mobile: Mobile) -> Harq:
    """The link layer's parameters.

    design/lms-harq.md gives the reason for each default, and the influence of the value.
    """
    return Harq(
        kind=mobile.harq,
        modulation=mobile.modulation,
        data_bits=mobile.data_bits,
        codeword_bits=mobile.codeword_bits,
        rate_bps=mobile.rate_bps,
        retransmissions=mobile.retransmissions,
        first_delay_ns=mobile.first_delay_ns,
        retransmission_delay_ns=mobile.retransmission_delay_ns,
        threshold_kind=mobile.threshold_kind,
        threshold_ratio=mobile.threshold_ratio,
        rule=mobile.rule,
        first_target_ratio=mobile.first_target_ratio,
        target_ratio=mobile.target_ratio,
        last_sends_rest=mobile.last_sends_rest,
        first_bits=mobile.first_bits,
    )


def realisation_of(plan: Plan, mobile: Mobile) -> Realisation:
    """Power, codewords and their fates on the last hop, over the whole run; equal plans give equal results.

    A run directory does not contain the channel's series. The series are recomputed from the plan when a run's channel
    is shown (`view.series.fading_of_run`).
    """
    return realisation(fading_of(mobile), harq_of(mobile), mobile.snr_db, plan.run.duration_ns, plan.run.seed)


def rows_of(plan: Plan, mobile: Mobile) -> tuple[ChannelRows, Outcomes]:
    """Effect of the last hop on packets over the whole run.

    Returns rows: Delay and loss (0 or 1) in the direction from satellite to terminal.
    Returns outcomes: Fate of all codewords of the run, with or without a packet.
    """
    realised = realisation_of(plan, mobile)
    return realised.rows(), realised.outcomes


def described(mobile: Mobile, outcomes: Outcomes) -> CodewordSummary:
    """Fate of the codewords, in a few numbers.

    The summary is stored in the timeline's metadata (`harq`), from which the report reads it.
    """
    return CodewordSummary(
        codewords=len(outcomes.lost),
        loss_ratio=outcomes.loss_ratio,
        decoded_shares=outcomes.decoded_shares(mobile.retransmissions),
        first_bits=outcomes.first_bits,
        symbols_ratio=outcomes.symbols_ratio,
    )


def warnings_about(plan: Plan, mobile: Mobile) -> list[str]:
    """Warnings about a run over the channel."""
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
    """The fading link, which replaces a ground link. The link's delay is that of a packet decoded after the first
    transmission.

    The link takes `return_delay_ns` from the terminal. To the terminal it takes at least `first_delay_ns`, plus more
    per retransmission.
    """
    return LastHop(rule=mobile.last_satellite, leaving_ns=mobile.return_delay_ns, arriving_ns=mobile.first_delay_ns)
