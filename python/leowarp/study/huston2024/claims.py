# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp.study.huston2024 import claims_cures, claims_losses, claims_path, claims_sessions, claims_why

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
