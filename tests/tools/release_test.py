# SPDX-License-Identifier: Apache-2.0
"""Tests the building of a release in an invented repository. The commit must be unchanged and have the version's
tag."""

import hashlib
import importlib.util
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = """# Change log

## [Unreleased]

- not yet

## [0.2.0] - 2026-12-01

### Added

- a thing

## [0.1.0] - 2026-01-01

- an old thing
"""

spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def git(root, *words):
    command = ["git", "-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path):
    """A repository with a change log and one commit, and without a tag."""
    top = tmp_path / "checkout"
    top.mkdir()
    (top / "CHANGELOG.md").write_text(CHANGES)
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "first")
    return top


def wheel(out):
    (out / "leowarp-0.2.0-cp311-abi3-manylinux_2_34_x86_64.whl").write_bytes(b"wheel")


def refused(root, build=wheel):
    with pytest.raises(SystemExit) as raised:
        tool.release(root, "0.2.0", root.parent / "out", build)
    return str(raised.value)


def test_a_clean_tag_gives_wheel_archive_notes_and_checksums(root, tmp_path):
    git(root, "tag", "v0.2.0")
    out = tmp_path / "out"
    tool.release(root, "0.2.0", out, wheel)
    assert (out / "NOTES.md").read_text() == "### Added\n\n- a thing\n"
    with tarfile.open(out / "leowarp-0.2.0.tar.gz") as archive:
        assert archive.extractfile("leowarp-0.2.0/CHANGELOG.md").read().decode() == CHANGES
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir() if path.name != "SHA256SUMS"
    }
    assert len(sums) == 3
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=True)


@pytest.mark.parametrize("name", ["CHANGELOG.md", "new.py"])
def test_a_tree_that_is_not_clean_is_refused(root, name):
    git(root, "tag", "v0.2.0")
    (root / name).write_text("more\n")
    assert refused(root) == f"1 files differ from the commit, {name} first: git stash --include-untracked"
    assert not (root.parent / "out").exists()


def test_a_commit_without_the_tag_of_its_version_is_refused(root):
    assert refused(root).endswith("git tag --annotate v0.2.0 --message 'leowarp 0.2.0'")
    git(root, "tag", "v0.3.0")
    assert refused(root).startswith("this commit has no tag v0.2.0 (it has v0.3.0)")


def test_a_tag_of_another_commit_is_named(root):
    git(root, "tag", "v0.2.0")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "second")
    assert refused(root) == "the tag v0.2.0 names another commit: git checkout v0.2.0"


def test_a_change_log_without_the_version_is_refused(root):
    (root / "CHANGELOG.md").write_text(CHANGES.replace("[0.2.0]", "[0.1.9]"))
    git(root, "commit", "--quiet", "--all", "--message", "second")
    git(root, "tag", "v0.2.0")
    assert 'no section "## [0.2.0] - YYYY-MM-DD"' in refused(root)


def test_a_wheel_of_another_version_is_refused(root):
    git(root, "tag", "v0.2.0")
    assert "none of 0.2.0" in refused(root, lambda out: (out / "leowarp-0.2.0.dev0+g1a2b3c4d-py3-none.whl").touch())


def test_what_lies_in_the_directory_is_not_released(root):
    git(root, "tag", "v0.2.0")
    (root.parent / "out").mkdir()
    (root.parent / "out" / "old.whl").touch()
    assert refused(root) == f"{root.parent / 'out'} is not empty: rm -r {root.parent / 'out'}"


def test_the_project_s_own_change_log_has_the_form():
    assert tool.notes_of(CHANGES, "0.1.0") == "- an old thing\n"
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count("## [Unreleased]") == 1
    assert "\n### Added\n" in tool.notes_of(text.replace("## [Unreleased]", "## [9.9.9] - 2026-12-01"), "9.9.9")
