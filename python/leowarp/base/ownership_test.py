# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
from pathlib import Path

import pytest

from leowarp.base import ownership
from leowarp.base.errors import HostError
from leowarp.base.ownership import demand_own, make_directory, open_lock, why_not_own


def made(path: Path, mode: int = 0o755) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


def test_a_directory_of_the_users_own_is_believed_and_one_that_is_not_there_yet(tmp_path):
    place = made(tmp_path / "a" / "b")
    assert why_not_own(place) is None
    assert why_not_own(place / "not" / "there") is None


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_place_to_which_others_may_write_is_refused_sticky_or_not(tmp_path, mode):
    place = made(tmp_path / "a", mode)
    assert "others may write" in why_not_own(place)
    with pytest.raises(HostError, match="not believed"):
        demand_own(place, "using it", "chmod go-w")


def test_a_directory_on_the_way_counts_and_a_sticky_one_may_be_there(tmp_path):
    place = made(tmp_path / "way" / "place")
    (tmp_path / "way").chmod(0o777)
    assert f"{tmp_path / 'way'} " in why_not_own(place)
    assert why_not_own(place / "not there") is not None
    (tmp_path / "way").chmod(0o1777)
    assert why_not_own(place) is None


def test_what_belongs_to_somebody_else_is_refused_also_if_nobody_else_may_write_there(tmp_path, monkeypatch):
    place = made(tmp_path / "a")
    real = os.lstat

    def lstat(path, **options):
        status = real(path, **options)
        return os.stat_result((*status[:4], 4711, *status[5:])) if str(path) == str(place) else status

    monkeypatch.setattr(os, "lstat", lstat)
    assert why_not_own(place) == f"{place} belongs to user 4711"


def test_the_target_of_a_link_and_the_way_to_it_count(tmp_path):
    open_one = made(tmp_path / "open", 0o777)
    target = made(open_one / "target")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert f"{open_one} " in why_not_own(link)
    open_one.chmod(0o755)
    assert why_not_own(link) is None
    relative = made(tmp_path / "x") / "relative"
    relative.symlink_to("../open/./target/../target")
    assert why_not_own(relative) is None
    target.chmod(0o777)
    assert f"{target} " in why_not_own(relative)


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "symbolic links" in why_not_own(tmp_path / "a")


def test_a_group_may_write_only_if_it_is_the_users_alone(tmp_path, monkeypatch):
    place = made(tmp_path / "a", 0o775)
    monkeypatch.setattr(ownership, "_is_private_group", lambda gid: False)
    assert "mode 0775" in why_not_own(place)
    monkeypatch.setattr(ownership, "_is_private_group", lambda gid: True)
    monkeypatch.setattr(ownership, "_has_acl", lambda place: False)
    assert why_not_own(place) is None
    monkeypatch.setattr(ownership, "_has_acl", lambda place: True)
    assert "mode 0775" in why_not_own(place)


def test_a_lock_is_opened_without_losing_what_it_holds_and_never_through_a_link(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for lock in (tmp_path / "lock", precious):
        descriptor = open_lock(lock)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    assert precious.read_text() == "kept"
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic link"):
        open_lock(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="plain file"):
        open_lock(tmp_path / "pipe")
    assert precious.read_text() == "kept"


def test_a_directory_is_made_that_nobody_else_may_write_to_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        make_directory(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o755, 0o755]
    make_directory(tmp_path / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_directory(tmp_path / "file" / "a")
