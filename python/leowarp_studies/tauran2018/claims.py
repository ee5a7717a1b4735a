# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp_studies.tauran2018 import claims_delayed, claims_link, claims_mechanism, claims_network

CLAIMS = tuple(
    sorted(
        (*claims_link.CLAIMS, *claims_delayed.CLAIMS, *claims_mechanism.CLAIMS, *claims_network.CLAIMS),
        key=lambda claim: [int(part) for part in claim.number.split(".")],
    )
)
