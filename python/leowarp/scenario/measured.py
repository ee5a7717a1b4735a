# SPDX-License-Identifier: Apache-2.0
"""`[measured]`: a link that follows somebody's measurement."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp import units
from leowarp.scenario.key import InputFile, file, quantity
from leowarp.scenario.queues import QueueKeys


@dataclass(frozen=True, kw_only=True)
class Measured(QueueKeys):
    """One link between hosts A and B that follows a measured table."""

    file: InputFile = file(  # noqa: RUF009
        "CSV with the columns `t_s, delay_ms, rate_mbps, loss_ratio`; "
        "`delay_up_ms, rate_up_mbps, loss_up_ratio` if B to A differs. Each row holds from its time on.",
        required=True,
    )
    overhead_bytes: int = quantity(units.BYTES, "Bytes on the link per packet on top of its IP length.", "14 B",
                                   low="0 B", high="1000 B")  # fmt: skip
