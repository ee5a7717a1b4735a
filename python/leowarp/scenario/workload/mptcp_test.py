# SPDX-License-Identifier: Apache-2.0
"""Tests Multipath TCP connections over several stations. Missing keys are filled in, and wrong combinations are
rejected."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import GOOD, problems_of, write
from leowarp.scenario.workload.mptcp import further_interfaces

LISBON = '[[stations]]\nname = "Lisbon"\nlatitude = "38.7 deg"\nlongitude = "-9.1 deg"\n'
WHOLE = '{name="both", source="Madrid", destination="Tokyo", protocol="mptcp", size="1 MB", start="1 s"}'
SECOND = '{name="second", source="Lisbon", destination="Tokyo", subflow_of="both"}'


def scenario(tmp_path):
    return write(tmp_path, GOOD.replace("[[stations]]", LISBON + "[[stations]]", 1))


def test_a_subflow_has_the_times_and_the_size_of_its_connection_and_the_kernel_follows(tmp_path):
    path = scenario(tmp_path)
    plan = resolve(load(path, [f"flows=[{WHOLE}, {SECOND}]"]))
    first, second = plan.flows
    assert (second.protocol, second.start_ns, second.size_bytes) == ("mptcp", 1_000_000_000, 1_000_000)
    assert (second.stop_ns, second.congestion_control) == (first.stop_ns, first.congestion_control)
    assert plan.guest.kernel == "6.12+net"
    assert further_interfaces(plan.flows) == {"Lisbon": "Madrid"}
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


def test_a_plan_without_it_says_nothing_of_it(tmp_path):
    plan = resolve(load(scenario(tmp_path)))
    assert "mptcp" not in plan.to_toml()
    assert "subflow_of" not in plan.to_toml()
    assert (plan.guest.kernel, further_interfaces(plan.flows)) == ("default", {})


@pytest.mark.parametrize(
    ("flows", "key", "said", "hint"),
    [
        ([WHOLE, SECOND.replace('"both"', '"bth"')], "flows.1.subflow_of", "there is no flow", "both"),
        ([WHOLE.replace("mptcp", "tcp"), SECOND], "flows.1.subflow_of", "no connection of", 'protocol = "mptcp"'),
        ([WHOLE, SECOND.replace('"both"', '"second"')], "flows.1.subflow_of", "a subflow itself", "the connection"),
        ([WHOLE, SECOND.replace("}", ', protocol="tcp"}')], "flows.1.protocol", 'not "mptcp"', "take it out"),
        ([WHOLE, SECOND.replace("}", ', size="2 MB"}')], "flows.1.size", "key of the connection", "take it out"),
        ([WHOLE, SECOND.replace("Lisbon", "Madrid")], "flows.1.source", "its ends are both", "a station of its own"),
        ([WHOLE, SECOND.replace("Tokyo", "Madrid")], "flows.1.source", "neither of them", "a station of its own"),
        (
            [WHOLE, SECOND, '{source="Tokyo", destination="Lisbon", protocol="mptcp"}'],
            "flows.2.destination", "has no host of its own", 'destination = "Madrid"',
        ),
        (
            [WHOLE, SECOND, '{kind="program", source="Lisbon", destination="Tokyo", client="/bin/true"}'],
            "flows.2.source", "has no host of its own", 'source = "Madrid"',
        ),
        (
            [WHOLE, SECOND, '{source="Madrid", destination="Tokyo", protocol="mptcp"}'],
            "flows.2.source", "whose subflows are at other stations", "the same subflows for each connection",
        ),
        (
            [WHOLE, SECOND, '{source="Tokyo", destination="Madrid", protocol="mptcp"}'],
            "flows.0", "the source of one connection and the destination of another", "another station",
        ),
        (['{kind="ping", source="Madrid", destination="Tokyo", protocol="mptcp"}'], "flows.0.protocol", "tcp", "take"),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_the_key_and_what_to_write(tmp_path, flows, key, said, hint):
    (problem,) = problems_of(scenario(tmp_path), [f"flows=[{', '.join(flows)}]"])
    assert problem.key == key
    assert said in problem.rule
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        (["routing.in_flight=source"], "flows.0.protocol"),
        (["tcp.delayed_ack=on"], "tcp.delayed_ack"),
        (["hosts.Madrid.tcp.delayed_ack=on"], "hosts.Madrid.tcp.delayed_ack"),
        (["tcp.loss_detection=door"], "tcp.loss_detection"),
        (["hosts.Lisbon.tcp.ecn=on"], "hosts.Lisbon"),
    ],
)
def test_keys_elsewhere_that_cannot_be_are_named(tmp_path, keys, key):
    found = problems_of(scenario(tmp_path), [f"flows=[{WHOLE}, {SECOND}]", *keys])
    assert [problem.key for problem in found] == [key]


def test_nine_further_subflows_are_one_more_than_the_kernel_opens(tmp_path):
    names = [f"S{i}" for i in range(9)]
    stations = [f'{{name="{n}", latitude="{30 + i} deg", longitude="0 deg"}}' for i, n in enumerate(names)]
    ends = [f'{{name="{n}"}}' for n in ("Madrid", "Tokyo")]
    flows = [f'{{source="{n}", destination="Tokyo", subflow_of="both"}}' for n in names]
    keys = [f"stations=[{', '.join(ends + stations)}]"]
    resolve(load(scenario(tmp_path), [*keys, f"flows=[{WHOLE}, {', '.join(flows[:8])}]"]))
    (problem,) = problems_of(scenario(tmp_path), [*keys, f"flows=[{WHOLE}, {', '.join(flows)}]"])
    assert (problem.key, problem.rule) == ("flows.0", "has 9 further subflows, and the kernel opens 8 at most")
