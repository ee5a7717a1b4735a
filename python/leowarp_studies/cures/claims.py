# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.cures import claims_ahead, claims_cost, claims_hosts, claims_order

CLAIMS = tuple(
    sorted(
        (*claims_order.CLAIMS, *claims_cost.CLAIMS, *claims_hosts.CLAIMS, *claims_ahead.CLAIMS),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
