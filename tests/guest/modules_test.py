# SPDX-License-Identifier: Apache-2.0
"""Tests how parameters of kernel modules are set, and which parameters are refused."""

import dataclasses
import re
from pathlib import Path

import pytest

from leowarp import guest, media, scenario
from leowarp.base import layout
from leowarp.base.errors import GuestError, ScenarioError
from leowarp.guest.user.modules import put_modules
from leowarp.scenario.text.key import InputFile

pytestmark = pytest.mark.guest

TEXT = """
name = "modules"
[run]
duration = "2 s"
[chain]
[[flows]]
kind = "tcp"
source = "A"
destination = "B"
congestion_control = "cubic"
"""


def plan_of(tmp_path: Path, modules: dict[str, dict[str, str]]):
    """Return a plan with these module parameters. The checks of a scenario are not made."""
    path = tmp_path / "scenario.toml"
    path.write_text(TEXT)
    return dataclasses.replace(scenario.resolve(scenario.load(path)), modules=modules)


def run(tmp_path: Path, plan) -> guest.GuestResult:
    return guest.run(guest.guest_image("default"), plan, media.timeline_of(plan), tmp_path)


def run_unchecked(tmp_path: Path, plan) -> guest.GuestResult:
    """Run a plan whose fault only the guest can find. leowarp cannot find the fault before the guest runs: it cannot
    inspect the kernel, or only the module can parse the parameter.
    """
    image = guest.guest_image("default")
    guest.write_input(plan, media.timeline_of(plan), tmp_path / "in")
    put_modules(guest.modules_of(plan, image), tmp_path / "in")
    return guest.drive(
        image, tmp_path, tmp_path / layout.CONSOLE, duration_ns=plan.run.duration_ns, seed=1,
        memory_bytes=plan.guest.memory_bytes,
    )  # fmt: skip


def test_a_parameter_changes_what_a_congestion_control_does(tmp_path):
    def at_the_end(modules) -> bytes:
        done = run(tmp_path, plan_of(tmp_path, modules))
        return (done.out_dir / "sockets.rec").read_bytes()

    usual = at_the_end({})
    assert at_the_end({"tcp_cubic": {"hystart": "1"}}) == usual
    assert at_the_end({"tcp_cubic": {"hystart": "0", "initial_ssthresh": "4"}}) != usual


@pytest.mark.parametrize(
    ("modules", "says", "hint"),
    [
        ({"tcp_cubic": {"betta": "1"}}, 'tcp_cubic.betta = "1": the module has no such parameter', "beta, "),
        ({"tcp_cubic": {"beta": "much"}}, 'tcp_cubic.beta = "much": the guest kernel refuses it', 'holds "717"'),
        ({"tcp_cuubic": {}}, "this guest kernel has no module of this name with parameters", "tcp_cubic"),
    ],
)
def test_what_cannot_be_set_is_said_with_what_there_is(tmp_path, modules, says, hint):
    with pytest.raises(GuestError) as raised:
        run_unchecked(tmp_path, plan_of(tmp_path, modules))
    assert says in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("modules", "says", "hint"),
    [
        ({"tcp_cubic": {"betta": "1"}}, "the module tcp_cubic has no parameter betta", "beta (int), "),
        ({"tcp_cubic": {"beta": "much"}}, "takes no such value for beta (int)", "a whole number from -2147483648 to"),
        ({"tcp_cubic": {"bic_scale": "1"}}, "does not let bic_scale be written", "take it out"),
        ({"tcp_cuubic": {}}, "this guest kernel has no module of this name with parameters", "tcp_cubic"),
    ],
)
def test_what_cannot_be_set_of_the_kernel_s_own_is_found_before_it_boots(tmp_path, modules, says, hint):
    with pytest.raises(ScenarioError) as raised:
        run(tmp_path, plan_of(tmp_path, modules))
    assert says in raised.value.message
    assert hint in raised.value.hint
    assert not (tmp_path / layout.CONSOLE).exists()


OWN = """
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <net/tcp.h>

static long origin_ns, gain;
module_param(origin_ns, long, 0644);
module_param(gain, long, 0644);
static long fixed;
module_param(fixed, long, 0444);

static void init(struct sock *sk)
{
	pr_emerg("own: gain %ld, %lld ns after the origin\\n", gain, ktime_get_ns() - origin_ns);
}

static struct tcp_congestion_ops ops = {
	.init = init, .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "mine",
};

static int __init add(void)
{
	return tcp_register_congestion_control(&ops);
}

static void __exit take_away(void)
{
	tcp_unregister_congestion_control(&ops);
}

module_init(add);
module_exit(take_away);
MODULE_LICENSE("GPL");
"""


@pytest.fixture
def own(tmp_path):
    """A function that makes a run with a user's module. The module contains the congestion control `mine`."""
    (tmp_path / "own.c").write_text(OWN)

    def make(congestion_control: str, parameters: str = "", run=run) -> str:
        text = TEXT.replace("cubic", congestion_control).replace("[chain]", '[chain]\n[guest]\ncc_modules = ["own.c"]')
        path = tmp_path / "scenario.toml"
        path.write_text(text + f'start = "0.5 s"\n[modules.own]\n{parameters}\n')
        run(tmp_path, scenario.resolve(scenario.load(path)).named_by_caller())
        return (tmp_path / layout.CONSOLE).read_text()

    return make


def test_a_module_of_one_s_own_gets_its_parameters_and_the_run_s_zero(own):
    # the module's flow starts at 0.5 s; the SYN-ACK arrives 20 ms later, and the kernel then calls the module's init
    found = re.search(r"own: gain 7, (\d+) ns after the origin", own("mine", 'gain = "7"'))
    assert found is not None
    assert 500_000_000 <= int(found[1]) < 530_000_000


@pytest.mark.parametrize(
    ("congestion_control", "parameters", "says", "hint"),
    [
        ("own", "", 'congestion_control = "own": this guest kernel does not', "module own registers mine; it has:"),
        ("mine", 'grain = "7"', 'modules.own.grain = "7": the module has no such', "it has: fixed, gain, origin_ns"),
        ("mine", 'fixed = "7"', "modules.own.fixed", "permissions 0644"),
    ],
)
def test_what_a_module_of_one_s_own_does_not_have_is_said(own, congestion_control, parameters, says, hint):
    with pytest.raises(GuestError) as raised:
        own(congestion_control, parameters, run_unchecked)
    assert says in raised.value.message
    assert hint in raised.value.hint


def test_a_file_that_is_no_module_is_named_with_the_kernel_s_words(tmp_path):
    plan = plan_of(tmp_path, {})
    file = InputFile(name="my_cc.c", sha256="0" * 64, path=tmp_path / "my_cc.c")
    plan = dataclasses.replace(plan, guest=dataclasses.replace(plan.guest, cc_modules=(file,)))
    guest.write_input(plan, media.timeline_of(plan), tmp_path / "in")
    (tmp_path / "in" / "modules").mkdir()
    (tmp_path / "in" / "modules" / "my_cc.ko").write_bytes(b"no module")
    with pytest.raises(GuestError, match="load the module my_cc: Exec format error") as raised:
        guest.drive(
            guest.guest_image("default"), tmp_path, tmp_path / "console.txt",
            duration_ns=plan.run.duration_ns, seed=1, memory_bytes=plan.guest.memory_bytes,
        )  # fmt: skip
    assert "--cc-module" in raised.value.hint
