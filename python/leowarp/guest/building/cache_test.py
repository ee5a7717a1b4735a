# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from leowarp.base.errors import HostError
from leowarp.guest.building.cache import (
    built_earlier,
    cache_root,
    content_key,
    demand_path_for_make,
    entry_faults,
    entry_or_build,
    faults,
)

BUILD = """
import os
import sys
from pathlib import Path
from leowarp.guest.building.cache import entry_or_build

def make(entry):
    print("builds", flush=True)
    (entry / "thing").write_text("half")
    sys.stdin.readline()
    (entry / "thing").write_text("whole")

entry_or_build("kind", "key", make, on_message=lambda text: print(text, flush=True), root=Path(sys.argv[1]))
"""


@pytest.fixture
def build(spawn, tmp_path):
    """Start a build in a separate process. The build waits for the test's signal before it completes."""
    return lambda: spawn([sys.executable, "-c", BUILD, tmp_path], stdin=PIPE, stdout=PIPE, text=True)


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
def test_two_builds_at_once_build_once(build):
    first = build()
    assert first.stdout.readline() == "builds\n"
    second = build()
    assert second.stdout.readline().startswith("another leowarp is building the kind")
    assert first.communicate("go on\n") == ("", None)
    assert second.communicate() == ("", None)
    assert (first.returncode, second.returncode) == (0, 0)


def test_an_interrupted_build_leaves_nothing(tmp_path):
    def interrupted(entry: Path) -> None:
        (entry / "thing").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(tmp_path, interrupted)
    assert [path.name for path in (tmp_path / "kind").iterdir()] == ["key.lock"]
    assert (quietly(tmp_path, write_thing) / "thing").read_text() == "whole"


@pytest.mark.slow
def test_what_a_killed_build_left_is_cleared_away(build, tmp_path):
    killed = build()
    assert killed.stdout.readline() == "builds\n"
    killed.kill()
    killed.wait()
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


@pytest.mark.parametrize(
    "text", ["{}", "[]", "7", "null", '"thing"', "[" * 100_000, '{"../thing": "0"}', '{"thing": 3}', '{"thing": null}']
)
def test_a_list_of_files_that_is_none_is_damage(tmp_path, text):
    entry = quietly(tmp_path, write_thing)
    (entry / "files.json").write_text(text)
    messages: list[str] = []
    quietly(tmp_path, write_thing, messages)
    assert "files.json" in messages[0]
    assert faults(entry) == []


def test_a_file_that_the_list_does_not_have_is_damage(tmp_path):
    entry = quietly(tmp_path, write_thing)
    (entry / "more").write_text("")
    messages: list[str] = []
    quietly(tmp_path, write_thing, messages)
    assert "more: files.json does not list it" in messages[0]
    assert not (entry / "more").exists()


@pytest.mark.parametrize("name", [".", "kind", "kind/key", "kind/key/thing", "kind/key/files.json"])
def test_a_cache_that_others_can_write_to_is_not_used(tmp_path, monkeypatch, name):
    """Anyone who can write to the cache can place a program in it, with a matching sha256."""
    root = tmp_path / "cache"
    quietly(root, write_thing)
    (root / name).chmod(0o777)
    with pytest.raises(HostError, match=r"using the cache .*: others may write to (.|\n)*LEOWARP_CACHE"):
        quietly(root, write_thing)
    monkeypatch.setenv("LEOWARP_CACHE", str(root))
    with pytest.raises(HostError, match="others may write"):
        entry_faults(root / "kind" / "key")


def test_a_file_of_a_cache_that_leads_out_of_it_is_not_used(tmp_path):
    root = tmp_path / "cache"
    entry = quietly(root, write_thing)
    outside = tmp_path / "open"
    outside.mkdir()
    outside.chmod(0o777)
    (entry / "thing").rename(outside / "thing")
    (entry / "thing").symlink_to(outside / "thing")
    with pytest.raises(HostError, match="others may write"):
        quietly(root, write_thing)


def test_a_lock_that_is_a_link_empties_nothing(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "kind").mkdir()
    (tmp_path / "kind" / "key.lock").symlink_to(precious)
    with pytest.raises(HostError, match=r"symbolic link(.|\n)*rm "):
        quietly(tmp_path, write_thing)
    assert precious.read_text() == "kept"


def test_a_umask_that_lets_a_group_write_makes_a_cache_that_is_used(tmp_path):
    before = os.umask(0o002)
    try:
        entry = quietly(tmp_path / "cache", write_thing)
    finally:
        os.umask(before)
    assert [path for path in (entry.parent, entry, *entry.iterdir()) if path.stat().st_mode & 0o022] == []


@pytest.mark.parametrize("text", ["[]", "3", "{", "[" * 100_000, "{}"])
def test_facts_of_an_entry_that_are_none_are_of_no_recipe(tmp_path, monkeypatch, text):
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path))
    (tmp_path / "kernel" / "key").mkdir(parents=True)
    (tmp_path / "kernel" / "key" / "kernel.json").write_text(text)
    assert built_earlier("kernel", "0" * 64) is None


@pytest.mark.parametrize("name", ["my cache", "a:b", "it's", "a$b", "50%", "a#b", "a,b"])
def test_a_cache_in_whose_path_make_cannot_build_is_refused_with_the_reason(monkeypatch, tmp_path, name):
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / name))
    with pytest.raises(HostError, match="make cannot build there") as caught:
        demand_path_for_make("compiling the module x.c")
    assert "export LEOWARP_CACHE=" in caught.value.hint
    # kbuild resolves symbolic links, so a symbolic link with a usable name is refused too.
    (tmp_path / name).mkdir()
    (tmp_path / "plain").symlink_to(tmp_path / name)
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "plain"))
    with pytest.raises(HostError):
        demand_path_for_make("compiling the module x.c")


def test_letters_of_any_language_are_no_hindrance(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "größe-1.0_b+c"))
    demand_path_for_make("compiling the module x.c")
