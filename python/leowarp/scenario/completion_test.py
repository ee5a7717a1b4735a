# SPDX-License-Identifier: Apache-2.0
"""Tests defaults outside `[access]` that are different if the medium is an access link."""

from leowarp.scenario import load, resolve
from leowarp.scenario.document import _GOVERNS
from leowarp.scenario.loading_test import write
from leowarp.scenario.media.access import ACCESS_PRESETS

ACCESS = """\
name = "access"
[access]
[[flows]]
source = "server"
destination = "dish"
"""


def test_an_access_link_has_defaults_of_its_own_in_other_sections(tmp_path):
    plan = resolve(load(write(tmp_path, ACCESS)))
    assert [(s.name, s.latitude_deg) for s in plan.stations] == [("dish", None), ("server", None)]
    assert (plan.run.duration_ns, plan.flows[0].stop_ns) == (60 * 10**9, 60 * 10**9)
    assert (plan.observe.packets_before_ns, plan.observe.packets_after_ns) == (100_000_000, 400_000_000)
    assert plan.tcp.buffer_max_bytes == 64 << 20
    assert {host.sysctl["net.ipv4.tcp_wmem"] for host in plan.hosts} == {f"4096 16384 {64 << 20}"}
    given = resolve(load(write(tmp_path, ACCESS), ["run.duration=5 s", "tcp.buffer_max=1 MiB"]))
    assert (given.run.duration_ns, given.tcp.buffer_max_bytes) == (5 * 10**9, 1 << 20)


def test_a_preset_of_an_access_link_set_on_a_plan_replaces_what_the_plan_spells_out(tmp_path):
    plan = resolve(load(write(tmp_path, ACCESS)))
    other = resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"), ["access.preset=off-peak"])).medium
    assert other == resolve(load(write(tmp_path, ACCESS), ["access.preset=off-peak"])).medium
    assert other != plan.medium
    governed = {key for preset in ACCESS_PRESETS.values() for key in preset.keys}
    assert set(_GOVERNS[("access", "preset")]) == governed | {"preset_file"}
