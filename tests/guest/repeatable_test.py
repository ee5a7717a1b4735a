# SPDX-License-Identifier: Apache-2.0
"""Tests that the same plan gives the same bytes in another directory, for another user, and beside other work."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.guest.building import kernel as building
from leowarp.guest.building.agent import agent

pytestmark = pytest.mark.guest

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-changes.toml"
# In a run of 40 s, the route change at 30 s causes late packets, retransmissions and DSACKs
DURATION = "40 s"


def trace_hashes(directory: Path) -> dict[str, str]:
    files = json.loads((directory / "manifest.json").read_text())["files"]
    return {name: digest for name, digest in files.items() if name.startswith("30-trace/")}


@pytest.fixture
def made(request):
    """A function that makes a run in a separate process, with the kernel that `--kernel` names."""
    name = request.config.getoption("--kernel")
    kernel_options = () if name == "default" else ("--kernel", name)

    def made(directory: Path, *options: str, prefix: tuple[str, ...] = (), environment: dict[str, str] | None = None):
        command = [*prefix, sys.executable, "-m", "leowarp", "run", *options, "--out", directory, "--no-report",
                   "--progress", "none", *kernel_options]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True, env=environment, stdout=subprocess.DEVNULL)
        return trace_hashes(directory)

    return made


@pytest.mark.parametrize("congestion_control", ["reno", "cubic", "bbr"])
def test_a_plan_gives_the_same_bytes_elsewhere(tmp_path, made, congestion_control):
    changes = {"run.duration": DURATION, "flows.0.congestion_control": congestion_control}
    first = lw.run(EXAMPLE, changes, tmp_path / "here", report=False, progress=False)
    assert first.summary["flows"][0]["late_pkts"] > 0
    there = tmp_path / "quite" / "another" / "place with a longer name"
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        environment = {**os.environ, "LC_ALL": "C", "A_LONG_VARIABLE": "x" * 20_000}
        again = made(there, str(first.path / "00-plan.toml"), environment=environment)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert again == trace_hashes(first.path)


def test_another_seed_gives_another_run_where_chance_matters(tmp_path, made):
    # On links without loss, CUBIC draws no random numbers, so its runs are equal for all seeds. On links with loss, the
    # seed decides which packets are lost.
    lossy = ("--set", "run.duration=3 s", "--set", "isl.loss=0.1 %")
    first = made(tmp_path / "1", str(EXAMPLE), *lossy)
    assert made(tmp_path / "2", str(EXAMPLE), *lossy, "--set", "run.seed=2") != first


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_gets_the_same_bytes(tmp_path, made):
    first = lw.run(EXAMPLE, {"run.duration": "3 s"}, tmp_path / "root", report=False, progress=False)
    home = Path(tempfile.mkdtemp(prefix="leowarp-user-"))
    try:
        # the other user gets root's build, so that nothing is built twice
        for kind, entry in (("kernel", building.kernel().program.parent), ("agent", agent().program.parent)):
            shutil.copytree(entry, home / "cache" / kind / entry.name)
        shutil.copy(first.path / "00-plan.toml", home / "plan.toml")
        subprocess.run(["chown", "-R", "65534:65534", home], check=True)
        # if the interpreter is in root's home directory, the other user needs read access to it, and gets no other
        # right
        read_only = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *read_only)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LEOWARP_CACHE": str(home / "cache")}
        again = made(home / "run", str(home / "plan.toml"), prefix=user, environment=environment)
    finally:
        shutil.rmtree(home)
    assert again == trace_hashes(first.path)
