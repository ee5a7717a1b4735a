# SPDX-License-Identifier: Apache-2.0
"""Tests that small packets above netem's limit cause a warning that names the limit. Full packets must cause no
warning."""

import pytest

from leowarp import ephemeris, media
from leowarp.running.street import netem_warnings
from leowarp.scenario import plan_of

SCENARIO = """
name = "second"
[run]
duration = "6 s"
[network]
link_model = "{model}"
[chain]
hops = 1
delay = "1 s"
rate = "100 Mbit/s"
queue = "{queue}"
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "{payload}"
rate = "32 Mbit/s"
"""


@pytest.mark.parametrize(
    ("model", "payload", "queue", "warned"),
    [
        # 40,000 datagrams are in flight; the limit is 100 plus the 8257 full packets of 1514 bytes in the delay line.
        ("netem", "100 B", "100 pkts", True),
        ("netem", "100 B", "40000 pkts", False),
        ("netem", "1000 B", "100 pkts", False),
        ("leolink", "100 B", "100 pkts", False),
    ],
)
def test_small_packets_beyond_the_limit_are_warned_of(tmp_path, model, payload, queue, warned):
    file = tmp_path / "second.toml"
    file.write_text(SCENARIO.format(model=model, payload=payload, queue=queue))
    plan = plan_of(file)
    sky = ephemeris.ephemeris_of(plan)
    found = netem_warnings(plan, media.timeline_of(plan, sky, media.routes_of(plan, sky)))
    assert ["netem's limit on a link is 8,357 packets" in text for text in found] == [True] * warned
