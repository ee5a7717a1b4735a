# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.huston2024.claims import cures as claims_cures
from leowarp_studies.huston2024.claims import losses as claims_losses
from leowarp_studies.huston2024.claims import path as claims_path
from leowarp_studies.huston2024.claims import sessions as claims_sessions
from leowarp_studies.huston2024.claims import why as claims_why

CLAIMS = tuple(
    sorted(
        (
            *claims_path.CLAIMS,
            *claims_sessions.CLAIMS,
            *claims_cures.CLAIMS,
            *claims_why.CLAIMS,
            *claims_losses.CLAIMS,
        ),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
