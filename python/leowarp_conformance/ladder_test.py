# SPDX-License-Identifier: Apache-2.0
"""Tests that the search finds the smallest tolerance. Attempts at all tolerances must give the same result."""

from hypothesis import given
from hypothesis import strategies as st

from leowarp_conformance.attempt import Attempt
from leowarp_conformance.ladder import DEFAULT_US, RUNGS_US, climb

PASSED = Attempt(True, "", "")


@given(st.integers(1, 2 * DEFAULT_US))
def test_the_tolerance_found_is_the_smallest_that_suffices(needed_us):
    def at(tolerance_us):
        suffices = (DEFAULT_US if tolerance_us is None else tolerance_us) >= needed_us
        return PASSED if suffices else Attempt(False, f"late by {needed_us}", "")

    outcome = climb("a.pkt", at)
    suffice = [rung for rung in (*RUNGS_US, DEFAULT_US) if rung >= needed_us]
    assert outcome.tolerance_us == (suffice[0] if suffice else None)
    assert (outcome.failure is None) == bool(suffice)


def test_a_script_that_fails_is_attempted_twice_and_gives_its_usual_failure():
    attempts = []

    def at(tolerance_us):
        attempts.append(tolerance_us)
        return Attempt(False, f"at {tolerance_us}", "")

    outcome = climb("a.pkt", at)
    assert attempts == [1, None]
    assert outcome.failure is not None
    assert outcome.failure.why == "at None"


def test_a_script_that_asks_for_more_than_the_default_passes_at_the_default():
    assert climb("a.pkt", lambda us: PASSED if us is None else Attempt(False, "late", "")).tolerance_us == DEFAULT_US
