# SPDX-License-Identifier: Apache-2.0
"""Tests of the user's own modules and their parameters. They cover checks, values in the plan, and values from the
schedule of an access link."""

import hashlib
import shutil
from pathlib import Path

import pytest

from leowarp.base.layout import INPUTS
from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import problems_of, write

CHAIN = """\
name = "modules"
[chain]
[[flows]]
source = "A"
destination = "B"
{rest}
"""
ACCESS = """\
name = "modules"
[access]
clock = "2024-05-17T12:00:05.5Z"
[[flows]]
source = "server"
destination = "dish"
congestion_control = "bbr_handover"
[[flows]]
source = "server"
destination = "dish"
congestion_control = "cubic"
"""
SOURCE = "#include <net/tcp.h>\n"
OWN = 'congestion_control = "anything"\n[guest]\ncc_modules = ["cc/my_cc.c"]\n[modules.my_cc]\n{parameters}'


def chain(folder: Path, rest: str = "") -> Path:
    (folder / "cc").mkdir(exist_ok=True)
    write(folder / "cc", SOURCE, "my_cc.c")
    return write(folder, CHAIN.format(rest=rest))


def test_a_module_of_ones_own_is_an_input_with_its_hash_and_brings_any_congestion_control(tmp_path):
    path = chain(tmp_path, OWN.format(parameters='wait_ns = "35 ms"\nshift = "4"\n'))
    plan = resolve(load(path))
    (file,) = plan.guest.cc_modules
    assert (file.name, file.sha256) == ("my_cc.c", hashlib.sha256(SOURCE.encode()).hexdigest())
    assert plan.modules == {"my_cc": {"shift": "4", "wait_ns": "35000000"}}
    assert plan.flows[0].congestion_control == "anything"
    assert plan.inputs() == [tmp_path / "cc" / "my_cc.c"]
    text = plan.to_toml()
    assert '[modules.my_cc]\nshift = "4"\nwait_ns = "35 ms"\n' in text
    run = tmp_path / "run"
    (run / INPUTS).mkdir(parents=True)
    shutil.copy(file.path, run / INPUTS)
    assert resolve(load(write(run, text, "00-plan.toml"))) == plan
    write(run / INPUTS, "int changed;\n", "my_cc.c")
    assert [problem.key for problem in problems_of(run)] == ["guest.cc_modules"]


def test_a_module_without_parameters_is_told_to_the_guest_too(tmp_path):
    plan = resolve(load(chain(tmp_path, OWN.format(parameters=""))))
    assert plan.modules == {"my_cc": {}}
    assert resolve(load(chain(tmp_path), ["flows.0.congestion_control=cubic_handover"])).modules == {
        "cubic_handover": {}
    }
    assert resolve(load(chain(tmp_path))).modules == {}


def test_a_module_set_in_place_of_a_plans_has_a_hash_of_its_own(tmp_path):
    plan = resolve(load(chain(tmp_path, OWN.format(parameters=""))))
    write(tmp_path, "int other;\n", "other.c")
    (tmp_path / INPUTS).mkdir()
    path = write(tmp_path, plan.to_toml().replace("\n[modules.my_cc]\n", "\n"), "plan.toml")
    other = resolve(load(path, [f'guest.cc_modules=["{tmp_path / "other.c"}"]']))
    assert [file.sha256 for file in other.guest.cc_modules] == [hashlib.sha256(b"int other;\n").hexdigest()]


def test_a_kernel_of_ones_own_may_have_any_module(tmp_path):
    path = chain(tmp_path, '[guest]\nkernel = "/somewhere/linux"\n[modules.tcp_bbr3]\nx = "1"\n')
    assert resolve(load(path)).modules == {"tcp_bbr3": {"x": "1"}}


