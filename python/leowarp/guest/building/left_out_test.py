# SPDX-License-Identifier: Apache-2.0
"""Tests of objects that do not fit a kernel tree. guest/build.sh runs on a tree of a few files. The tests also check
the effect on a plan."""

import hashlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from leowarp import scenario
from leowarp.base.errors import ScenarioError
from leowarp.guest.building import left_out

GUEST = Path(__file__).resolve().parents[4] / "guest"
# A tree whose make behaves like kbuild for build.sh. O= names the build directory, and M= names the directory of other
# objects. leowarp's objects are compiled from stand-ins, so that each test determines what an object uses.
MAKEFILE = r"""
.PHONY: allnoconfig prepare modules_prepare modules vmlinux_o linux
allnoconfig:
	grep '^CONFIG_' $(KCONFIG_ALLCONFIG) | grep -vxF -f refused > $(O)/.config
	cat added >> $(O)/.config
prepare modules_prepare modules: ;
arch/um/kernel/time.o:
	mkdir -p $(O)/arch/um/kernel
	gcc -c -o $(O)/$@ time.c
kernel/time/timer.o:
	mkdir -p $(O)/kernel/time
	gcc -c -o $(O)/$@ timer.c
arch/um/os-Linux/signal.o:
	mkdir -p $(O)/arch/um/os-Linux
	gcc -c -o $(O)/$@ pending.c
arch/x86/um/signal.o:
	mkdir -p $(O)/arch/x86/um
	gcc -c -o $(O)/$@ signal.c
vmlinux_o:
	gcc -r -nostdlib -o $(O)/vmlinux.o $(O)/arch/um/kernel/time.o
linux:
	gcc -no-pie -o $(O)/$@ $(O)/arch/um/kernel/time.o $(wildcard $(O)/arch/x86/um/signal.o) $(LINK_WRAPS)
%.o:
	gcc -Werror=implicit-function-declaration -c -o $(M)/$@ ours/$*.c
"""
TIME = "static long time_travel_time, timer_clockevent; long init_task, cpu_tasks;\n"
TIME += "int main(void) { return time_travel_time + timer_clockevent; }\n"
LINKED = [entry for entry in tomllib.loads((GUEST / "overrides.toml").read_text())["override"] if "known_by" in entry]
KNOWN_BY = {
    entry["name"]: entry["known_by"]
    for entry in LINKED
    if entry.get("compiled") != "host" and not entry.get("only_6_12")
}
# The object in `PLANTED`, which the tests add, declares a structure of the kernel a second time; leowarp's own objects
# avoid this if possible.
PLANTED = """
[[override]]
name = "planted"
purpose = "time"
parts = ["clock/planted.c"]
known_by = "planted_register"
changes = "nothing"
without = "a test fails"
test = "left_out_test.py"
page = "none"

[[override.copies]]
file = "kernel/base.c"
struct = "base"
sha256 = "{}"
"""
BASE = "struct base {\n\tint lock;\t/* first */\n\tlong clk;\n};\n"
# `OWED` takes the place of an object that is linked only into Linux 6.12. The kernel's function that the object
# replaces is still in the kernel, under another name.
OWED = "const char leowarp_owed_is_paid = 1;\nvoid leowarp_kernels_setup_signal_stack_si(void);\n"
OWED += "void setup_signal_stack_si(void) { leowarp_kernels_setup_signal_stack_si(); }\n"


@pytest.fixture
def tree(tmp_path) -> Path:
    """Return a tree with which all objects compile and link. Tests change the tree."""
    top = tmp_path / "tree"
    (top / "ours").mkdir(parents=True)
    (top / "Makefile").write_text(MAKEFILE)
    (top / "Kconfig").write_text("config NET\n\tbool\n\nmenuconfig PREEMPT_NONE\n\tbool\n")
    (top / "time.c").write_text(TIME)
    (top / "timer.c").write_text("static long timer_bases; long any_timer(void) { return timer_bases; }\n")
    (top / "pending.c").write_text("static unsigned int signals_pending; int any(void) { return signals_pending; }\n")
    (top / "signal.c").write_text("void setup_signal_stack_si(void) {}\n")
    (top / "ours" / "owed.c").write_text(OWED)
    (top / "refused").write_text("")
    (top / "added").write_text("")
    for name, function in KNOWN_BY.items():
        (top / "ours" / f"{name}.c").write_text(f"void {function}(void) {{}}\n")
    return top


