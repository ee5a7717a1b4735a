# SPDX-License-Identifier: Apache-2.0
"""Tests of the sets of scripts, and of the command for each script."""

import tarfile
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp_conformance import scripts


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout with scripts for both IP versions, scripts for one version, and scripts that set their own
    addresses."""
    top = tmp_path / "gtests" / "net" / "tcp" / "close"
    top.mkdir(parents=True)
    for name in ("both", "basic-v4", "basic-v6"):
        (top / f"{name}.pkt").write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    (top / "own.pkt").write_text("// Two addresses\n--local_ip=192.168.0.2\n--remote_ip=10.248.0.2\n")
    (top / "own6.pkt").write_text("--local_ip=fd3d::2\n")
    return tmp_path


def test_a_directory_without_selftests_is_told(tmp_path):
    with pytest.raises(HostError, match=r"has no scripts \(\*\.pkt\)"):
        scripts.selftests(tmp_path, "default", "IPv4")


def test_a_tarball_without_selftests_is_told(tmp_path, monkeypatch):
    (tmp_path / "linux" / "net").mkdir(parents=True)
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as tarball:
        tarball.add(tmp_path / "linux", "linux")
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tmp_path / "linux.tar.xz"))
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    top = scripts.unpacked_selftests(print)
    with pytest.raises(HostError, match=r"has no scripts \(\*\.pkt\)"):
        scripts.selftests(top, "default", "IPv4")


def test_a_tarball_that_is_cut_short_is_told(tmp_path, monkeypatch):
    (tmp_path / "linux.tar.xz").write_bytes(b"\xfd7zXZ\x00")
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tmp_path / "linux.tar.xz"))
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(HostError, match="unpacking"):
        scripts.unpacked_selftests(print)


def test_selftests_of_a_tarball_are_found(tmp_path, monkeypatch):
    made = tmp_path / "linux-6.12" / scripts.SELFTESTS
    made.mkdir(parents=True)
    (made / "tcp_close.pkt").write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as tarball:
        tarball.add(tmp_path / "linux-6.12", "linux-6.12")
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tmp_path / "linux.tar.xz"))
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    found = scripts.selftests(scripts.unpacked_selftests(print), "plain", "IPv4")
    assert found.scripts == ("tcp_close.pkt",)
    assert found.name == "kernel, IPv4, plain"
    assert found.command("tcp_close.pkt")[:4] == ["unshare", "-n", "packetdrill", "--ip_version=ipv4"]


@pytest.mark.parametrize(
    ("ip", "names"), [("IPv4", ["basic-v4", "both", "own"]), ("IPv6", ["basic-v6", "both", "own6"])]
)
def test_a_set_has_the_scripts_for_its_version_of_ip(checkout, ip, names):
    found = scripts.googles(checkout, "default", ip)
    assert list(found.scripts) == [f"tcp/close/{name}.pkt" for name in names]


def test_an_option_that_a_script_names_itself_is_left_out(checkout):
    found = scripts.googles(checkout, "default", "IPv4")
    usual, own = (found.command(f"tcp/close/{name}.pkt") for name in ("both", "own"))
    assert {word.partition("=")[0] for word in usual} - {word.partition("=")[0] for word in own} == {
        "--local_ip",
        "--remote_ip",
    }
    assert [word for word in usual if not word.startswith(("--local_ip", "--remote_ip"))] == own


def test_a_checkout_without_scripts_gives_an_empty_set(tmp_path):
    assert scripts.googles(tmp_path, "default", "IPv4").scripts == ()
