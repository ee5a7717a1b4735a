# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp rejects a link, a pipe or a device where it expects a file."""

import hashlib
import os
import socket
from pathlib import Path

import pytest

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError


@pytest.fixture
def strange(tmp_path):
    """Return a function that replaces a file by a link, a pipe or another special file."""

    def put(kind, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "a symbolic link":
                (tmp_path / "target").write_text("precious")
                path.symlink_to(tmp_path / "target")
            case "a dangling link":
                path.symlink_to(tmp_path / "nowhere")
            case "a pipe":
                os.mkfifo(path)
            case "a socket":
                with socket.socket(socket.AF_UNIX) as end:
                    here = os.getcwd()
                    os.chdir(path.parent)  # A socket's path may have at most 107 bytes
                    try:
                        end.bind(path.name)
                    finally:
                        os.chdir(here)
        return path

    return put


KINDS = ("a symbolic link", "a dangling link", "a pipe", "a socket")


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_found_however_deep(tmp_path, strange, kind):
    top = tmp_path / "run"
    (top / "50-report" / "figures").mkdir(parents=True)
    (top / "summary.json").write_text("{}")
    assert plainfiles.why_not_plain(top) is None
    strange(kind, top / "50-report" / "figures" / "one.svg")
    shown = "a symbolic link" if "link" in kind else kind
    assert plainfiles.why_not_plain(top) == f"50-report/figures/one.svg in it is {shown}"


def test_what_a_killed_run_of_programs_leaves_does_not_keep_it_from_being_made_again(tmp_path):
    roots = tmp_path / "study" / "runs" / "one" / ".guest" / "in" / "roots"
    roots.mkdir(parents=True)
    (roots / "0").symlink_to("/")
    assert plainfiles.why_not_plain(tmp_path) is None
    (roots.parent / "setup.json").symlink_to("/etc/hostname")
    assert "setup.json in it is a symbolic link" in plainfiles.why_not_plain(tmp_path)


def test_a_directory_that_is_a_link_may_be_one_if_the_user_typed_it(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert plainfiles.why_not_plain(tmp_path / "link") is None
    assert plainfiles.why_not_plain(tmp_path / "link", itself=True) == "it is a symbolic link"


def test_a_directory_too_deep_is_not_followed(tmp_path):
    path = tmp_path
    for _ in range(plainfiles.DEEPEST + 1):
        path = path / "d"
    path.mkdir(parents=True)
    assert "directories deep" in plainfiles.why_not_plain(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_neither_read_nor_written(tmp_path, strange, kind):
    path = strange(kind, tmp_path / "file")
    with pytest.raises(OSError, match=r"it is a|No such device"):
        plainfiles.read(path, 100)
    with pytest.raises(ScenarioError, match="nothing is written through one"):
        plainfiles.refuse_link(path)
    plainfiles.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    assert not (tmp_path / "nowhere").exists()
    if (tmp_path / "target").exists():
        assert (tmp_path / "target").read_text() == "precious"


def test_what_stands_where_a_file_grows_is_replaced_too(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "file.partial").symlink_to("target")
    plainfiles.write(tmp_path / "file", b"new")
    assert (tmp_path / "target").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "target"]


def test_only_so_much_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert plainfiles.read(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 B"):
        plainfiles.read(tmp_path / "file", 4)
    with pytest.raises(OSError, match="it has more than"):
        plainfiles.read(Path("/dev/zero"), 1000, links=True)


def test_the_shells_own_names_are_written():
    plainfiles.refuse_link(Path("/dev/stdout"))


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [("a.csv", True), ("..", False), (".", False), ("", False), ("a/b", False), ("/a", False), ("a\0", False),
     ("..a", True), (3, False), ("x" * 256, False)],
)  # fmt: skip
def test_names_that_lead_nowhere_else(name, is_plain):
    assert plainfiles.is_plain_name(name) is is_plain


def test_a_file_that_is_too_long_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "sparse"
    path.write_bytes(b"a")
    os.truncate(path, 10 << 30)
    monkeypatch.setattr(plainfiles, "_PIECE_BYTES", "no piece of it may be read")
    for reading in (plainfiles.read, plainfiles.sha256_of):
        with pytest.raises(OSError, match="more than 1024 MiB"):
            reading(path, 1 << 30)


def test_the_hash_and_a_copy_of_a_file_are_made_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(plainfiles, "_PIECE_BYTES", 7)
    path, copy = tmp_path / "file", tmp_path / "copy"
    path.write_bytes(bytes(range(100)))
    assert plainfiles.sha256_of(path, 100) == hashlib.sha256(path.read_bytes()).hexdigest()
    with plainfiles.opened(path) as file:
        plainfiles.write(copy, file)
    assert copy.read_bytes() == path.read_bytes()
    with pytest.raises(OSError, match="more than 99 B"):
        plainfiles.sha256_of(path, 99)
