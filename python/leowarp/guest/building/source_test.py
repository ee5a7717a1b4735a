# SPDX-License-Identifier: Apache-2.0
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.building import source
from support.waiting import wait_until_gone

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = Baby\n"


def debian_package(path: Path, content: bytes) -> None:
    """Write a Debian package with one file (deb(5)), in the form of dpkg-deb."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:xz") as tar:
        entry = tarfile.TarInfo(f"./usr/src/{source.PACKAGE}.tar.xz")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    parts = [("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", inner.getvalue())]
    with path.open("wb") as file:
        file.write(b"!<arch>\n")
        for name, data in parts:
            file.write(f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
            file.write(data + b"\n" * (len(data) % 2))


def tree(directory: Path) -> Path:
    for name in ("arch/um/Kconfig", "arch/arm64/Kconfig", "arch/arm64/boot/a.dts", "net/ipv4/tcp.c", "Documentation/a"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(name)
    (directory / "Makefile").write_text(MAKEFILE)
    (directory / "Kconfig").write_text("")
    return directory


def test_the_tarball_is_taken_out_of_a_debian_package(tmp_path):
    package = tmp_path / "p.deb"
    debian_package(package, b"the tarball")
    assert source.take_tarball(package, tmp_path).read_bytes() == b"the tarball"


def test_what_is_no_debian_package_is_refused(tmp_path):
    package = tmp_path / "p.deb"
    package.write_bytes(b"<html>a proxy's page</html>")
    with pytest.raises(HostError, match="not a Debian package"):
        source.take_tarball(package, tmp_path)


@pytest.fixture
def no_apt(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LEOWARP_KERNEL_SOURCE", raising=False)
    monkeypatch.setattr(source, "INSTALLED", tmp_path / "not-installed")
    monkeypatch.setattr(source.shutil, "which", lambda name: None)
    return tmp_path


def test_without_apt_the_pinned_package_is_fetched_and_checked(no_apt, monkeypatch):
    package = no_apt / source.PINNED_FILE
    debian_package(package, b"the tarball")
    monkeypatch.setattr(source, "PINNED_URLS", ((no_apt / "gone").as_uri(), package.as_uri()))
    monkeypatch.setattr(source, "PINNED_SHA256", hashlib.sha256(package.read_bytes()).hexdigest())
    messages: list[str] = []
    assert source.local_source() is None
    fetched = source.fetch_source(messages.append)
    assert fetched.tarball.read_bytes() == b"the tarball"
    assert fetched.version == source.PINNED_VERSION
    assert fetched.sha256 == hashlib.sha256(b"the tarball").hexdigest()
    assert source.local_source() == fetched
    assert len(messages) == 2


def test_another_checksum_is_refused_and_every_address_named(no_apt, monkeypatch):
    package = no_apt / "other.deb"
    debian_package(package, b"something else")
    monkeypatch.setattr(source, "PINNED_URLS", ((no_apt / "gone").as_uri(), package.as_uri()))
    with pytest.raises(HostError, match=r"gone.*other\.deb: sha256 is") as caught:
        source.fetch_source(lambda text: None)
    assert "LEOWARP_KERNEL_SOURCE" in caught.value.hint
    assert source.local_source() is None


def test_a_tarball_of_ones_own_is_used(no_apt, monkeypatch):
    tarball = no_apt / "linux.tar.xz"
    tarball.write_bytes(b"x")
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tarball))
    assert source.local_source() == source.Source(tarball, "linux.tar.xz", hashlib.sha256(b"x").hexdigest())
    tarball.write_bytes(b"changed")
    assert source.local_source().sha256 == hashlib.sha256(b"changed").hexdigest()
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", "/nonexistent")
    with pytest.raises(ScenarioError, match="/nonexistent is not a file"):
        source.local_source()


def test_dpkg_is_asked_once_for_each_tarball(no_apt, monkeypatch):
    tarball = no_apt / "installed.tar.xz"
    asked = []
    monkeypatch.setattr(source, "INSTALLED", tarball)
    monkeypatch.setattr(source, "_installed_version", lambda path: asked.append(path) or f"6.12-{len(asked)}")
    for number, content in enumerate((b"x", b"newer"), 1):
        tarball.write_bytes(content)
        expected = source.Source(tarball, f"6.12-{number}", hashlib.sha256(content).hexdigest())
        assert [source.local_source() for _ in range(2)] == [expected] * 2
    assert asked == [tarball, tarball]


def test_a_damaged_tarball_is_a_clear_error(tmp_path):
    broken = tmp_path / "linux.tar.xz"
    broken.write_bytes(b"not xz")
    with pytest.raises(HostError, match=r"unpacking .*linux\.tar\.xz"):
        source.unpack(source.Source(broken, "1", "0"), tmp_path / "out")


def test_the_version_is_the_makefiles(tmp_path):
    assert source.tree_version(tree(tmp_path)) == "6.12.7"
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(ScenarioError, match="not a kernel tree"):
        source.tree_version(tmp_path)


@pytest.mark.parametrize("with_git", [False, True])
def test_a_trees_checksum_follows_its_content(tmp_path, with_git):
    top = tree(tmp_path / "linux")
    if with_git:
        git = ["git", "-C", str(top), "-c", "user.name=t", "-c", "user.email=t@example.org"]
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
            subprocess.run([*git, *arguments], check=True)
    sums = [source.tree_sha256(top)]
    (top / "net/ipv4/tcp.c").write_text("patched")
    sums.append(source.tree_sha256(top))
    (top / "net/ipv4/tcp_new.c").write_text("new")
    sums.append(source.tree_sha256(top))
    (top / "net/ipv4/tcp_new.c").write_text("newer")
    sums.append(source.tree_sha256(top))
    assert len(set(sums)) == 4
    (top / "net/ipv4/tcp_new.c").unlink()
    (top / "net/ipv4/tcp.c").write_text("net/ipv4/tcp.c")
    (top / "net/ipv4/tcp.c").touch()
    assert source.tree_sha256(top) == sums[0]


def test_without_git_what_cannot_matter_is_left_out(tmp_path):
    top = tree(tmp_path)
    before = source.tree_sha256(top)
    (top / "Documentation/a").write_text("other")
    (top / "arch/arm64/boot/a.dts").write_text("other")
    assert source.tree_sha256(top) == before
    (top / "arch/um/Kconfig").write_text("other")
    assert source.tree_sha256(top) != before


def test_what_is_not_compiled_is_not_unpacked_but_its_kconfig_files(tmp_path):
    top = tree(tmp_path / "linux-6.12")
    for name in (
        "include/sound/core.h",
        "sound/core.c",
        "sound/Kconfig",
        "drivers/gpu/drm/Makefile",
        "drivers/gpu/a.c",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    for suffix, option in (("xz", "-cJf"), ("gz", "-czf")):
        tarball = tmp_path / f"linux.tar.{suffix}"
        subprocess.run(["tar", option, tarball, "-C", tmp_path, "linux-6.12"], check=True)
        got = source.unpack(source.Source(tarball, "1", "0"), tmp_path / suffix)
        assert got == tmp_path / suffix / "linux-6.12"
        assert sorted(str(p.relative_to(got)) for p in got.rglob("*") if p.is_file()) == [
            "Documentation/a", "Kconfig", "Makefile", "arch/arm64/Kconfig", "arch/um/Kconfig",
            "drivers/gpu/drm/Makefile", "include/sound/core.h", "net/ipv4/tcp.c", "sound/Kconfig",
        ]  # fmt: skip


def test_what_progress_raises_ends_the_unpacking(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "tar").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 100 & sleep 100\n")
    (tmp_path / "tar").chmod(0o755)
    tree(tmp_path / "linux")
    subprocess.run(["/bin/tar", "-cJf", tmp_path / "l.tar.xz", "-C", tmp_path, "linux"], check=True)
    seen: list[tuple[int, int]] = []

    def interrupt(done_bytes: int, whole_bytes: int) -> None:
        seen.append((done_bytes, whole_bytes))
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.unpack(source.Source(tmp_path / "l.tar.xz", "1", "0"), tmp_path / "out", interrupt)
    session = int((tmp_path / "pid").read_text())
    wait_until_gone(lambda: members_of_session(session))
    assert seen[-1] == (0, (tmp_path / "l.tar.xz").stat().st_size)
