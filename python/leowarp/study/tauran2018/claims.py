# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp.study.tauran2018 import claims_delayed, claims_link

CLAIMS = tuple(
    sorted(
        (*claims_link.CLAIMS, *claims_delayed.CLAIMS),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
