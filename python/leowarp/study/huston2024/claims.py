# SPDX-License-Identifier: Apache-2.0
"""All claims of the study, in order."""

from leowarp.study.huston2024 import claims_path, claims_tcp

CLAIMS = tuple(
    sorted((*claims_path.CLAIMS, *claims_tcp.CLAIMS), key=lambda claim: [int(part) for part in claim.number.split(".")])
)
