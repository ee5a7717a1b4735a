# SPDX-License-Identifier: Apache-2.0
"""Recordings of real links beside the same measurement made in the guest (`leowarp validate`).

`public` names recordings that anybody can fetch. `quantities` are the numbers that are compared, `made` makes the same
measurement over a replay and over profiles, `compared` gives distances and verdicts, `page` shows all of it.
"""

from leowarp.validation.compared import LIMIT_RATIO, Row, Skipped, Validated, validate
from leowarp.validation.public import PUBLIC, Public

__all__ = ["LIMIT_RATIO", "PUBLIC", "Public", "Row", "Skipped", "Validated", "validate"]
