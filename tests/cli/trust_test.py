# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp runs code only if the user has named or accepted it."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import leowarp as lw
from leowarp import scenario
from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest import compile_modules, guest_image
from leowarp.guest.building import trust
from leowarp.guest.building.image import GuestImage
from leowarp.guest.machine.session import output_of
from leowarp.scenario import plan_of

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAIN = EXAMPLES / "chain.toml"


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "leowarp" / "trusted"


@pytest.fixture
def program(tmp_path):
    """A program, and the path of a file. When the program runs, it creates this file."""
    path, trace = tmp_path / "linux", tmp_path / "it-ran"
    path.write_text(f"#!/bin/sh\ntouch {trace}\n")
    path.chmod(0o755)
    return path, trace


def file_with(tmp_path, guest):
    path = tmp_path / "scenario.toml"
    path.write_text(f'extends = "{CHAIN}"\nname = "strange"\n[guest]\n{guest}\n')
    return path


def plan_with(tmp_path, guest):
    return scenario.resolve(scenario.load(file_with(tmp_path, guest)))


def test_a_program_that_a_file_names_does_not_run(tmp_path, program):
    path, trace = program
    named = file_with(tmp_path, f'kernel = "{path}"')
    plan = scenario.resolve(scenario.load(named))
    for attempt in (
        lambda: lw.run(named, out=tmp_path / "run", progress=False),
        lambda: lw.run(plan, out=tmp_path / "run", progress=False),
        lambda: guest_image(plan.guest),
    ):
        with pytest.raises(
            ScenarioError, match=r"guest.kernel names the program .*bytes, sha256 [0-9a-f]{12}"
        ) as found:
            attempt()
        assert str(named) in found.value.message
        assert "--trust" in found.value.hint
    assert not trace.exists()
    assert not (tmp_path / "run").exists()


def test_a_program_that_the_user_names_is_tried(tmp_path, program):
    path, _ = program
    for plan in (
        plan_of(CHAIN, {"guest.kernel": str(path)}),
        plan_of(CHAIN, [f"guest.kernel={path}"]),
        plan_of(file_with(tmp_path, 'kernel = "/somewhere/else"'), kernel=path),
        plan_with(tmp_path, f'kernel = "{path}"').named_by_caller(),
    ):
        assert plan.guest.kernel_named_in is None
        trust.demand(plan)
    with pytest.raises(ScenarioError, match="not an x86-64 program"):
        lw.run(file_with(tmp_path, f'kernel = "{path}"'), out=tmp_path / "run", progress=False, trust=True)


def test_what_was_accepted_is_remembered_by_its_content(tmp_path, program, memory):
    path, _ = program
    named = plan_with(tmp_path, f'kernel = "{path}"')
    trust.demand(named.named_by_caller())
    trust.demand(named)
    (one,) = memory.iterdir()
    assert memory.stat().st_mode & 0o777 == 0o700
    assert one.read_text() == f"{path}\n"
    path.write_text("#!/bin/sh\necho another\n")
    with pytest.raises(ScenarioError, match="would run"):
        trust.demand(named)


def test_a_kernel_with_another_archive_beside_it_is_another(tmp_path, program):
    path, _ = program
    named = plan_with(tmp_path, f'kernel = "{path}"')
    trust.demand(named.named_by_caller())
    (tmp_path / trust.ARCHIVE).write_text("its compile.sh would run")
    with pytest.raises(ScenarioError, match="would run"):
        trust.demand(named)


def test_a_module_that_a_file_names_is_not_compiled(tmp_path, monkeypatch):
    (tmp_path / "my_cc.c").write_text('#include "/etc/passwd"\n')
    monkeypatch.setattr("leowarp.guest.user.modules.compiled", lambda *given: pytest.fail("it was compiled"))
    plan = plan_with(tmp_path, 'cc_modules = ["my_cc.c"]')
    image = GuestImage(Path("linux"), Path("agent"))
    with pytest.raises(ScenarioError, match=r"guest.cc_modules names the C file .*my_cc\.c"):
        compile_modules(plan, image)
    with pytest.raises(ScenarioError, match=r"guest.cc_modules names the C file"):
        lw.run(plan, out=tmp_path / "run", progress=False)


