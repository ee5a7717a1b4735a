# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.frederiksen2024 import (
    claims_effects,
    claims_reordering,
    claims_scenarios,
    claims_steady,
    claims_transient,
)

CLAIMS = tuple(
    sorted(
        (
            *claims_steady.CLAIMS,
            *claims_scenarios.CLAIMS,
            *claims_transient.CLAIMS,
            *claims_reordering.CLAIMS,
            *claims_effects.CLAIMS,
        ),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
