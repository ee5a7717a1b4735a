# SPDX-License-Identifier: Apache-2.0
"""Tests congestion controls of users: a module that works, and modules with each kind of fault."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import leowarp as lw
from leowarp import guest, media
from leowarp.base.errors import GuestError, ScenarioError
from leowarp.guest.building.cache import cache_root
from leowarp.guest.user.boot_input import put_input
from leowarp.guest.user.modules import ARCHIVE, compiled
from leowarp.running.by_hand import shell
from leowarp.scenario import plan_of
from leowarp.study import run_study

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-congestion-control.md"
EXAMPLE = (EXAMPLES / "mild_reno.c").read_text()


def module(tmp_path: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Write the source of the example's module with another name and some replaced texts."""
    text = EXAMPLE.replace("mild_reno", name)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{name}.c"
    path.write_text(text)
    return path


def run(tmp_path: Path, source: Path, control: str | None = None, **changed: str):
    settings = {"guest.cc_modules": [str(source)], "flows.0.congestion_control": control or source.stem}
    settings |= {"run.duration": "5 s"} | changed
    return lw.run(EXAMPLES / "chain.toml", settings, tmp_path / "run", report=False, progress=False)


def programs_in(directory: Path) -> list[str]:
    """Return the commands of the processes whose working directory is `directory` or below it."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(os.readlink(f"/proc/{entry}/cwd")).is_relative_to(directory.resolve()):
                found.append(Path(f"/proc/{entry}/cmdline").read_text())
        except OSError:
            continue
    return found


def half_done() -> list[Path]:
    return [path for kind in ("module", "module-tree") for path in cache_root().glob(f"{kind}/*.tmp-{os.getpid()}")]


def fails(tmp_path: Path, source: Path, control: str | None = None) -> GuestError:
    """Make a run that fails in the guest, and return its error. Also check that the run is marked as failed, and that
    no process remains."""
    with pytest.raises(GuestError) as caught:
        run(tmp_path, source, control)
    marker = tmp_path / "run" / "INCOMPLETE"
    assert caught.value.message in marker.read_text()
    assert not (tmp_path / "run" / "summary.json").exists()
    assert programs_in(tmp_path) == []
    return caught.value


def test_the_example_keeps_the_share_of_its_window_that_its_parameter_says(tmp_path):
    made = lw.run(
        EXAMPLES / "mild-reno.toml", {"observe.sockets": "10 ms"}, tmp_path / "run", report=False, progress=False
    )
    sockets = made.sockets()
    reductions = sockets[(sockets.ssthresh_pkts.diff() != 0) & (sockets.ca_state == "Recovery")].index
    assert made.warnings == []
    ratios = [
        sockets.ssthresh_pkts[i] / sockets.cwnd_pkts[i - 1]
        for i in reductions
        if sockets.ca_state[i - 1] in ("Open", "Disorder")
    ]
    assert len(ratios) > 5
    # Between two samples, the window can grow by two packets, and shares are rounded down.
    assert all(0.85 - 1 / 20 <= ratio <= 0.85 + 2 / 20 for ratio in ratios)
    assert sum(ratios) / len(ratios) == pytest.approx(0.85, abs=0.02)


def test_a_module_may_include_the_kernels_own(tmp_path, built_kernel):
    (text,) = (t for t in re.findall(r"^```c\n(.*?)^```$", GUIDE.read_text(), re.M | re.S) if "tcp_cubic.c" in t)
    source = tmp_path / "my_cubic.c"
    source.write_text(text)
    made = run(tmp_path, source, "my_cubic")
    # Both runs load the module, so that the guests differ only in the name of the congestion control. The window stays
    # at 10 packets or more.
    kernels = lw.run(
        EXAMPLES / "chain.toml",
        {"guest.cc_modules": [str(source)], "run.duration": "5 s"},
        tmp_path / "kernels",
        report=False,
        progress=False,
    )
    assert made.sockets().equals(kernels.sockets())


def test_a_module_is_compiled_once_for_each_content_and_names_no_place(tmp_path, built_kernel):
    said: list[str] = []
    other = tmp_path / "elsewhere"
    other.mkdir()
    one = compiled(module(tmp_path, "twice", ("85;", "84;")), built_kernel.program, said.append)
    said.clear()
    again = compiled(module(other, "twice", ("85;", "84;")), built_kernel.program, said.append)
    assert again == one
    assert said == []
    assert str(cache_root()).encode() not in one.read_bytes()
    assert compiled(module(tmp_path, "twice", ("85;", "83;")), built_kernel.program) != one


def test_a_module_that_does_not_compile_is_named_with_file_and_line(tmp_path):
    source = module(tmp_path, "broken", ("return max_t(u32, kept_pkts, 2);", "return kept;"))
    line = source.read_text().splitlines().index("\treturn kept;") + 1
    with pytest.raises(ScenarioError) as caught:
        run(tmp_path, source)
    assert f"{source}:{line}:16: error: " in caught.value.message
    assert "kept" in caught.value.message
    assert not (tmp_path / "run").exists()
    assert half_done() == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('MODULE_LICENSE("GPL");\n', "", "missing MODULE_LICENSE"),
        ("tcp_reno_undo_cwnd,", "tcp_of_nowhere,", "tcp_of_nowhere"),
        ("tcp_reno_cong_avoid,", "tcp_cong_avoid_ai,", "incompatible"),
    ],
)
def test_what_the_compiler_says_of_a_module_is_passed_on(tmp_path, built_kernel, old, new, says):
    with pytest.raises(ScenarioError, match=says):
        compiled(module(tmp_path, "wrong", (old, new)), built_kernel.program)


def test_warnings_are_told_and_no_error(tmp_path, built_kernel):
    source = module(tmp_path, "warned", ("u64 kept_pkts", f"int unused_{os.getpid()};\n\tu64 kept_pkts"))
    said: list[str] = []
    assert compiled(source, built_kernel.program, said.append).is_file()
    assert any(line.startswith(f"{source}:") and "warning: unused variable" in line for line in said)


def test_a_module_that_faults_when_it_is_loaded_is_named(tmp_path):
    source = module(tmp_path, "bad_load", ("return tcp_register", "*(volatile int *)8 = 1;\n\treturn tcp_register"))
    error = fails(tmp_path, source)
    assert "panicked in bad_load_register of the module bad_load (a null pointer: " in error.message
    assert "Kernel mode fault at addr 0x8" in error.message


def with_loss(tmp_path: Path, name: str, statement: str) -> Path:
    """Write the source of a module that executes `statement` whenever a loss occurs."""
    headers = "#include <linux/delay.h>\n#include <linux/refcount.h>\n#include <linux/module.h>\n"
    helpers = (
        "static refcount_t refs = REFCOUNT_INIT(1);\n"
        "static noinline int deep(volatile int *x)\n"
        "{\n\tvolatile int y[64];\n\n\ty[0] = *x + 1;\n\treturn y[0] < 0 ? 0 : deep(y) + y[0];\n}\n"
    )
    return module(
        tmp_path,
        name,
        ("#include <linux/module.h>\n", headers),
        ("static unsigned int kept_percent", f"{helpers}static unsigned int kept_percent"),
        ("u64 kept_pkts = ", f"volatile int x __maybe_unused = 1;\n\t{statement}\n\tu64 kept_pkts = "),
    )


@pytest.mark.parametrize(
    ("name", "statement", "says", "hint"),
    [
        ("null", "*(volatile int *)8 = x;", "in null_ssthresh of the module null (a bad pointer: ", "module null"),
        ("divides", "return 7 / (x - 1);", "in divides_ssthresh of the module divides (a division", "module divides"),
        ("traps", "__builtin_trap();", "in traps_ssthresh of the module traps (an invalid", "module traps"),
        ("passes", "tcp_slow_start((struct tcp_sock *)(x - 1L), 1);",
         "panicked in tcp_slow_start, with passes_ssthresh of the module passes in its call trace (a", "module passes"),
        ("jumps", "((void (*)(void))(x - 1L))();",
         "panicked at 0x0, where no function is, with jumps_ssthresh of the module jumps in its", "module jumps"),
        ("bug", "BUG_ON(x);", " in bug_ssthresh of the module bug (BUG!)", "module bug"),
        # A stack overflow may overwrite anything, so the message need not name a function.
        ("overflow", "x = deep(&x);", "the module overflow", "your module"),
    ],
)  # fmt: skip
def test_a_module_that_faults_while_a_flow_runs_is_named(tmp_path, name, statement, says, hint):
    error = fails(tmp_path, with_loss(tmp_path, name, statement))
    assert says in error.message
    assert "guest-console.txt" in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("name", "statement", "says"),
    [
        ("endless", "while (x);", "virtual time stopped at"),
        # The module spends most of its time in a function of the kernel, so the message may name that function.
        ("calling", "while (x) ktime_get();", "virtual time stopped at"),
        ("waiting", "while (x) udelay(10);", "the agent has said nothing for 20 virtual seconds"),
    ],
)
def test_a_module_that_does_not_return_is_named(tmp_path, name, statement, says):
    source = with_loss(tmp_path, name, statement)
    plan = plan_of(
        EXAMPLES / "chain.toml", {"guest.cc_modules": [str(source)], "flows.0.congestion_control": name}, None
    ).named_by_caller()
    image = guest.guest_image("default")
    put_input(image, plan, media.timeline_of(plan), tmp_path / "in")
    with pytest.raises(GuestError, match=says) as caught:
        guest.drive(
            image, tmp_path, tmp_path / "console.txt", duration_ns=plan.run.duration_ns, seed=1,
            memory_bytes=plan.guest.memory_bytes, patience=guest.Patience(frozen_cpu_s=2, silent_virtual_s=20),
        )  # fmt: skip
    assert f"; its kernel is in {name}_ssthresh of the module {name}. " in caught.value.message
    assert "Kernel panic" not in caught.value.message
    assert f"the module {name} does not return from there" in caught.value.hint
    assert programs_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "statement", "says"),
    [
        ("warns", 'WARN(x, "window of %u\\n", tcp_snd_cwnd(tcp_sk(sk)));',
         r"warns\.c:\d+ in warns_ssthresh of the module warns \(\"window of \d+\"\);"),
        ("leaks", "refcount_dec(&refs);",
         r"lib/refcount\.c:\d+ in refcount_warn_saturate \(\"refcount_t: .*\"\), with leaks_ssthresh of the module "),
    ],
)  # fmt: skip
def test_a_warning_of_the_kernel_is_one_of_the_run(tmp_path, name, statement, says):
    made = run(tmp_path, with_loss(tmp_path, name, statement))
    (told,) = made.warnings
    assert re.search(rf"the guest's kernel printed a warning( \d+ times, first)? at [01]\.\d{{3}} s: {says}", told)
    assert made.manifest["warnings"] == made.warnings


def test_a_warning_of_the_kernel_is_told_after_a_shell(tmp_path):
    source, told = with_loss(tmp_path, "warns", "WARN_ON(x);"), []
    settings = {"guest.cc_modules": [str(source)], "flows.0.congestion_control": "warns"}
    assert shell(EXAMPLES / "chain.toml", "A", ["sleep", "3"], settings, on_warning=told.append) == 0
    assert [text for text in told if "in warns_ssthresh of the module warns" in text] == told != []


def test_a_module_that_sleeps_where_it_must_not_is_named(tmp_path):
    error = fails(tmp_path, with_loss(tmp_path, "sleeps", "msleep(x);"))
    assert "printed more than 16 MiB; before that, the guest's kernel printed an error at 0." in error.message
    assert "BUG: scheduling while atomic: " in error.message
    assert "with sleeps_ssthresh of the module sleeps in its call trace" in error.message


def test_a_module_whose_init_refuses_is_named(tmp_path):
    source = module(tmp_path, "refuses", ("return tcp_register_congestion_control(&refuses)", "return -ENODEV"))
    error = fails(tmp_path, source, "reno")
    assert "load the module refuses" in error.message
    assert "No such device" in error.message


def test_a_module_that_registers_another_name_is_told_apart(tmp_path):
    source = module(tmp_path, "my_file", ('= "my_file"', '= "my_name"'))
    error = fails(tmp_path, source, "my_file")
    assert '"my_file": this guest kernel does not have it' in error.message
    assert "my_name" in error.hint


def test_a_congestion_control_that_never_sends_fails_the_run(tmp_path):
    source = module(
        tmp_path,
        "never",
        (
            "static struct tcp_congestion_ops",
            "static void never_grow(struct sock *sk, u32 ack, u32 acked)\n{\n}\n"
            "static void never_init(struct sock *sk)\n{\n\ttcp_sk(sk)->snd_cwnd = 0;\n}\n"
            "static struct tcp_congestion_ops",
        ),
        ("= tcp_reno_cong_avoid,", "= never_grow,\n\t.init = never_init,"),
    )
    error = fails(tmp_path, source)
    assert 'flow 0, congestion_control = "never": it lets nothing be sent' in error.message
    assert "window" in error.hint


def test_a_parameter_that_the_module_does_not_have_is_found_before_anything_boots(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        run(tmp_path, module(tmp_path, "typed"), **{"modules.typed.kept_procent": "50"})
    assert caught.value.message == "modules.typed.kept_procent: the module typed has no parameter kept_procent"
    assert caught.value.hint == 'did you mean "kept_percent"? it has: kept_percent (uint)'
    assert not (tmp_path / "run").exists()


def test_a_study_finds_a_parameter_that_a_module_does_not_take_before_its_first_run(tmp_path):
    module(tmp_path, "typed")
    (tmp_path / "study.toml").write_text(
        f'name = "typed"\nscenario = "{EXAMPLES / "chain.toml"}"\n[set]\n"flows.0.congestion_control" = "typed"\n'
        '"guest.cc_modules" = ["typed.c"]\n[parameters]\n"modules.typed.kept_percent" = ["50", "much", "80"]\n'
    )
    with pytest.raises(ScenarioError, match=r'kept_percent = "much": the module typed takes no such value') as caught:
        run_study(tmp_path / "study.toml", tmp_path / "out", progress=False, trust=True)
    assert "in the combination modules.typed.kept_percent = much" in caught.value.message
    assert "write a whole number from 0 to 4294967295" in caught.value.message
    assert not (tmp_path / "out").exists()


def test_a_binary_of_ones_own_needs_the_archive_beside_it(tmp_path, built_kernel):
    from leowarp.guest.building.kernel import kernel

    alone = tmp_path / "alone" / "linux"
    alone.parent.mkdir()
    alone.write_bytes(built_kernel.program.read_bytes())
    alone.chmod(0o755)
    with pytest.raises(ScenarioError, match=ARCHIVE):
        compiled(EXAMPLES / "mild_reno.c", kernel(alone).program)
    (alone.parent / ARCHIVE).symlink_to(built_kernel.program.parent / ARCHIVE)
    assert compiled(EXAMPLES / "mild_reno.c", kernel(alone).program).name == "mild_reno.ko"


def test_the_tree_compiles_by_hand(tmp_path, built_kernel):
    tree = tmp_path / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-xf", built_kernel.program.parent / ARCHIVE, "-C", tree], check=True)
    own = tmp_path / "own"
    own.mkdir()
    (own / "mild_reno.c").write_text(EXAMPLE)
    (own / "Kbuild").write_text("obj-m := mild_reno.o\n")
    subprocess.run(["sh", tree / "compile.sh", own], check=True, capture_output=True)
    assert (own / "mild_reno.ko").is_file()
