# SPDX-License-Identifier: Apache-2.0
"""Tests flows of the kind `program`: keys, defaults, and mistakes."""

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve

SCENARIO = """\
name = "programs"
[run]
duration = "10 s"
{run}
[chain]
[[flows]]
kind = "program"
source = "A"
destination = "B"
{keys}
"""
CLIENT = 'client = "iperf3 -c {server} -p {port}"'


def plan_of(folder, keys: str, run: str = "", overrides=()):
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(keys=keys, run=run), encoding="utf-8")
    return resolve(load(path, overrides))


def test_a_program_has_defaults_and_none_of_the_other_kinds_keys(tmp_path):
    flow = plan_of(tmp_path, CLIENT + '\nserver = "iperf3 -s"').flows[0]
    assert (flow.client_at, flow.client_after_ns, flow.port, flow.storage_bytes, flow.expect_exit) == (
        "source", 500_000_000, 5201, 64 << 20, 0,
    )  # fmt: skip
    assert (flow.congestion_control, flow.size_bytes, flow.payload_bytes, flow.replies) == (None, None, None, None)
    assert plan_of(tmp_path, CLIENT).flows[0].client_after_ns == 0, "without a server there is none to wait for"


def test_a_plan_of_programs_gives_itself(tmp_path):
    keys = (
        CLIENT
        + """
server = "sh -c 'exec \\"iperf3\\" -s'"
environment = { B = "{run_dir}/x", A = "1 2" }
directory = "/usr"
rootfs = "/srv/root"
expect_exit = "stopped"
client_at = "destination"
storage = "1 MiB"
"""
    )
    plan = plan_of(tmp_path, keys)
    assert (plan.flows[0].expect_exit, list(plan.flows[0].environment)) == (None, ["A", "B"])
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(), encoding="utf-8")
    again = resolve(load(path))
    assert again == plan
    assert again.to_toml() == plan.to_toml()


def test_braces_of_the_programs_own_stay(tmp_path):
    command = "curl -w '%{serve} ${port_} {any}'"
    assert plan_of(tmp_path, f'client = "{command}"').flows[0].client == command


def test_who_names_a_program_is_known_and_no_part_of_the_plan(tmp_path):
    plan = plan_of(tmp_path, CLIENT)
    assert plan.flows[0].named_in == tmp_path / "scenario.toml"
    assert plan.named_by_caller().flows[0].named_in is None
    assert plan.named_by_caller() == plan
    # If a file names the client or the server, the whole flow is treated as named by that file.
    changed = plan_of(tmp_path, CLIENT + '\nserver = "a"', overrides=['flows.0.client="ls"'])
    assert changed.flows[0].named_in == tmp_path / "scenario.toml"
    assert plan_of(tmp_path, CLIENT, overrides=['flows.0.client="ls"']).flows[0].named_in is None


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("", "flows.0.client: is missing"),
        ('client = ""', "names no program"),
        ('client = "sh -c \'a"', "No closing quotation"),
        ('client = "a\\nb"', "control characters"),
        ("client = 3", "is not a string"),
        ('client = "a {serve}"', r"\{serve\} stands for nothing.*did you mean \{server\}"),
        (CLIENT + '\ncongestion_control = "bbr"', "is a key of tcp, and this flow is program"),
        (CLIENT + '\nclient_after = "1 s"', "the flow has no server to wait for"),
        (CLIENT + '\nserver = "a"\nstart = "9.9 s"', "after the start the flow has stopped"),
        (CLIENT + '\ndirectory = "www"', "is not an absolute path"),
        (CLIENT + '\nrootfs = "../root"', "is not an absolute path"),
        (CLIENT + '\nenvironment = { "A B" = "1" }', "is not the name of a variable"),
        (CLIENT + "\nenvironment = { A = 1 }", "is not a string"),
        (CLIENT + "\nexpect_exit = 256", "out of range"),
        (CLIENT + "\nport = 0", "out of range"),
    ],
)
def test_what_is_wrong_with_a_program_is_said(tmp_path, keys, says):
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        plan_of(tmp_path, keys)


def test_a_key_of_programs_is_refused_in_other_flows(tmp_path):
    with pytest.raises(ScenarioError, match="is a key of program, and this flow is tcp"):
        plan_of(tmp_path, CLIENT + '\n[[flows]]\nsource = "A"\ndestination = "B"\nclient = "true"')


def test_a_run_may_end_with_a_client_but_not_with_one_that_never_ends(tmp_path):
    assert plan_of(tmp_path, CLIENT, 'ends = "flows"').run.ends == "flows"
    with pytest.raises(ScenarioError, match="no flow has an end of its own"):
        plan_of(tmp_path, CLIENT + '\nexpect_exit = "stopped"', 'ends = "flows"')


def test_packets_of_programs_carry_no_tag_of_their_path(tmp_path):
    text = '[routing]\nin_flight = "source"\n'
    path = tmp_path / "scenario.toml"
    path.write_text(
        'name = "x"\n[constellation]\npreset = "oneweb-study"\n[[stations]]\nname = "Madrid"\n[[stations]]\n'
        f'name = "Tokyo"\n{text}[[flows]]\nkind = "program"\nsource = "Madrid"\ndestination = "Tokyo"\n'
        'client = "true"\n'
    )
    with pytest.raises(ScenarioError, match="packets of programs cannot carry the tag"):
        resolve(load(path))
