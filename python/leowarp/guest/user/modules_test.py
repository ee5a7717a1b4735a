# SPDX-License-Identifier: Apache-2.0
"""Tests of the module cache and of compilation errors."""

import subprocess
from pathlib import Path

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.user import modules
from leowarp.guest.user.modules import ARCHIVE, compiled, put_modules
from support.waiting import wait_until, wait_until_gone

SCRIPT = """#!/bin/sh
echo "$1" >> "$LEOWARP_CACHE/calls"
echo $$ > "$LEOWARP_CACHE/pid"
echo "make: Entering directory '$1'"
echo "  CC [M]  $1/own.o"
%s
name=$(sed -n 's/^obj-m := \\(.*\\)\\.o$/\\1/p' "$1/Kbuild")
cp "$1/$name.c" "$1/$name.ko"
"""


@pytest.fixture
def workshop(monkeypatch, tmp_path):
    """Return a kernel with an archive. The archive's compile.sh only copies files. `workshop(line)` adds a line to this
    script."""
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()

    def made(line: str = "") -> Path:
        tree, place = tmp_path / "tree", tmp_path / "kernel"
        tree.mkdir(exist_ok=True)
        place.mkdir(exist_ok=True)
        (tree / "compile.sh").write_text(SCRIPT % line)
        # The cache key contains a hash of the archive, so two archives of the same files must have the same bytes.
        subprocess.run(["tar", "--mtime=@0", "--sort=name", "-cJf", place / ARCHIVE, "-C", tree, "."], check=True)
        (place / "linux").touch()
        return place / "linux"

    return made


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "own.c"
    path.write_text("int own;\n")
    return path


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "cache" / "calls").read_text().splitlines())


def left_over(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").glob("module*/*") if ".tmp" in path.name]


@pytest.mark.slow
def test_a_module_is_compiled_once_for_each_content_and_kernel(workshop, source, tmp_path):
    first = compiled(source, workshop())
    assert first.name == "own.ko"
    assert first.read_text() == "int own;\n"
    assert compiled(source, workshop()) == first
    assert calls(tmp_path) == 1
    source.write_text("int other;\n")
    assert compiled(source, workshop()) != first
    assert compiled(source, workshop("# another kernel")) != first
    assert calls(tmp_path) == 3
    assert left_over(tmp_path) == []


def test_the_compilers_name_of_the_file_is_the_users(workshop, source, tmp_path):
    kernel = workshop('echo "$1/own.c:1:5: error: what is own?"; echo "make: *** [own.o] Error 1"; exit 2')
    with pytest.raises(ScenarioError) as caught:
        compiled(source, kernel)
    assert caught.value.message.splitlines()[1:] == [f"{source}:1:5: error: what is own?"]
    assert left_over(tmp_path) == []


def test_warnings_are_told(workshop, source):
    said: list[str] = []
    compiled(source, workshop('echo "$1/own.c:1:5: warning: is it used?"'), said.append)
    assert f"{source}:1:5: warning: is it used?" in said


def test_an_interrupted_compilation_leaves_no_process_and_nothing_half_done(workshop, source, tmp_path, monkeypatch):
    kernel = workshop('sleep infinity & touch "$LEOWARP_CACHE/sleeps"; wait')

    def interrupted(process):
        wait_until((tmp_path / "cache" / "sleeps").exists, process)
        raise KeyboardInterrupt

    monkeypatch.setattr(modules.subprocess.Popen, "communicate", interrupted)
    monkeypatch.setattr(modules, "_tree", lambda archive, sha256, say: kernel.parent.parent / "tree")
    monkeypatch.setattr(modules.recipe, "first_line_of", lambda *command: "a compiler")
    with pytest.raises(KeyboardInterrupt):
        compiled(source, kernel)
    session = int((tmp_path / "cache" / "pid").read_text())
    wait_until_gone(lambda: members_of_session(session))
    assert left_over(tmp_path) == []


def test_a_kernel_without_the_archive_says_what_to_name_instead(source, tmp_path):
    with pytest.raises(ScenarioError, match=ARCHIVE) as caught:
        compiled(source, tmp_path / "linux")
    assert "--kernel TREE" in caught.value.hint


def test_a_file_that_is_not_there_is_named(workshop, tmp_path):
    with pytest.raises(ScenarioError, match=r"nowhere\.c: No such file"):
        compiled(tmp_path / "nowhere.c", workshop())


def test_what_the_machine_lacks_is_named_with_its_package(workshop, source, monkeypatch):
    kernel = workshop()
    monkeypatch.setattr(modules.shutil, "which", lambda name: None if name == "make" else f"/usr/bin/{name}")
    with pytest.raises(HostError, match="not on the PATH: make") as caught:
        compiled(source, kernel)
    assert caught.value.hint.endswith(" make")


def test_modules_lie_where_the_setup_says(source, tmp_path):
    put_modules([source], tmp_path / "in")
    assert (tmp_path / "in" / "modules" / "own.c").read_text() == "int own;\n"
    put_modules([], tmp_path / "other")
    assert not (tmp_path / "other").exists()