@pytest.mark.parametrize(
    ("rest", "key", "said"),
    [
        ("[modules.bbr_handovr]", "modules.bbr_handovr", 'did you mean "bbr_handover"'),
        ('[modules."a/b"]', "modules.a/b", "is not the name of a kernel module"),
        ('[modules]\ntcp_cubic = "x"', "modules.tcp_cubic", "[modules.tcp_cubic]"),
        ("[modules.tcp_cubic]\nbeta = 717", "modules.tcp_cubic.beta", 'write beta = "1", value in quotes'),
        ('[modules.tcp_cubic]\n"a b" = "1"', "modules.tcp_cubic.a b", "not the name of a parameter"),
        ('[modules.cubic_handover]\nphase_ns = "12"', "modules.cubic_handover.phase_ns", "has no unit"),
        ("[modules.cubic_handover]\nphase_ns = 12", "modules.cubic_handover.phase_ns", "bare number"),
        ('[modules.cubic_handover]\nphase_ns = "-1 s"', "modules.cubic_handover.phase_ns", "out of range"),
        ('[modules.cubic_handover]\norigin_ns = "1 s"', "modules.cubic_handover.origin_ns", "written by the guest"),
        ('[guest]\ncc_modules = "my_cc.c"', "guest.cc_modules", 'write ["one.c"], in brackets'),
        ('[guest]\ncc_modules = ["cc/my_cc.ko"]', "guest.cc_modules", "is not a C file"),
        ('[guest]\ncc_modules = ["cc/my-cc.c"]', "guest.cc_modules", "letters, digits and _"),
        ('[guest]\ncc_modules = ["cc/bbr_handover.c"]', "guest.cc_modules", "has a module bbr_handover already"),
        ('[guest]\ncc_modules = ["cc/my_cc.c", "my_cc.c"]', "guest.cc_modules", "two modules called my_cc"),
        ('[guest]\ncc_modules = ["gone.c"]', "guest.cc_modules", 'there is no file "gone.c"'),
        ('[guest]\ncc_modules = ["cc/my_cc.c"]\ncc_modules_sha256 = []', "guest.cc_modules_sha256", "has 0 sha256"),
        ('[guest]\ncc_modules = ["cc/my_cc.c"]\ncc_modules_sha256 = ["0"]', "guest.cc_modules_sha256", "64 hexa"),
        ('congestion_control = "my_own"', "flows.0.congestion_control", "guest.cc_modules"),
    ],
)
def test_a_mistake_names_its_key_and_its_cure(tmp_path, rest, key, said):
    problems = problems_of(chain(tmp_path, rest))
    assert [problem.key for problem in problems] == [key]
    assert said in str(problems[0])


def test_modules_is_a_table(tmp_path):
    path = write(tmp_path, "modules = 3\n" + CHAIN.format(rest=""))
    assert [(problem.key, problem.rule) for problem in problems_of(path)] == [("modules", "is not a table")]


def test_what_knows_of_handovers_is_told_an_access_links_schedule(tmp_path):
    plan = resolve(load(write(tmp_path, ACCESS)))
    # At the run's time 0 it is 12:00:05.5; the first reconfiguration is at 12:00:12.
    assert plan.modules == {"bbr_handover": {"period_ns": str(15 * 10**9), "phase_ns": str(6_500_000_000)}}
    path = write(tmp_path, plan.to_toml(), "plan.toml")
    assert resolve(load(path)) == plan
    moved = resolve(load(path, ["access.clock=2024-05-17T12:00:13Z", "access.period=10 s"]))
    # With a phase of 12 s, reconfigurations are at 12:00:12 and 12:00:22. The second one is 9 s after the run's start
    # at 12:00:13.
    assert moved.modules["bbr_handover"] == {"period_ns": str(10 * 10**9), "phase_ns": str(9 * 10**9)}
    wrong = resolve(load(path, ["modules.bbr_handover.phase_ns=1 s", "access.phase=3 s"]))
    assert wrong.modules["bbr_handover"]["phase_ns"] == str(10**9), "one's own value stands"
