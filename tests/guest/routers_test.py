# SPDX-License-Identifier: Apache-2.0
"""Tests nodes that only forward packets (guest/netns/routers.c): their memory, and the directories that are missing in
their namespaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLE = Path(__file__).parents[2] / "examples" / "madrid-tokyo.toml"
ALL = {"isl.rule": "plus-grid", "network.instantiate": "all", "run.duration": "1 s", "ground.rule": "min-elevation"}
OF_A_ROUTER_BYTES = 150_000


def memory_bytes(folder: Path, preset: str) -> int:
    run = lw.run(EXAMPLE, ALL | {"constellation.preset": preset}, folder, report=False, progress=False)
    return int(json.loads((run.path / "manifest.json").read_text())["costs"]["guest_peak_memory_bytes"])


def test_a_router_with_four_links_takes_no_more_than_150_kb(tmp_path):
    # with directories in /proc/sys and /sys, a node would need 225,000 bytes
    small, large = (memory_bytes(tmp_path / preset, preset) for preset in ("oneweb-study", "starlink-shell1"))
    assert (large - small) / (1584 - 648) < OF_A_ROUTER_BYTES


def test_hosts_keep_their_parameters(tmp_path):
    scenario = tmp_path / "scenario.toml"
    script = "cat /proc/sys/net/ipv4/ip_early_demux /proc/sys/net/ipv4/conf/l0/forwarding; ls /proc/sys/net/ipv4/conf"
    scenario.write_text(
        'name = "look"\n[run]\nduration = "1 s"\n[chain]\nhops = 2\ndelay = "1 ms"\nrate = "10 Mbit/s"\n'
        f'[[flows]]\nkind = "program"\nsource = "A"\ndestination = "B"\nclient = "sh -c \'{script}\'"\n'
    )
    run = lw.run(scenario, {}, tmp_path / "run", report=False, progress=False, trust=True)
    said = (run.path / "35-programs" / "0" / "client" / "stdout").read_text().split()
    assert said == ["1", "1", "all", "default", "l0", "lo"]
