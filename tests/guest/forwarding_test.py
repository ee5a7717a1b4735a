# SPDX-License-Identifier: Apache-2.0
"""Tests that direct forwarding and the kernel's forwarding give the same records of random networks, byte for byte."""

import json

import pytest

import leowarp as lw
from leowarp import guest
from support.networks import EXAMPLE, FORWARDING, Network, any_network, records

pytestmark = pytest.mark.guest

SHORT_NS = 1_500_000_000


# only a few networks, because tools/forwarding.py compares hundreds
@pytest.mark.parametrize(
    ("in_flight", "seeds"),
    [("drain", range(0, 16)), ("drop", range(30, 38)), ("source", range(55, 63)), ("drain", range(80, 88))],
    ids=["drain", "drop", "source", "loops"],
)
def test_both_ways_of_forwarding_give_the_same_records(tmp_path, in_flight, seeds, request):
    has_loop = "loops" in request.node.name
    assert not differing(tmp_path, [Network(seed, in_flight, SHORT_NS, has_loop) for seed in seeds])


def test_a_packet_that_arrives_while_its_link_queues_another_is_put_in_order_by_both_ways(tmp_path):
    # In this network, two packets arrive at the instant at which a station stops waiting for missing packets. The
    # station then releases packets. The acknowledgements of these packets reach links whose first packets arrive at the
    # same instant.
    assert not differing(tmp_path, [Network(329, "drain", duration_s * 10**9, has_loop=True) for duration_s in (2, 4)])


def test_errors_that_routers_send_pass_a_station_that_numbers_packets(tmp_path):
    # In a forwarding loop, routers send ICMP errors. Routers have no address, so the source address of these errors
    # belongs to no host.
    assert not differing(tmp_path, [Network(13, "drain", SHORT_NS, has_loop=True)])


def test_both_ways_give_the_same_records_of_networks_of_any_kind_and_duration(tmp_path):
    # tools/forwarding.py compares more networks than this test does
    assert not differing(tmp_path, [any_network(seed) for seed in range(1000, 1006)])


def differing(directory, networks):
    """Return the networks for which the records of direct forwarding and of the kernel's forwarding differ."""
    image = guest.guest_image("default")
    different = []
    for number, network in enumerate(networks):
        direct, kernel = (records(image, network, name, directory / f"{number}-{name}") for name in FORWARDING)
        assert network.has_loop or json.loads(direct["end.json"])["ok"]
        if direct != kernel:
            different.append(network)
    return different


# With netem, packets come from the kernel's backlog, and only the node itself forwards them directly.
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("madrid-tokyo", {"network.link_model": "netem", "run.duration": "20 s"}),
        ("jittered-transfer", {"flows.0.size": "20 MB", "observe.truth": True, "observe.packets": "all"}),
        ("jittered-probe", {"run.duration": "20 s"}),
    ],
)
def test_both_ways_of_forwarding_give_the_same_trace_over_netem(tmp_path, name, changes):
    direct, kernel = (
        lw.run(
            EXAMPLE.with_stem(name), changes | {"network.forwarding": way}, tmp_path / way, report=False, progress=False
        )
        for way in ("direct", "kernel")
    )
    files = sorted((direct.path / "30-trace").glob("*.parquet"))
    assert len(files) > 10
    for file in files:
        assert file.read_bytes() == (kernel.path / "30-trace" / file.name).read_bytes(), file.name
