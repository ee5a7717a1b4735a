# SPDX-License-Identifier: Apache-2.0
"""Tests that a failure without a known reason is reported. A known reason without a failure must also be reported."""

from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp_conformance.attempt import Attempt
from leowarp_conformance.ladder import Outcome
from leowarp_conformance.reasons import OURS, Reason, reasons, verdict
from leowarp_conformance.scripts import ScriptSet

SET = ScriptSet("google", "plain", "IPv4", Path("/"), ("a.pkt", "b.pkt"), (), ())
FAILURE = Attempt(False, "a.pkt:1: too late", "all of it")
HUNG = Attempt(False, "the guest stands still", "", hung=True)


def reason(script="a.pkt", kind="older kernel", **others):
    return Reason("google", script, kind, "it expects something else", **others)


def faults(listed, failure=FAILURE):
    return verdict(SET, [Outcome("a.pkt", None, failure), Outcome("b.pkt", 10)], listed).faults()


def test_the_reasons_that_come_with_leowarp_are_none_of_ours():
    listed = reasons()
    assert listed
    assert [each.script for each in listed if each.kind == OURS] == []
    assert len({(each.origin, each.script, each.ips, each.kernels) for each in listed}) == len(listed)


def test_a_failure_with_a_reason_is_no_fault():
    assert faults([reason()]) == []


def test_a_failure_without_a_reason_is_told():
    assert faults([]) == ["google, IPv4, plain: a.pkt fails without a known reason: a.pkt:1: too late"]


@pytest.mark.parametrize("fields", [{"ips": ("IPv6",)}, {"kernels": ("default",)}])
def test_a_reason_for_another_set_is_none(fields):
    assert faults([reason(**fields)]) == faults([])


def test_a_reason_whose_script_passes_or_is_not_there_is_told():
    told = faults([reason(), reason("b.pkt"), reason("c.pkt")])
    assert sorted(told) == [
        "google, IPv4, plain: b.pkt passes, and reasons.toml says that it fails",
        "google, IPv4, plain: c.pkt is not there, and reasons.toml says that it fails",
    ]


def test_a_failure_of_ours_and_one_that_hangs_are_faults_with_any_reason():
    assert faults([reason(kind=OURS)]) == ["google, IPv4, plain: a.pkt fails by a fault of leowarp: a.pkt:1: too late"]
    assert faults([reason()], HUNG) == [
        "google, IPv4, plain: a.pkt fails by a fault of leowarp: the guest stands still"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('origin = "google"\nscript = "a.pkt"\nkind = "weather"\nreason = "rain"', '"weather" is none of'),
        ('origin = "google"\nscript = "a.pkt"\nkind = "ours"', "entry 1: .*reason"),
        ('origin = "google"\nscript = "a.pkt"\nkind = "ours"\nreason = "x"\nwhy = "y"', "entry 1: .*why"),
    ],
)
def test_an_entry_that_is_not_as_the_file_says_is_told(tmp_path, text, told):
    (tmp_path / "reasons.toml").write_text(f"[[failure]]\n{text}\n")
    with pytest.raises(ScenarioError, match=told):
        reasons(tmp_path / "reasons.toml")