def test_modules_that_come_with_leowarp_need_no_trust(tmp_path, memory):
    shutil.copy(EXAMPLES / "mild_reno.c", tmp_path)
    trust.demand(plan_with(tmp_path, 'cc_modules = ["mild_reno.c"]'))
    assert not memory.exists()
    with (tmp_path / "mild_reno.c").open("a") as file:
        file.write("int x;\n")
    with pytest.raises(ScenarioError, match="would run"):
        trust.demand(plan_with(tmp_path, 'cc_modules = ["mild_reno.c"]'))


def test_git_is_not_asked_about_a_tree_that_a_file_names(tmp_path):
    tree, trace = tmp_path / "linux", tmp_path / "git-ran-it"
    (tree / "arch" / "um").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    subprocess.run(["git", "-C", tree, "config", "core.fsmonitor", f"touch {trace}; false"], check=True)
    plan = plan_with(tmp_path, f'kernel = "{tree}"')
    with pytest.raises(ScenarioError, match=r"kernel tree .*, whose makefiles would run"):
        guest_image(plan.guest)
    assert not trace.exists()
    trust.demand(plan.named_by_caller())
    trust.demand(plan)
    (tree / "Makefile").write_text("all:\n\ttouch it-ran\n")
    with pytest.raises(ScenarioError, match="would run"):
        trust.demand(plan)


def test_the_settings_of_a_trees_repository_are_part_of_it(tmp_path):
    tree = tmp_path / "linux"
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    plan = plan_with(tmp_path, f'kernel = "{tree}"')
    trust.demand(plan.named_by_caller())
    subprocess.run(["git", "-C", tree, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True, env={
        **os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b"})  # fmt: skip
    trust.demand(plan)
    subprocess.run(["git", "-C", tree, "config", "core.fsmonitor", "false"], check=True)
    with pytest.raises(ScenarioError, match="would run"):
        trust.demand(plan)


def test_a_plan_that_a_study_names_code_in_says_so(tmp_path, program):
    path, trace = program
    (tmp_path / "study.toml").write_text(
        f'name = "s"\nscenario = "{CHAIN}"\n[set]\n"guest.kernel" = "{path}"\n[seeds]\ncount = 2\n'
    )
    from leowarp.study import run_study

    with pytest.raises(ScenarioError, match=r"study\.toml: guest.kernel names the program"):
        run_study(tmp_path / "study.toml", tmp_path / "out", progress=False)
    assert not trace.exists()


def test_a_memory_that_others_may_write_to_is_not_believed(tmp_path, program, memory):
    plan = plan_with(tmp_path, f'kernel = "{program[0]}"')
    trust.demand(plan.named_by_caller())
    memory.chmod(0o777)
    with pytest.raises(HostError, match="only you can write"):
        trust.demand(plan)
    memory.chmod(0o700)
    memory.rename(tmp_path / "elsewhere")
    memory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="only you can write"):
        trust.demand(plan)


def test_a_memory_that_cannot_be_written_stops_no_run(tmp_path, program, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    said = []
    trust.demand(plan_of(CHAIN, {"guest.kernel": str(program[0])}), said.append)
    assert len(said) == 1
    assert "not remembered" in said[0]


def test_who_named_the_code_is_no_part_of_a_plan(tmp_path, program):
    named = plan_with(tmp_path, f'kernel = "{program[0]}"')
    assert named == named.named_by_caller()
    assert named.to_toml() == named.named_by_caller().to_toml()
    own = dataclasses.replace(named, guest=scenario.schema.Guest(kernel=str(program[0])))
    assert own.guest.kernel_named_in is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 0", "it prints nothing"),
        ("echo why >&2; exit 3", "why"),
        ("yes", "it prints more than"),
        ("yes >&2", "it prints more than"),
        ("sleep 1000", "it has not ended"),
        ("sleep 1000 & echo 6.12", "it has not ended"),
    ],
)
def test_a_program_that_answers_strangely_is_an_error(tmp_path, monkeypatch, script, why):
    monkeypatch.setattr("leowarp.guest.machine.session.MOST_S", 0.5 if "sleep" in script else 60.0)
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    from leowarp.guest.building.recipe import first_line_of

    with pytest.raises(HostError, match=why):
        first_line_of(str(path), "--version")


def test_a_program_that_answers_is_heard():
    assert output_of("echo", "one\ntwo") == "one\ntwo\n"
