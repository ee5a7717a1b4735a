# SPDX-License-Identifier: Apache-2.0
"""Tests the consequences of `network.family = "ipv6"`. Also tests which keys are then rejected, each with a hint about
what to write."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import GOOD, problems_of, write

IPV6 = "network.family=ipv6"


def test_a_run_over_ipv6_takes_the_kernel_that_has_it_unless_another_is_named(tmp_path):
    path = write(tmp_path, GOOD)
    assert resolve(load(path)).guest.kernel == "default"
    plan = resolve(load(path, [IPV6]))
    assert (plan.network.family, plan.guest.kernel, plan.network.ip_header_bytes) == ("ipv6", "6.12+net", 40)
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan
    assert resolve(load(path, [IPV6, "guest.kernel=mine"])).guest.kernel == "mine"


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        (["network.mtu=1279 B"], "network.mtu", "less than the 1280 B"),
        (["network.neighbours=arp"], "network.neighbours", "ARP resolves addresses of IPv4"),
        (["routing.in_flight=source"], "routing.in_flight", "no IPv6 routes by TOS"),
        (["cures.hold=true"], "cures", "the flows of IPv4 alone"),
        (["tcp.delayed_ack=on"], "tcp.delayed_ack", "sockets of IPv4"),
        (["hosts.Madrid.tcp.delayed_ack=on"], "hosts.Madrid.tcp.delayed_ack", "sockets of IPv4"),
    ],
)
def test_what_is_of_ipv4_alone_is_refused(tmp_path, keys, key, said):
    resolve(load(write(tmp_path, GOOD), keys))
    (problem,) = problems_of(write(tmp_path, GOOD), [*keys, IPV6])
    assert problem.key == key
    assert said in problem.rule
    assert problem.hint.endswith('or network.family = "ipv4"')


def test_a_probe_fits_with_the_longer_header(tmp_path):
    flow = 'flows=[{kind="udp", source="Madrid", destination="Tokyo", rate="1 Mbit/s", payload="1472 B"}]'
    path = write(tmp_path, GOOD)
    assert resolve(load(path, [flow])).flows[0].payload_bytes == 1472
    (problem,) = problems_of(path, [flow, IPV6])
    assert problem.hint == "at most 1452 B fit"
