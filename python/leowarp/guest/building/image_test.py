# SPDX-License-Identifier: Apache-2.0
"""Tests that kernel and agent are built in parallel, and of the initramfs."""

import hashlib
import threading
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.base.progress import BuildProgress
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.building import image, recipe
from leowarp.guest.building.agent import Agent
from leowarp.guest.building.agent import agent as real_agent
from leowarp.guest.building.image import guest_image, initramfs
from leowarp.guest.building.kernel import Kernel
from support.waiting import wait_until_gone

STEP = BuildProgress("compile", 1, 10, 0.1, 1.0, 1.0)
KERNEL = Kernel(Path("linux"), {}, {})
AGENT = Agent(Path("leowarp-agent"), {})


def test_both_are_built_at_once(monkeypatch):
    both = threading.Barrier(2)

    def kernel(*arguments, **named):
        both.wait()
        return KERNEL

    def agent(**named):
        both.wait()
        return AGENT

    monkeypatch.setattr(image, "kernel", kernel)
    monkeypatch.setattr(image, "agent", agent)
    made = guest_image()
    assert (made.kernel, made.agent) == (KERNEL.program, AGENT.program)


def test_an_agent_that_fails_ends_the_kernels_build_and_is_what_is_reported(monkeypatch):
    failing = threading.Event()

    def agent(**named):
        failing.set()
        raise HostError("building the agent: no cargo")

    def kernel(*arguments, on_progress, **named):
        failing.wait()
        while True:  # The loop ends when `on_progress` raises an error.
            on_progress(STEP)

    monkeypatch.setattr(image, "kernel", kernel)
    monkeypatch.setattr(image, "agent", agent)
    with pytest.raises(HostError, match="no cargo"):
        guest_image()


def test_an_agent_that_fails_when_the_kernel_is_there_is_reported(monkeypatch):
    def agent(**named):
        raise HostError("building the agent: no cargo")

    monkeypatch.setattr(image, "kernel", lambda *arguments, **named: KERNEL)
    monkeypatch.setattr(image, "agent", agent)
    with pytest.raises(HostError, match="no cargo"):
        guest_image()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), HostError("building the guest kernel failed")])
def test_a_kernel_that_fails_and_ctrl_c_end_cargo_and_all_that_it_started(monkeypatch, tmp_path, error):
    checkout, tools = tmp_path / "checkout", tmp_path / "tools"
    (checkout / "crates" / "agent").mkdir(parents=True)
    tools.mkdir()
    for file in (checkout / "Cargo.toml", checkout / "Cargo.lock", checkout / "crates" / "agent" / "Cargo.toml"):
        file.write_text("")
    cargo = f"echo $$ > {tmp_path}/partial; mv {tmp_path}/partial {tmp_path}/pid; sleep 100 & sleep 100"
    for name, text in (("cargo", cargo), ("rustc", "echo rustc 1.90.0")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe, "agent_sources", lambda: checkout)
    asked = threading.Event()

    def agent(*, on_message, on_wait):
        def noticed() -> None:
            if (tmp_path / "pid").exists():
                asked.set()
            on_wait()

        return real_agent(on_message=on_message, on_wait=noticed)

    def kernel(*arguments, **named):
        asked.wait()
        raise error

    monkeypatch.setattr(image, "kernel", kernel)
    monkeypatch.setattr(image, "agent", agent)
    with pytest.raises(type(error)):
        guest_image()
    session = int((tmp_path / "pid").read_text())
    wait_until_gone(lambda: members_of_session(session))
    assert [entry.name for entry in (tmp_path / "cache" / "agent").iterdir() if ".tmp" in entry.name] == []


def entries(archive: bytes) -> dict[str, tuple[int, bytes, int, int]]:
    """Read an archive in the newc format of cpio(5). Return a dict from the name of an entry to its mode, content,
    device major and device minor."""
    files: dict[str, tuple[int, bytes, int, int]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size_bytes, major, minor, name_bytes = fields[1], fields[6], fields[9], fields[10], fields[11]
        name = archive[at + 110 : at + 110 + name_bytes - 1].decode()
        content_at = (at + 110 + name_bytes + 3) // 4 * 4
        if name == "TRAILER!!!":
            return files
        files[name] = (mode, archive[content_at : content_at + size_bytes], major, minor)
        at = (content_at + size_bytes + 3) // 4 * 4


def test_the_archive_holds_init_and_the_console(tmp_path):
    init = tmp_path / "agent"
    init.write_bytes(b"\x7fELF odd length")
    files = entries(initramfs(init, 0))
    assert files["init"] == (0o100755, b"\x7fELF odd length", 0, 0)
    assert files["dev/console"] == (0o020600, b"", 5, 1)
    assert files["dev/null"] == (0o020600, b"", 1, 3)
    assert next(iter(files)) == "dev"


def test_the_archive_is_the_same_everywhere(tmp_path):
    init = tmp_path / "agent"
    init.write_bytes(b"program")
    archive = initramfs(init, 0)
    # The hash is a recorded value. If the archive's bytes change, the guest's initial memory changes in every run.
    assert hashlib.sha256(archive).hexdigest() == GOLDEN_SHA256
    assert len(archive) % 512 == 0


GOLDEN_SHA256 = "6f4ab8eeda8caedd19ba8af4a17c33668ea39715d34e4691bad1d9b22c35cb65"
