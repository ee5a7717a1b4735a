# SPDX-License-Identifier: Apache-2.0
"""Tests that an ordinary user with only the wheel can run a scenario in an empty environment without compilers."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from leowarp.version import REVISION, build_version, revision_of, sources

pytestmark = [pytest.mark.guest, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
# Build tools that a user's machine may lack, and that the wheel must not need.
TOOLS = ("gcc", "cc", "ld", "make", "cargo", "rustc", "nm", "flex", "bison")


@pytest.fixture(scope="module")
def wheel() -> Iterator[Path]:
    """The wheel in a directory that every user can read, because pytest's own directories are private."""
    with tempfile.TemporaryDirectory(prefix="leowarp-wheel-") as scratch:
        os.chmod(scratch, 0o755)
        command = [sys.executable, ROOT / "tools" / "wheel.py", scratch]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        (wheel,) = Path(scratch).glob("*.whl")
        yield wheel


def test_the_wheel_carries_kernel_agent_and_what_the_gpl_asks_for(wheel):
    tag = re.search(r"-cp311-abi3-manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    assert tag is not None, wheel.name
    with zipfile.ZipFile(wheel) as archive:
        library = archive.read("leowarp/_native.abi3.so")
        names = set(archive.namelist())
        facts = json.loads(archive.read("leowarp/_guest/kernel.json"))
        copying = archive.read("leowarp/_guest/source/COPYING").decode()
        rebuild = archive.read("leowarp/_guest/source/REBUILD.md").decode()
        revision = json.loads(archive.read(f"leowarp/{REVISION}"))
    # The wheel's tag must name the oldest glibc that has every symbol version which the library needs.
    versions = {int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library)}
    assert max(versions) == int(tag[1])
    files = [path for path in (ROOT / "guest").rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    sources = [path.relative_to(ROOT / "guest").as_posix() for path in files]
    assert "links/leolink_qdisc.c" in sources
    assert {f"leowarp/_guest/source/{name}" for name in sources} <= names
    assert {"leowarp/_guest/linux", "leowarp/_guest/config", "leowarp/_guest/leowarp-agent"} <= names
    assert "leowarp/_guest/module-tree.tar.xz" in names
    assert {"leowarp/examples/chain.toml", "leowarp/examples/mild_reno.c"} <= names
    assert facts["linux_version"].startswith("6.12.")
    assert len(facts["source_sha256"]) == 64
    assert "GNU GENERAL PUBLIC LICENSE" in copying
    assert "linux-source-6.12" in rebuild
    assert not [name for name in names if name.endswith("_test.py")]
    assert revision == {"version": build_version(ROOT), **revision_of(ROOT)}


def ordinary_user(python: Path, libraries: str) -> list[str]:
    """Return the words to put before a command, so that the command runs without privileges.

    If root runs the test, the command runs as the user `nobody`. `nobody` may lack access to a directory above Python
    or its libraries, such as /root. The command then runs as root without capabilities.
    """
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    assert setpriv, "setpriv, of util-linux"
    nobody = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    look = "import os, sys; os.listdir(sys.argv[1]); os.stat(sys.executable)"
    if subprocess.run([*nobody, python, "-c", look, libraries], check=False, capture_output=True).returncode == 0:
        return nobody
    return [setpriv, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


def test_an_ordinary_user_without_a_compiler_runs_a_scenario(wheel):
    home = wheel.parent / "home"
    environment = home / "environment"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel]
    subprocess.run(install, check=True)
    # The new environment contains only leowarp. The environment of this test provides all other libraries. The search
    # path lists the environment of this test last, because leowarp itself must come from the new environment.
    (site_packages,) = environment.glob("lib/python*/site-packages")
    (site_packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    programs = home / "bin"
    programs.mkdir()
    for tool in ("sh", "uname"):
        (programs / tool).symlink_to(shutil.which(tool))
    assert not any(shutil.which(tool, path=str(programs)) for tool in TOOLS)

    become = ordinary_user(python, sysconfig.get_path("purelib"))
    if f"--reuid={NOBODY}" in become:
        os.chown(home, NOBODY, NOBODY)
    clean = {"PATH": str(programs), "HOME": str(home), "LANG": "C.UTF-8"}

    def run(*command: str) -> str:
        full = [*become, str(python), "-P", "-m", "leowarp", *command]
        done = subprocess.run(full, cwd=home, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = [*become, str(python), "-P", "-c", "import leowarp; print(leowarp.__file__)"]
    assert (
        str(environment)
        in subprocess.run(where, cwd=home, env=clean, check=True, capture_output=True, text=True).stdout
    )
    assert str(environment) in run("kernel", "path")
    scenario = site_packages / "leowarp" / "examples" / "chain.toml"
    run("run", str(scenario), "--out", "run", "--set", 'run.duration="5 s"')
    summary = json.loads((home / "run" / "summary.json").read_text())
    assert summary["virtual_s"] == 5
    assert not (home / "run" / "INCOMPLETE").exists()
    # The manifest of the installed package must contain the checkout's commit and files.
    assert json.loads((home / "run" / "manifest.json").read_text()).items() >= sources().items()
    (home / "arrivals.txt").write_text("1\n3\n2\n4\n")
    assert json.loads(run("reorder", "arrivals.txt", "--threshold", "3", "--json"))["reordered_ratio"] == 0.25
