# SPDX-License-Identifier: Apache-2.0
"""Tests of the cache and the errors of the agent's build. A fake cargo keeps the tests fast."""

import json
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.guest.building import recipe
from leowarp.guest.building.agent import _USED, agent
from leowarp.guest.building.cache import sha256_of_file

CARGO = """#!/bin/sh
echo "$@" >> "$LEOWARP_CACHE/builds"
echo "$CARGO_ENCODED_RUSTFLAGS" > "$LEOWARP_CACHE/flags"
%s
mkdir -p "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release"
echo program > "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release/leowarp-agent"
"""


@pytest.fixture
def workshop(monkeypatch, tmp_path):
    """Return a checkout with one source file. Also set up a fake cargo, a fake rustc and an empty cache."""
    checkout = tmp_path / "checkout"
    (checkout / "crates" / "agent" / "src").mkdir(parents=True)
    (checkout / "crates" / "used" / "src").mkdir(parents=True)
    (checkout / "crates" / "other").mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "crates/agent/src/main.rs"):
        (checkout / name).write_text(name)
    (checkout / "crates/agent/Cargo.toml").write_text('[dependencies]\nlibc = "1"\nused = { path = "../used" }\n')
    (checkout / "crates/used/Cargo.toml").write_text("[package]\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(recipe, "agent_sources", lambda: checkout)

    def tool(name: str, text: str) -> None:
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)

    def cargo(line: str = "") -> Path:
        tool("cargo", CARGO % line)
        tool("rustc", "#!/bin/sh\necho rustc 1.90.0\n")
        return tmp_path

    cargo()
    return cargo


def builds(place: Path) -> int:
    return len((place / "cache" / "builds").read_text().splitlines())


def test_the_agent_is_built_once_static_and_free_of_paths(workshop):
    place = workshop()
    built = agent()
    assert built.program.read_text() == "program\n"
    assert built.program.stat().st_mode & 0o111
    assert built.facts["compiler"] == "rustc 1.90.0"
    assert built.facts["agent_sha256"] == sha256_of_file(built.program)
    assert agent() == built
    assert builds(place) == 1
    flags = (place / "cache" / "flags").read_text()
    assert "+crt-static" in flags
    assert f"--remap-path-prefix={place}/checkout=" in flags


@pytest.mark.parametrize(
    "name", ["Cargo.lock", "crates/agent/src/main.rs", "crates/agent/src/new.rs", "crates/used/src/lib.rs"]
)
def test_each_source_is_in_the_key(workshop, tmp_path, name):
    first = agent()
    (tmp_path / "checkout" / name).write_text("changed")
    assert agent().program != first.program


def test_a_crate_that_the_agent_does_not_use_is_not_in_the_key(workshop, tmp_path):
    first = agent()
    (tmp_path / "checkout" / "crates" / "other" / "lib.rs").write_text("new")
    assert agent().program == first.program


def test_a_failed_build_names_its_log_and_its_errors(workshop):
    workshop("echo 'error[E0308]: mismatched types' >&2; exit 101")
    with pytest.raises(HostError, match=r"E0308.*") as caught:
        agent()
    log = next(word for word in caught.value.message.split() if "failed-build.log" in word).rstrip(";")
    assert "mismatched types" in Path(log).read_text()


def test_without_a_compiler_what_was_built_earlier_is_used(workshop, monkeypatch, tmp_path):
    built = agent()
    monkeypatch.setenv("PATH", "/nonexistent")
    # Clear the record of used agents, as in a new process.
    _USED.clear()
    assert agent() == built
    (tmp_path / "checkout" / "Cargo.lock").write_text("changed")
    with pytest.raises(HostError, match="not on the PATH") as caught:
        agent()
    assert "apt-get install" in caught.value.hint


def test_a_stand_in_of_rustup_without_a_toolchain_is_no_compiler(workshop, monkeypatch, tmp_path):
    built = agent()
    (tmp_path / "tools" / "rustc").write_text("#!/bin/sh\necho error: rustup could not choose a version >&2; exit 1\n")
    messages = []
    # A second call of `agent` in the same process does not run rustc again.
    assert agent(on_message=messages.append) == built
    assert not messages
    _USED.clear()
    assert agent(on_message=messages.append) == built
    assert "could not choose a version" in messages[0]
    assert "built earlier" in messages[0]
    (tmp_path / "checkout" / "Cargo.lock").write_text("changed")
    with pytest.raises(HostError, match="could not choose a version") as caught:
        agent()
    assert "rustup" in caught.value.hint


def test_a_wheel_uses_the_agent_it_carries(monkeypatch, tmp_path):
    (tmp_path / "leowarp-agent").write_text("program")
    (tmp_path / "agent.json").write_text('{"key": "k"}')
    sums = {name: sha256_of_file(tmp_path / name) for name in ("leowarp-agent", "agent.json")}
    (tmp_path / "files.json").write_text(json.dumps(sums))
    monkeypatch.setattr(recipe, "PACKAGED", tmp_path)
    monkeypatch.setattr(recipe, "agent_sources", lambda: None)
    assert agent().program == tmp_path / "leowarp-agent"
    (tmp_path / "leowarp-agent").write_text("bit rot")
    with pytest.raises(HostError, match="force-reinstall"):
        agent()
