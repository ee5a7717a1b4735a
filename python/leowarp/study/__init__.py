# SPDX-License-Identifier: Apache-2.0
"""Many runs: published studies made again, each claim judged.

>>> reproduce("frederiksen2024").claims[0]["verdict"]      # doctest: +SKIP
"""

from leowarp.study.claim import Claim, Outcome
from leowarp.study.directory import example_file
from leowarp.study.reproduce import STUDIES, Reproduction, reproduce

__all__ = ["STUDIES", "Claim", "Outcome", "Reproduction", "example_file", "reproduce"]
