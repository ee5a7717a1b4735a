# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp finds the commit and the hash of its sources, and runs git only in safe directories."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from leowarp import version
from leowarp.version import ARCHIVE, REVISION, VERSION, build_version, revision_of, sha256_of_package, sources

ROOT = Path(__file__).parents[2]
UNKNOWN = {"git_commit": None, "git_changed": None}
PAGE = ROOT / "docs" / "concepts" / "repeatability.md"


def git(directory, *words):
    command = ["git", "-C", str(directory), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """Make a repository with one commit that contains the package."""
    top = tmp_path / "checkout"
    (top / "python" / "leowarp").mkdir(parents=True)
    (top / "python" / "leowarp" / "a.py").write_text("x = 1\n")
    git(tmp_path, "init", "--quiet", str(top))
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "first")
    return top


def test_a_checkout_has_its_commit_and_says_whether_tracked_files_differ(checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "notes.txt").write_text("not tracked\n")
    assert revision_of(checkout) == {"git_commit": commit, "git_changed": False}
    (checkout / "python" / "leowarp" / "a.py").write_text("x = 2\n")
    assert revision_of(checkout) == {"git_commit": commit, "git_changed": True}


def test_a_linked_work_tree_is_a_checkout_too(checkout, tmp_path):
    git(checkout, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert revision_of(tmp_path / "linked")["git_commit"] == git(checkout, "rev-parse", "HEAD")


def test_the_callers_environment_leads_to_no_other_repository(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert revision_of(checkout)["git_commit"] is not None


def test_what_is_no_checkout_has_no_commit(checkout, tmp_path):
    assert revision_of(tmp_path) == UNKNOWN
    # git is not run for a subdirectory of a repository, because the repository may be unrelated, such as one that
    # contains a virtual environment.
    assert revision_of(checkout / "python") == UNKNOWN
    (tmp_path / "damaged" / ".git").mkdir(parents=True)
    assert revision_of(tmp_path / "damaged") == UNKNOWN


def test_a_repository_without_commits_has_none(tmp_path):
    git(tmp_path, "init", "--quiet", str(tmp_path / "new"))
    assert revision_of(tmp_path / "new") == UNKNOWN


def test_without_git_the_commit_is_unknown(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision_of(checkout) == UNKNOWN


def test_git_is_not_asked_about_another_users_checkout(checkout, monkeypatch):
    monkeypatch.setattr(version.os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: pytest.fail("git was asked"))
    assert revision_of(checkout) == UNKNOWN


def test_a_checkouts_settings_start_no_program(checkout, tmp_path):
    trap, proof = tmp_path / "trap", tmp_path / "proof"
    trap.write_text(f"#!/bin/sh\ntouch {proof}\n")
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(trap)
    git(checkout, "config", "core.fsmonitor", str(trap))
    git(checkout, "config", "core.hooksPath", str(hooks))
    proof.unlink(missing_ok=True)
    assert revision_of(checkout)["git_changed"] is False
    assert not proof.exists()


def test_a_build_carries_its_commit_but_for_the_tag_of_the_release(checkout):
    commit = git(checkout, "rev-parse", "HEAD")[:8]
    assert build_version(checkout) == f"{VERSION}.dev0+g{commit}"
    git(checkout, "tag", "v0.0.1")
    assert build_version(checkout) == f"{VERSION}.dev0+g{commit}"
    git(checkout, "tag", f"v{VERSION}")
    assert build_version(checkout) == VERSION
    (checkout / "python" / "leowarp" / "a.py").write_text("x = 2\n")
    assert build_version(checkout) == f"{VERSION}.dev0+g{commit}.changed"


def test_without_a_commit_a_build_says_that_it_is_no_release(tmp_path):
    assert build_version(tmp_path) == f"{VERSION}.dev0"


def test_a_source_archive_knows_its_commit_and_its_tag(checkout, tmp_path):
    for name in (ARCHIVE, ".gitattributes"):
        (checkout / name).write_text((ROOT / name).read_text())
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "second")
    commit = git(checkout, "rev-parse", "HEAD")

    def archived(name):
        (tmp_path / name).mkdir()
        tree = subprocess.run(["git", "-C", checkout, "archive", "HEAD"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", tmp_path / name], input=tree, check=True)
        return tmp_path / name

    before = archived("before")
    assert revision_of(before) == {"git_commit": commit, "git_changed": None}
    assert build_version(before) == f"{VERSION}.dev0+g{commit[:8]}"
    git(checkout, "tag", f"v{VERSION}")
    assert build_version(archived("release")) == VERSION


def package(directory):
    """Write a directory with all files of a package, as in a checkout or in a wheel."""
    for name, text in {
        "__init__.py": "", "a.py": "x = 1", "room/b.py": "y = 2", "room/b.c.js": "z", "room/B.py": "capital",
        "view/built/page.js": "page", "room/Ünlaut.toml": "u",
    }.items():  # fmt: skip
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    "name",
    ["a_test.py", "room/b_test.json", "room/conftest.py", "room/__pycache__/b.cpython-311.pyc", "_native.abi3.so",
     "_guest/linux", "_guest/source/x.c", "examples/chain.toml", REVISION],
)  # fmt: skip
def test_what_only_one_of_checkout_and_wheel_has_changes_no_hash(tmp_path, name):
    before = sha256_of_package(package(tmp_path))
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("more")
    assert sha256_of_package(tmp_path) == before


def test_any_other_byte_and_any_name_changes_the_hash(tmp_path):
    seen = {sha256_of_package(package(tmp_path))}
    (tmp_path / "a.py").write_text("x = 2")
    seen.add(sha256_of_package(tmp_path))
    (tmp_path / "room" / "b.py").rename(tmp_path / "room" / "c.py")
    seen.add(sha256_of_package(tmp_path))
    (tmp_path / "room" / "data.toml").touch()
    seen.add(sha256_of_package(tmp_path))
    assert len(seen) == 4


def test_the_hash_is_that_of_the_command_in_the_documentation(tmp_path):
    (command,) = re.findall(r"^```sh\n(find .*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for directory in (package(tmp_path), Path(version.__file__).parent):
        told = subprocess.run(["sh", "-c", command], cwd=directory, check=True, capture_output=True, text=True).stdout
        assert told.split()[0] == sha256_of_package(directory)


def test_a_package_knows_its_checkout_and_a_wheel_what_it_was_built_of(checkout, monkeypatch, tmp_path):
    monkeypatch.setattr(version, "_PACKAGE", checkout / "python" / "leowarp")
    sources.cache_clear()
    try:
        assert sources()["git_commit"] == git(checkout, "rev-parse", "HEAD")
        # The virtual environment is inside another repository of the user.
        installed = checkout / "environment" / "leowarp"
        installed.mkdir(parents=True)
        monkeypatch.setattr(version, "_PACKAGE", installed)
        sources.cache_clear()
        assert sources()["git_commit"] is None
        (installed / REVISION).write_text(json.dumps({"git_commit": "0" * 40, "git_changed": True}))
        sources.cache_clear()
        assert sources() == {
            "git_commit": "0" * 40, "git_changed": True, "package_sha256": sha256_of_package(installed),
        }  # fmt: skip
    finally:
        sources.cache_clear()


def test_this_package_is_that_of_this_checkout():
    sources.cache_clear()
    assert sources() == {**revision_of(ROOT), "package_sha256": sha256_of_package(ROOT / "python" / "leowarp")}
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
