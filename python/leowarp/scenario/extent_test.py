# SPDX-License-Identifier: Apache-2.0
"""Tests that a plan is rejected if its numbers alone show that it cannot work. The message must say what to type."""

import dataclasses

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.extent import check_extent, long_run, packets_of, parts_of
from leowarp.scenario.names.examples import examples

GIB = 1 << 30
CHAIN_OF_UDP = {
    "chain.rate": "1000 Gbit/s",
    "flows": [{"source": "A", "destination": "B", "kind": "udp", "packet_rate": "10000000 pkts/s", "payload": "16 B"}],
}
SKY = {"constellation.preset": "iridium"}
LARGE_SKY = {
    "constellation.preset": "starlink-gen1-shell1",
    "constellation.planes": 1000,
    "constellation.satellites_per_plane": 1000,
}


def of(example: str, **keys):
    return resolve(load(example, {key.replace("__", "."): value for key, value in keys.items()}))


@pytest.mark.parametrize("name", [each.name for each in examples()])
def test_every_example_fits_into_4_gib_and_an_hour(name):
    plan = resolve(load(name))
    check_extent(plan, 4 * GIB)
    assert long_run(plan) is None


@pytest.mark.parametrize(
    ("example", "keys", "told", "typed"),
    [
        ("chain", {"observe__sockets": "1 ms"}, "samples of sockets", "observe.sockets"),
        ("chain", {"observe__queues": "1 ms"}, "samples of sockets", "observe.queues"),
        ("chain", {"observe__packets": "all"}, "each of them stored", "observe.packets=changes"),
        ("starlink", {}, "changes of the link's delay and capacity", "access.jitter_step"),
        ("mobile", {}, "samples of fading", "samples_per_wavelength"),
        ("madrid-tokyo", {"routing__link_interval": "1 ms"}, "changes of links' delays", "routing.link_interval"),
        ("madrid-tokyo", {"routing__interval": "1 ms"}, "route updates", "routing.interval"),
    ],
)
def test_a_month_of_it_is_refused_with_its_largest_part_and_what_to_type(example, keys, told, typed):
    plan = of(example, run__duration="30 d", **keys)
    with pytest.raises(ScenarioError, match=told) as caught:
        check_extent(plan, 16 * GIB)
    assert "16 GiB are usable here" in caught.value.message
    assert typed in str(caught.value.hint)
    # With enough memory, only time matters.
    check_extent(of(example, run__duration="10 s", **keys), 16 * GIB)


def test_packets_of_a_month_are_refused_by_their_time():
    with pytest.raises(ScenarioError, match=r"days of a processor, and at most 30 are possible: up to .* packets"):
        check_extent(resolve(load("chain", CHAIN_OF_UDP | {"run.duration": "30 d"})), 1 << 60)
    plan = resolve(load("chain", CHAIN_OF_UDP | {"run.duration": "1000 s"}))
    check_extent(plan, 16 * GIB)
    # A flow sends 10 million probes per second and gets at most one reply per probe
    assert packets_of(plan) == pytest.approx(2e10)
    assert "hours of a processor" in str(long_run(plan))


def test_flows_of_one_source_share_its_link():
    one = of("chain")
    many = dataclasses.replace(one, flows=one.flows * 50)
    assert packets_of(many) <= packets_of(dataclasses.replace(one, flows=one.flows * 2)) * 2


def test_satellites_that_are_too_many_are_refused_whatever_the_machine():
    plan = resolve(load("madrid-tokyo"))
    shell = dataclasses.replace(plan.constellation, planes=1000, satellites_per_plane=1000)
    with pytest.raises(ScenarioError, match="1,000,000 satellites, and at most 200,000"):
        check_extent(dataclasses.replace(plan, medium=shell), 1 << 60)


def test_routers_that_do_not_fit_into_the_guest_are_refused_with_the_memory_that_they_need():
    plan = resolve(load("madrid-tokyo", {"network.instantiate": "all"}))
    check_extent(plan, 16 * GIB)
    shell = dataclasses.replace(plan.constellation, planes=100, satellites_per_plane=100)
    with pytest.raises(ScenarioError, match="10,000 satellites as routers") as caught:
        check_extent(dataclasses.replace(plan, medium=shell), 1 << 60)
    assert "guest.memory" in str(caught.value.hint)
    large = dataclasses.replace(plan.guest, memory_bytes=3 * GIB)
    check_extent(dataclasses.replace(plan, medium=shell, guest=large), 1 << 60)


def test_a_part_says_what_it_is_and_costs_something():
    for part in parts_of(of("madrid-tokyo")):
        assert part.memory_bytes >= 0
        assert part.cpu_s > 0
        assert part.hint
