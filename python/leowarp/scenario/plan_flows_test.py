# SPDX-License-Identifier: Apache-2.0
"""Tests the flows of a plan: TCP profiles, the keys of each kind of flow, names, and replaced values."""

import dataclasses

from leowarp.scenario import load, resolve, schema
from leowarp.scenario.loading_test import GOOD, write
from leowarp.scenario.plan_test import ELEMENTS, JITTERED, again, write_inputs


def test_profiles_differ_in_what_their_names_say():
    from leowarp.scenario.network.profiles import host_sysctls

    def of(profile: str) -> dict[str, str]:
        return {name.removeprefix("net.ipv4.tcp_"): v for name, v in host_sysctls(schema.Tcp(profile=profile)).items()}

    linux, norack, classic, newreno = (of(profile) for profile in schema.PROFILES)
    assert set(norack.items()) - set(linux.items()) == {("recovery", "0"), ("max_reordering", "3")}
    assert set(classic.items()) - set(norack.items()) == {("timestamps", "0"), ("dsack", "0")}
    assert set(newreno.items()) - set(classic.items()) == {("sack", "0"), ("frto", "0")}
    assert linux["no_metrics_save"] == "1"
    assert linux["rmem"] == "4096 131072 16777216"


def test_ones_own_sysctls_win_over_the_profile(tmp_path):
    text = GOOD + '[tcp.sysctl]\nnet.ipv4.tcp_reordering = "30"\n"net.ipv4.tcp_max_reordering" = "1000"\n'
    plan = resolve(load(write(tmp_path, text)))
    assert plan.hosts[1].sysctl["net.ipv4.tcp_reordering"] == "30"
    assert plan.tcp.sysctl == {"net.ipv4.tcp_max_reordering": "1000", "net.ipv4.tcp_reordering": "30"}


def test_flows_have_only_the_keys_of_their_kind(tmp_path):
    write(tmp_path, "1 25544U\n", "some.tle")
    ping, udp = resolve(load(write(tmp_path, ELEMENTS))).flows
    assert (ping.congestion_control, ping.interval_ns, ping.payload_bytes) == (None, 10**9, 56)
    assert (udp.rate_bps, udp.interval_ns, udp.payload_bytes, udp.stop_ns) == (1_500_000, None, 1200, 20_500_000_000)


def test_a_rate_of_packets_takes_the_place_of_interval_and_rate(tmp_path):
    write_inputs(tmp_path)
    _, ping, udp = resolve(load(write(tmp_path, JITTERED))).flows
    assert (ping.packet_rate_pkts_per_s, ping.interval_ns, ping.packets, ping.replies) == (8235.0, None, 65535, False)
    assert (udp.packet_rate_pkts_per_s, udp.rate_bps, udp.packets, udp.replies) == (0.5, None, None, None)


def test_a_flows_pace_set_on_a_plan_replaces_the_one_that_the_plan_spells_out(tmp_path):
    write_inputs(tmp_path)
    plan = resolve(load(write(tmp_path, JITTERED)))
    other = again(tmp_path, plan, ["flows.1.interval=10 ms", "flows.2.rate=1 Mbit/s"]).flows
    assert [(flow.packet_rate_pkts_per_s, flow.interval_ns, flow.rate_bps) for flow in other[1:]] == [
        (None, 10_000_000, None),
        (None, None, 1_000_000),
    ]
    (tmp_path / "run" / "00-plan.toml").unlink()
    back = again(tmp_path, dataclasses.replace(plan, flows=other), ["flows.1.packet_rate=5 pkts/s"]).flows[1]
    assert (back.packet_rate_pkts_per_s, back.interval_ns) == (5.0, None)


def test_a_distribution_set_on_a_plan_takes_its_table_away(tmp_path):
    write_inputs(tmp_path)
    plan = resolve(load(write(tmp_path, JITTERED)))
    assert plan.inputs() == [tmp_path / "delays.txt"]
    normal = again(tmp_path, plan, ["jittered.distribution=normal"]).medium
    assert normal is not None
    assert (normal.distribution, normal.table) == ("normal", None)
    same = again(tmp_path, plan, ["jittered.distribution=table"])
    assert same == plan
    write(tmp_path / "run", "5\n6\n", "others.txt")
    changed = again(tmp_path, plan, [f"jittered.table={tmp_path}/run/others.txt", "jittered.jitter=0 s"]).medium
    assert changed is not None
    assert changed.table is not None
    assert (changed.table.name, changed.jitter_ns) == ("others.txt", 0)


def test_a_plan_keeps_the_names_of_flows_and_without_them_it_is_the_text_that_it_was(tmp_path):
    plain = resolve(load(write(tmp_path, GOOD)))
    assert "name" not in plain.to_toml()[plain.to_toml().index("[[flows]]") :].partition("\n\n")[0]
    named = resolve(load(write(tmp_path, GOOD), {"flows.0.name": "upload"}))
    assert again(tmp_path, named).flows[0].name == "upload"
    assert named.to_toml().replace('name = "upload"\n', "") == plain.to_toml()
