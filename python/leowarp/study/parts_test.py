# SPDX-License-Identifier: Apache-2.0
"""Tests of the helper functions for groups of runs."""

from leowarp.base.errors import GuestError, TraceError
from leowarp.study.parts import first_failure


def test_a_missing_data_set_is_explained_by_a_failure_of_its_own_runs():
    failures = {name: GuestError(name) for name in ("other/1", "main/2", "main-other/3", "main/4")}
    assert first_failure(failures, ("main",)) is failures["main/2"]
    assert first_failure(failures, ("first", "main-other")) is failures["main-other/3"]
    missing = first_failure(failures, ("first",))
    assert isinstance(missing, TraceError)
    assert "no run of first failed" in missing.message
