# SPDX-License-Identifier: Apache-2.0
"""Tests that the table of scalars is consistent."""

import pytest

from leowarp import scalars
from leowarp.scalars.scalar import COUNT, NS, PKTS, Group, Scalar

EVERY = (*scalars.RUN, *scalars.TCP, *scalars.PROBE)


@pytest.mark.parametrize("section", [scalars.RUN, scalars.TCP, scalars.PROBE], ids=["run", "tcp", "probe"])
def test_a_name_is_declared_once_of_a_kind_of_flow(section):
    assert len(set(scalars.names(section))) == len(section)


def test_a_name_ends_in_its_unit():
    suffixes = {scalar.unit.suffix for scalar in EVERY} - {""}
    for scalar in EVERY:
        owner, _, inner = scalar.name.partition(".")
        said = [suffix for suffix in suffixes if (inner or owner).endswith(suffix)]
        # In `drops_by_cause_pkts.queue`, the unit is at the end of the object's name instead of the key.
        said = said or [suffix for suffix in suffixes if inner and owner.endswith(suffix)]
        assert said == ([scalar.unit.suffix] if scalar.unit.suffix else []), scalar.name


def test_a_definition_is_a_phrase_of_one_line():
    for scalar in EVERY:
        assert len(scalar.definition.split()) > 1, scalar.name
        assert not scalar.definition.endswith("."), scalar.name
        assert "\n" not in scalar.definition, scalar.name
        assert "  " not in scalar.definition, scalar.name


def test_units_of_time_and_rate_are_shown_as_the_units_of_scenarios_have_them():
    sizes = {"rtt_p50_ns": 1e6, "rtt_error_ns": 1e3, "completion_ns": 1e9, "srtt_p50_us": 1e3, "goodput_mean_bps": 1e6,
             "share_ratio": 0.01, "sent_pkts": 1}  # fmt: skip
    assert {name: scalars.FLOW_SCALARS[name].unit.size for name in sizes} == sizes


def test_what_two_kinds_of_flow_define_differently_has_the_same_unit_group_and_words():
    for probe in scalars.PROBE:
        first = scalars.FLOW_SCALARS[probe.name]
        same = ("unit", "group", "page", "overview")
        assert [getattr(probe, name) for name in same] == [getattr(first, name) for name in same], probe.name


def test_common_scalars_are_those_of_both_kinds():
    both = {id(scalar) for scalar in scalars.TCP} & {id(scalar) for scalar in scalars.PROBE}
    assert both == {id(scalar) for scalar in scalars.COMMON}


DECLARED = (Scalar("a_pkts", PKTS, Group.PACKETS, "first"), Scalar("b.c", COUNT, Group.GOODPUT, "second"),
            Scalar("d_ns", NS, Group.DELAYS, "third"))  # fmt: skip


def test_a_summary_is_in_the_declared_order():
    found = {"d_ns": None, "b": {"c": 1}, "a_pkts": 2}
    assert list(scalars.ordered(found, DECLARED).items()) == [("a_pkts", 2), ("b", {"c": 1}), ("d_ns", None)]
    assert scalars.ordered(found | {"b": None}, DECLARED)["b"] is None


def test_what_is_not_declared_cannot_be_written():
    with pytest.raises(AssertionError, match=r"computed, and not declared: \['e_pkts'\]"):
        scalars.ordered({"a_pkts": 1, "b": {"c": 1}, "d_ns": 1, "e_pkts": 1}, DECLARED)
    with pytest.raises(AssertionError, match=r"computed, and not declared: \['b.f'\]"):
        scalars.ordered({"a_pkts": 1, "b": {"c": 1, "f": 1}, "d_ns": 1}, DECLARED)


def test_what_is_declared_cannot_be_left_out():
    with pytest.raises(AssertionError, match=r"declared, and not computed: \['d_ns'\]"):
        scalars.ordered({"a_pkts": 1, "b": {"c": 1}}, DECLARED)
    with pytest.raises(AssertionError, match=r"declared, and not computed: \['b.c'\]"):
        scalars.ordered({"a_pkts": 1, "b": {}, "d_ns": 1}, DECLARED)