def build(tree: Path, *choice: str, planted: str = "", extra: tuple[str, ...] = ()) -> tuple[int, str, Path]:
    """Return the exit status and output of build.sh, and the directory that build.sh filled."""
    recipe = tree.parent / "recipe"
    if not recipe.exists():
        shutil.copytree(GUEST, recipe)
        (recipe / "module" / "pack.sh").write_text('touch "$4"\n')
        for name in extra:
            (recipe / "clock" / f"{name}.c").write_text("")
        listed = (recipe / "overrides.toml").read_text()
        # The small tree has no structures that objects could copy, so the tables `override.copies` are removed from
        # overrides.toml.
        (recipe / "overrides.toml").write_text(re.sub(r"\[\[override.copies\]\]\n(\S+ = .*\n)+", "", listed) + planted)
    out = tree.parent / "out"
    command = ["sh", str(recipe / "build.sh"), *choice, str(tree), str(tree.parent / "build"), str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout, out


@pytest.mark.parametrize("choice", [(), ("--leave-out",)])
def test_a_tree_that_takes_everything_is_built_whole(tree, choice):
    status, said, out = build(tree, *choice)
    assert status == 0, said
    assert left_out.read(out) == {}
    symbols = {line.split()[2] for line in (out / "symbols.txt").read_text().splitlines()}
    assert symbols >= {"time_travel_time", "__wrap_getrandom", "leowarp_calls", *KNOWN_BY.values()}
    assert ("leowarp_kernels_setup_signal_stack_si" in symbols) == (choice == ())


@pytest.mark.slow
def test_an_object_that_does_not_compile_is_left_out_with_the_compilers_first_error(tree):
    (tree / "ours" / "bbr_handover.c").write_text("int x = unknown_here;\nint y = neither_here;\n")
    status, said, _ = build(tree)
    assert status != 0
    assert "unknown_here" in said
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    ((name, why),) = left_out.read(out).items()
    assert name == "bbr_handover"
    assert "bbr_handover.c:1:9: error: " in why
    assert "unknown_here" in why
    assert str(tree.parent) not in why, "no path of this machine gets into a manifest"
    assert "bbr_handover_main" not in (out / "symbols.txt").read_text()


@pytest.mark.slow
def test_an_object_that_uses_what_the_tree_does_not_have_is_left_out(tree):
    (tree / "ours" / "clock.c").write_text("extern int gone; void clock_register(void) { gone = 1; }\n")
    uses = (
        "extern long time_travel_time; void clock_register(void); void leolink_register(void) { time_travel_time = 1; }"
    )
    (tree / "ours" / "leolink.c").write_text(uses + "\n")
    assert build(tree)[0] != 0
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    assert left_out.read(out) == {"clock": "this tree does not have gone"}
    assert "leolink_register" in (out / "symbols.txt").read_text()


@pytest.mark.slow
def test_an_object_that_copies_a_structure_is_refused_for_a_tree_whose_structure_differs(tree):
    expected = hashlib.sha256(b"struct base { int lock; long clk; }").hexdigest()
    planted = PLANTED.format(expected)
    (tree / "ours" / "planted.c").write_text("void planted_register(void) {}\n")
    (tree / "kernel").mkdir()
    (tree / "kernel" / "base.c").write_text(BASE)
    status, said, out = build(tree, planted=planted, extra=("planted",))
    assert status == 0, said
    assert "planted_register" in (out / "symbols.txt").read_text()
    # In the changed tree, the structure has a new first member. With the old copy of the structure, the object would
    # still compile and link, but write to the wrong word.
    (tree / "kernel" / "base.c").write_text(BASE.replace("int lock", "int before; int lock"))
    status, said, _ = build(tree)
    assert status != 0
    assert "kernel/base.c has another struct base" in said
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    assert left_out.read(out)["planted"].startswith("kernel/base.c has another struct base, which it copies")
    assert "planted_register" not in (out / "symbols.txt").read_text()


@pytest.mark.slow
def test_an_option_that_a_tree_does_not_know_is_left_out(tree):
    (tree / "refused").write_text("CONFIG_TCP_CONG_YEAH=y\n")
    assert build(tree)[0] != 0
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    assert left_out.read(out) == {"CONFIG_TCP_CONG_YEAH": "this tree has no such option"}


@pytest.mark.parametrize(
    ("refused", "added"),
    [
        ("CONFIG_UML_TIME_TRAVEL_SUPPORT=y", ""),
        ("CONFIG_HIGH_RES_TIMERS=y", ""),
        ("CONFIG_NET=y", ""),  # The tree's Kconfig knows the option, but does not accept it.
        ("CONFIG_PREEMPT_NONE=y", "CONFIG_PREEMPTION=y"),
    ],
)
def test_a_tree_over_which_a_run_would_measure_something_else_is_refused(tree, refused, added):
    (tree / "refused").write_text(refused + "\n")
    (tree / "added").write_text(added + "\n")
    status, said, _ = build(tree, "--leave-out")
    assert status != 0
    assert f"and a run needs: {refused}" in said


@pytest.mark.slow
def test_voluntary_preemption_will_do(tree):
    (tree / "refused").write_text("CONFIG_PREEMPT_NONE=y\n")
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    assert left_out.read(out) == {"CONFIG_PREEMPT_NONE": "this tree has no such choice"}


CHAIN = """
name = "chain"
[run]
duration = "1 s"
[chain]
hops = 1
delay = "10 ms"
rate = "10 Mbit/s"
queue = "100 pkts"
[[flows]]
source = "A"
destination = "B"
congestion_control = "cubic"
"""


@pytest.mark.parametrize(
    ("lacks", "changes", "says"),
    [
        ("bbr_handover", ["flows.0.congestion_control=bbr_handover"], 'flows.0.congestion_control = "bbr_handover"'),
        ("delack", ["tcp.delayed_ack=on"], "tcp.delayed_ack"),
        ("loss_detection", ["tcp.loss_detection=pr"], "tcp.loss_detection"),
        ("leolink", [], "network.link_model"),
    ],
)
def test_a_plan_that_asks_for_what_was_left_out_is_refused_with_the_reason(tmp_path, lacks, changes, says):
    (tmp_path / "chain.toml").write_text(CHAIN)
    plan = scenario.resolve(scenario.load(tmp_path / "chain.toml", changes))
    facts = {"source": "a tree of the user's own, Linux 6.12.7", "left_out": {lacks: "its.c:1:1: error: why not"}}
    with pytest.raises(ScenarioError) as caught:
        left_out.check_fits(plan, facts)
    assert says in caught.value.message
    assert "its.c:1:1: error: why not" in caught.value.message
    other = {**facts, "left_out": {"cubic_handover": "", "CONFIG_NET_SCH_PIE": ""}}
    left_out.check_fits(plan, other)


def test_a_plan_that_asks_a_kernel_of_the_shelf_for_what_it_is_without_is_refused_before_it_is_built(tmp_path):
    (tmp_path / "chain.toml").write_text(CHAIN)
    changes = ["guest.kernel=stock", "network.link_model=netem"]
    left_out.check_fits(scenario.resolve(scenario.load(tmp_path / "chain.toml", changes)))
    plan = scenario.resolve(scenario.load(tmp_path / "chain.toml", [*changes, "tcp.delayed_ack=on"]))
    with pytest.raises(
        ScenarioError, match=r'tcp\.delayed_ack = "on" needs .*\(the kernel "stock" is without it\)'
    ) as caught:
        left_out.check_fits(plan)
    assert caught.value.hint == "give tcp.delayed_ack another value, or take the default kernel"
    for kernel in ("default", "plain"):
        asking = ["tcp.delayed_ack=on", f"guest.kernel={kernel}"]
        left_out.check_fits(scenario.resolve(scenario.load(tmp_path / "chain.toml", asking)))


@pytest.mark.parametrize("kernel", ["default", "plain", "stock", "6.12+bbr3"])
@pytest.mark.parametrize(
    ("change", "lacks"),
    [("network.family=ipv6", "it has no IPv6"), ("flows.0.protocol=mptcp", "it has no Multipath TCP")],
)
def test_a_kernel_of_the_shelf_without_ipv6_or_multipath_tcp_refuses_it(tmp_path, kernel, change, lacks):
    (tmp_path / "chain.toml").write_text(CHAIN)
    changes = [change, "network.link_model=netem"]
    left_out.check_fits(scenario.resolve(scenario.load(tmp_path / "chain.toml", changes)))
    plan = scenario.resolve(scenario.load(tmp_path / "chain.toml", [*changes, f"guest.kernel={kernel}"]))
    with pytest.raises(ScenarioError, match=lacks) as caught:
        left_out.check_fits(plan)
    assert caught.value.hint == 'write --kernel 6.12+net, or guest.kernel = "6.12+net"'


@pytest.mark.parametrize("cure", ["hold=true", "duplicate=20 ms", "move_queue=kept", "resequence=flow", "notify=true"])
def test_each_cure_asks_for_the_cures_and_a_run_without_any_does_not(cure):
    facts = {"source": "a tree", "left_out": {"cures": "leolink_hold.c:1:1: error: why not"}}
    example = GUEST.parent / "examples" / "madrid-tokyo.toml"
    left_out.check_fits(scenario.resolve(scenario.load(example)), facts)
    plan = scenario.resolve(scenario.load(example, [f"cures.{cure}"]))
    with pytest.raises(
        ScenarioError, match=rf"cures\.{cure.partition('=')[0]} needs leowarp's cures.*why not"
    ) as caught:
        left_out.check_fits(plan, facts)
    assert caught.value.hint == f"give cures.{cure.partition('=')[0]} another value, or take the default kernel"


@pytest.mark.parametrize("lacking", ["cures", "leolink"])
def test_what_needs_an_object_that_is_left_out_is_left_out_too(tree, lacking):
    (tree / "ours" / f"{lacking}.c").write_text("int x = unknown_here;\n")
    status, said, out = build(tree, "--leave-out")
    assert status == 0, said
    without = left_out.read(out)
    needing = {"cures": set(), "leolink": {"cures", "direct", "sockets"}}[lacking]
    assert without.keys() == {lacking} | needing
    assert {without[name] for name in needing} <= {"it needs leolink, which is left out"}


def test_netem_needs_no_leolink(tmp_path):
    (tmp_path / "chain.toml").write_text(CHAIN)
    plan = scenario.resolve(scenario.load(tmp_path / "chain.toml", ["network.link_model=netem"]))
    facts = {"source": "a binary of the user's own", "left_out": {"leolink": "its program does not name it"}}
    left_out.check_fits(plan, facts)
