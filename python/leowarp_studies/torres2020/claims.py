# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.torres2020 import claims_definitions, claims_metrics, claims_scale, claims_throughput

CLAIMS = tuple(
    sorted(
        (*claims_metrics.CLAIMS, *claims_throughput.CLAIMS, *claims_definitions.CLAIMS, *claims_scale.CLAIMS),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
