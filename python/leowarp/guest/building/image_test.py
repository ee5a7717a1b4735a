# SPDX-License-Identifier: Apache-2.0
"""Tests that kernel and agent are built in parallel."""

import threading
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.base.progress import BuildProgress
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.building import image, recipe
from leowarp.guest.building.agent import Agent
from leowarp.guest.building.agent import agent as real_agent
from leowarp.guest.building.image import guest_image
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
