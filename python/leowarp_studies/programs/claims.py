# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.programs import claims_goodput, claims_losses, claims_pages, claims_videos

CLAIMS = tuple(
    sorted(
        (*claims_losses.CLAIMS, *claims_goodput.CLAIMS, *claims_pages.CLAIMS, *claims_videos.CLAIMS),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
