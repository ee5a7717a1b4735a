# SPDX-License-Identifier: Apache-2.0
import multiprocessing
import time
from pathlib import Path

import pytest

from leowarp.errors import HostError
from leowarp.guest.cache import cache_root, content_key, entry_or_build, faults


def build_slowly(root: Path, log: Path) -> None:
    def make(entry: Path) -> None:
        with log.open("a") as file:
            file.write("built\n")
        time.sleep(0.3)
        (entry / "thing").write_text("whole")

    entry_or_build("kind", "key", make, on_message=lambda text: None, root=root)


def quietly(root: Path, make, messages: list[str] | None = None) -> Path:
    said = messages if messages is not None else []
    return entry_or_build("kind", "key", make, on_message=said.append, root=root)


def write_thing(entry: Path) -> None:
    (entry / "thing").write_text("whole")


def test_an_entry_is_built_once(tmp_path):
    quietly(tmp_path, write_thing)

    def never(entry: Path) -> None:
        raise AssertionError("built twice")

    assert (quietly(tmp_path, never) / "thing").read_text() == "whole"


@pytest.mark.slow
def test_two_builds_at_once_build_once(tmp_path):
    # The processes fork no threads of ours: "spawn" starts each afresh
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=build_slowly, args=(tmp_path, tmp_path / "log")) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert (tmp_path / "log").read_text() == "built\n"


def test_an_interrupted_build_leaves_nothing(tmp_path):
    def interrupted(entry: Path) -> None:
        (entry / "thing").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(tmp_path, interrupted)
    assert [path.name for path in (tmp_path / "kind").iterdir()] == ["key.lock"]
    assert (quietly(tmp_path, write_thing) / "thing").read_text() == "whole"


def test_what_a_killed_build_left_is_cleared_away(tmp_path):
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=build_slowly, args=(tmp_path, tmp_path / "log"))
    worker.start()
    deadline = time.monotonic() + 20
    while not (tmp_path / "log").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    worker.kill()
    worker.join()
    assert not (tmp_path / "kind" / "key").exists()
    assert len(list((tmp_path / "kind").glob("key.tmp-*"))) == 1
    quietly(tmp_path, write_thing)
    assert sorted(path.name for path in (tmp_path / "kind").iterdir()) == ["key", "key.lock"]


@pytest.mark.parametrize("damage", ["changed", "removed", "list-cut"])
def test_a_damaged_entry_is_reported_and_built_again(tmp_path, damage):
    entry = quietly(tmp_path, write_thing)
    if damage == "changed":
        (entry / "thing").write_text("whale")
    elif damage == "removed":
        (entry / "thing").unlink()
    else:
        (entry / "files.json").write_text('{"thing"')
    assert len(faults(entry)) == 1
    messages: list[str] = []
    assert (quietly(tmp_path, write_thing, messages) / "thing").read_text() == "whole"
    assert len(messages) == 1
    assert "damaged" in messages[0]
    assert faults(entry) == []


def test_a_cache_that_cannot_be_written_names_the_way_out(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for place in (blocked, Path("/proc")):
        with pytest.raises(HostError, match="LEOWARP_CACHE"):
            quietly(place, write_thing)


def test_an_error_of_the_build_itself_is_not_blamed_on_the_cache(tmp_path):
    def without_compiler(entry: Path) -> None:
        raise FileNotFoundError("gcc")

    with pytest.raises(FileNotFoundError, match="gcc"):
        quietly(tmp_path, without_compiler)


def test_keys_depend_on_names_contents_and_their_borders(tmp_path):
    file = tmp_path / "f"
    file.write_text("12")
    keys = [
        content_key([("a", "12")]),
        content_key([("a", "1"), ("b", "2")]),
        content_key([("a1", "2")]),
        content_key([("b", "12")]),
    ]
    assert len(set(keys)) == len(keys)
    assert content_key([("a", file)]) == keys[0] == content_key([("a", b"12")])


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("LEOWARP_CACHE", raising=False)
    assert cache_root() == Path("/x/leowarp")
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
