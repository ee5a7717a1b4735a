# SPDX-License-Identifier: Apache-2.0
"""The kernel's source: Debian's `linux-source-6.12`, which is installed, fetched by apt, or fetched by its checksum.

All three ways give the same Debian tarball.
"""

import hashlib
import json
import lzma
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from leowarp.base import plainfiles
from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.ownership import make_directory
from leowarp.guest.building.cache import cache_folder, read_facts, sha256_of_file
from leowarp.guest.machine.host import apt
from leowarp.guest.machine.session import own_session

SERIES = "6.12"
PACKAGE = f"linux-source-{SERIES}"
INSTALLED = Path(f"/usr/src/{PACKAGE}.tar.xz")
# Without apt, this version of the package is downloaded from snapshot.debian.org, which keeps every version, and its
# checksum is verified.
PINNED_VERSION = "6.12.117-1~deb12u1"
PINNED_SHA256 = "e849faf31ca3555757f3a8877cb01af92122f744f75d1f3102734651c4e14703"
PINNED_FILE = f"{PACKAGE}_{PINNED_VERSION}_all.deb"
PINNED_URLS = (
    f"https://deb.debian.org/debian-security/pool/updates/main/l/linux-{SERIES}/{PINNED_FILE}",
    f"https://snapshot.debian.org/file/{PINNED_SHA256}/{PINNED_FILE}",
)
# With ARCH=um and guest/kernel.config, nothing in these directories is compiled (design/kernel-config.md).
OTHER_ARCHITECTURES = (
    "alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze", "mips", "nios2", "openrisc",
    "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa",
)  # fmt: skip
NOT_COMPILED = (
    "Documentation", "samples", "sound", "tools/perf", "tools/testing", "drivers/accel", "drivers/clk", "drivers/gpu",
    "drivers/infiniband", "drivers/media", "drivers/net/dsa", "drivers/net/ethernet", "drivers/net/wireless",
    "drivers/scsi", "drivers/staging", "drivers/usb", *(f"arch/{name}" for name in OTHER_ARCHITECTURES),
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A tarball of the kernel's source.

    tarball: A file that contains one top directory.
    version: The version of the Debian package, or the file name of the user's tarball.
    """

    tarball: Path
    version: str
    sha256: str


def local_source() -> Source | None:
    named = os.environ.get("LEOWARP_KERNEL_SOURCE")
    # The order is: the source that the user names, then the installed one, then one fetched earlier.
    if named:
        tarball = Path(named)
        if not tarball.is_file():
            raise ScenarioError(f"looking for the kernel's source: LEOWARP_KERNEL_SOURCE={named} is not a file")
        return Source(tarball, tarball.name, remembered_sha256(tarball))
    if INSTALLED.is_file():
        known = _remembered(INSTALLED, {"sha256": sha256_of_file, "version": _installed_version})
        return Source(INSTALLED, known["version"], known["sha256"])
    kept = _sources() / f"{PACKAGE}.tar.xz"
    if kept.is_file():
        version = (_sources() / "version").read_text().strip()
        return Source(kept, version, remembered_sha256(kept))
    return None


def own_source(tarball: Path) -> Source:
    """Return the user's tarball as a `Source`. Raises HostError if it is missing."""
    if not tarball.is_file():
        raise HostError(
            f"unpacking {tarball}: it is gone", hint="add the kernel again: leowarp kernel add NAME --source"
        )
    return Source(tarball, tarball.name, remembered_sha256(tarball))


def fetch_source(on_message: Callable[[str], None]) -> Source:
    """Download Debian's package (153 MB) without root's rights, and extract the tarball.

    Raises HostError if neither apt nor any of the archive's addresses provides the package.
    """
    make_directory(_sources())
    with tempfile.TemporaryDirectory(dir=_sources()) as scratch:
        directory = Path(scratch)
        package = _by_apt(directory, on_message) or _by_checksum(directory, on_message)
        version = package.name.split("_")[1].replace("%7e", "~")
        tarball = take_tarball(package, directory)
        (_sources() / "version").write_text(version + "\n")
        # The tarball is moved last: `local_source` assumes that an existing tarball is complete and has its version
        # beside it.
        os.replace(tarball, _sources() / f"{PACKAGE}.tar.xz")
    source = local_source()
    assert source is not None
    return source


def _by_apt(directory: Path, on_message: Callable[[str], None]) -> Path | None:
    """Fetch Debian's package with apt, which checks the signature. If apt fails, tell the reason and return None."""
    if shutil.which("apt-get") is None:
        return None
    on_message(f"fetching {PACKAGE} (153 MB) by apt-get download")
    # If root runs apt, it downloads as the user `_apt`, who may not write to this directory.
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", PACKAGE]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    packages = sorted(directory.glob("*.deb"))
    if done.returncode == 0 and packages:
        return packages[0]
    on_message(f"apt-get download {PACKAGE} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return None


def _by_checksum(directory: Path, on_message: Callable[[str], None]) -> Path:
    """Download Debian's package from its archives. Only its sha256 decides whether the file is accepted."""
    refused = []
    for url in PINNED_URLS:
        on_message(f"fetching {url}")
        target = directory / PINNED_FILE
        # The import is here, because few runs fetch anything.
        from urllib.request import urlopen

        try:
            with urlopen(url, timeout=60) as answer, target.open("wb") as file:
                shutil.copyfileobj(answer, file, 1 << 20)
        except OSError as error:
            refused.append(f"{url}: {error}")
            continue
        # Only the checksum is trusted, not the server, so any mirror is acceptable.
        if (sha256 := sha256_of_file(target)) == PINNED_SHA256:
            return target
        refused.append(f"{url}: sha256 is {sha256}, expected {PINNED_SHA256}")
    raise HostError(
        "fetching the kernel's source: " + "; ".join(refused),
        hint=f"on Debian or Ubuntu: {apt([PACKAGE])}; elsewhere fetch {PINNED_FILE} (or the tarball of Linux {SERIES} "
        "from https://cdn.kernel.org/pub/linux/kernel/v6.x/) by hand, take the .tar.xz out and set "
        "LEOWARP_KERNEL_SOURCE to it",
    )


def take_tarball(package: Path, directory: Path) -> Path:
    """Extract the kernel's tarball from a Debian package, without dpkg. Such a package is an ar archive with a tar
    inside (deb(5)).

    Raises HostError if the package is invalid, or contains no kernel tarball.
    """
    data = _member_of_ar(package, "data.tar", directory)
    subprocess.run(["tar", "-xf", str(data), "-C", str(directory), f"./usr/src/{PACKAGE}.tar.xz"], check=True)
    data.unlink()
    return directory / "usr" / "src" / f"{PACKAGE}.tar.xz"


def _member_of_ar(archive: Path, prefix: str, directory: Path) -> Path:
    with archive.open("rb") as file:
        if file.read(8) != b"!<arch>\n":
            raise HostError(f"unpacking {archive}: it is not a Debian package")
        while header := file.read(60):
            name, size_bytes = header[:16].decode().strip().rstrip("/"), int(header[48:58])
            if name.startswith(prefix):
                target = directory / name
                target.write_bytes(file.read(size_bytes))
                return target
            # Members of an ar archive begin at even positions (deb(5)).
            file.seek(size_bytes + size_bytes % 2, os.SEEK_CUR)
    raise HostError(f"unpacking {archive}: it holds no {prefix}")


def unpack(
    source: Source,
    directory: Path,
    on_progress: Callable[[int, int], None] = lambda done, whole: None,
    *,
    whole: bool = False,
) -> Path:
    """Unpack a kernel source into `directory`, and return the directory of the kernel tree. Only the files that ARCH=um
    needs are unpacked. If `whole` is set, all files are unpacked.

    `on_progress` is called a few times per second with the number of bytes read and the tarball's size. If
    `on_progress` raises an exception, tar ends.
    """
    directory.mkdir(parents=True, exist_ok=True)
    whole_bytes = source.tarball.stat().st_size
    excluded = [] if whole else [f"--exclude={pattern}" for pattern in _not_unpacked(_top(source))]
    with source.tarball.open("rb") as tarball, (directory / "errors").open("w+") as errors:
        # tar reads the tarball through a descriptor of leowarp, whose position shows the progress. If root runs tar, it
        # would by default give the files to the user whom the tarball names, who could then change them.
        own = ["--no-same-owner", "--no-same-permissions"]
        read = [_decompression(tarball), "-f", "-"]
        command = ["tar", "-x", *own, *read, "-C", str(directory), "--anchored", *excluded]
        with own_session(command, stdin=tarball, stdout=errors) as process:
            while True:
                try:
                    process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    on_progress(os.lseek(tarball.fileno(), 0, os.SEEK_CUR), whole_bytes)
        errors.seek(0)
        said = errors.read().strip()
    (directory / "errors").unlink()
    if process.returncode != 0:
        raise HostError(
            f"unpacking {source.tarball} into {directory}: {said[-500:]}",
            hint=f"it needs xz and 1 GB there: {apt(['xz-utils'])}; LEOWARP_CACHE names another place",
        )
    trees = [p for p in directory.iterdir() if (p / "Kconfig").is_file()]
    if len(trees) != 1:
        raise HostError(f"unpacking {source.tarball}: it holds no kernel tree at its top")
    return trees[0]


def _decompression(tarball: IO[bytes]) -> str:
    """Return tar's option for the compression of the tarball. The option follows from the first bytes of the file. tar
    itself detects the compression only for files that it opens."""
    begin = os.pread(tarball.fileno(), 4, 0)
    return {b"\x1f\x8b": "--gzip", b"BZ": "--bzip2", b"\x28\xb5": "--zstd"}.get(begin[:2], "--xz")


def _top(source: Source) -> str:
    """Return the name of the directory at the top of a tarball. tar's patterns begin with this name."""
    try:
        with tarfile.open(source.tarball) as archive:
            first = archive.next()
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise HostError(f"unpacking {source.tarball}: {error}", hint="fetch it again") from error
    return first.name.split("/")[0] if first is not None else ""


def _not_unpacked(top: str) -> list[str]:
    """Return the patterns by which tar leaves out files that the build does not need. Kconfig files and Makefiles are
    kept, because kbuild reads them even in parts that it does not compile."""
    kinds = ("[chS]", "dts*", "rst", "yaml", "json", "sh", "py")
    return [f"{top}/{name}/*.{kind}" for name in NOT_COMPILED for kind in kinds]


def tree_version(tree: Path) -> str:
    """Read the version of a kernel tree from the first lines of its Makefile: "6.12.117".

    Raises ScenarioError if there is no Makefile, or it lacks VERSION, PATCHLEVEL or SUBLEVEL.
    """
    fields = {}
    try:
        beginning = plainfiles.read(tree / "Makefile", 1 << 20, links=True).decode(errors="replace")
    except OSError as error:
        raise ScenarioError(f"reading {tree / 'Makefile'}: {error.strerror}: not a kernel tree") from error
    # VERSION, PATCHLEVEL, SUBLEVEL and NAME are the first lines of every Linux Makefile, after the licence.
    for line in beginning.splitlines()[:10]:
        name, separator, value = line.partition("=")
        if separator:
            fields[name.strip()] = value.strip()
    try:
        return f"{fields['VERSION']}.{fields['PATCHLEVEL']}.{fields['SUBLEVEL']}{fields.get('EXTRAVERSION', '')}"
    except KeyError as error:
        raise ScenarioError(f"reading {tree / 'Makefile'}: it has no {error} line: not a kernel tree") from error


def tree_sha256(tree: Path) -> str:
    """Return a sha256 that changes when the content of a tree changes.

    If the tree is a git repository, the hash covers the commit's tree, the output of `git diff HEAD` and the untracked
    files. If the tree is not a repository, the function reads each file that matters for ARCH=um (`_matters`), which
    takes some seconds.
    """
    total = hashlib.sha256()
    if (tree / ".git").exists():
        # The hash of the commit's tree is used instead of the commit's hash. A commit message does not affect the
        # kernel.
        total.update(_git(tree, "rev-parse", "HEAD^{tree}"))
        total.update(_git(tree, "diff", "HEAD", "--binary"))
        names = sorted(_git(tree, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"))
        files = [tree / os.fsdecode(name) for name in names if name]
    else:
        files = sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink() and _matters(p, tree))
    for path in files:
        total.update(f"{path.relative_to(tree)}\0{sha256_of_file(path)}\n".encode())
    return total.hexdigest()


def _matters(path: Path, tree: Path) -> bool:
    place = path.relative_to(tree)
    # Kconfig files of all architectures are read, whichever architecture is built.
    return path.name.startswith("Kconfig") or not any(place.is_relative_to(name) for name in NOT_COMPILED)


def _git(tree: Path, *arguments: str) -> bytes:
    # The tree may belong to another user, so `safe.directory` is set. The tree's settings can make git run programs
    # (core.fsmonitor, filters by attribute). The caller therefore uses git only on a tree that the user has accepted
    # (`trust`). With `--no-optional-locks`, git writes nothing into the tree.
    command = ["git", "-c", f"safe.directory={tree.resolve()}", "--no-optional-locks", "-C", str(tree), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise HostError(f"asking git about {tree}: git is not on the PATH", hint=apt(["git"])) from error
    except subprocess.CalledProcessError as error:
        raise HostError(f"asking git about {tree}: {error.stderr.decode(errors='replace').strip()}") from error


def _installed_version(tarball: Path) -> str:
    if shutil.which("dpkg-query") is None:
        return tarball.name
    command = ["dpkg-query", "-W", "-f", "${Version}", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else tarball.name


def _sources() -> Path:
    return cache_folder("sources")


def remembered_sha256(path: Path) -> str:
    """Return the sha256 of a large file, as `_remembered`."""
    return _remembered(path, {"sha256": sha256_of_file})["sha256"]


def _remembered(path: Path, facts: Mapping[str, Callable[[Path], str]]) -> dict[str, str]:
    """Return the result of each function in `facts` for a large file. Results come from a cache if the file's size and
    modification time have not changed."""
    status = path.stat()
    stamp = [str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino]
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    memory = cache_folder("checksums") / f"{name}.json"
    known = read_facts(memory)
    if known.get("stamp") == stamp and all(isinstance(known.get(fact), str) for fact in facts):
        return {fact: str(known[fact]) for fact in facts}
    computed = {fact: compute(path) for fact, compute in facts.items()}
    make_directory(memory.parent)
    # The computed facts are stored, because reading 150 MB would cost each command a fraction of a second. The stored
    # file is replaced as a whole, so that two concurrent writers never mix their contents.
    partial = memory.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"stamp": stamp, **computed}))
    os.replace(partial, memory)
    return computed
