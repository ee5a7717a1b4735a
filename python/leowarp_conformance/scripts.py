# SPDX-License-Identifier: Apache-2.0
"""The sets of scripts, and the commands by which the drivers of these sets call packetdrill."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.building.cache import content_key, entry_or_build
from leowarp.guest.building.source import Source, fetch_source, local_source
from leowarp_conformance.packetdrill import GOOGLES_SCRIPTS, NETNS

SELFTESTS = "tools/testing/selftests/net/packetdrill"
KERNELS = "kernel"
GOOGLES = "google"

# ksft_runner.sh of the selftests and run_all.py of packetdrill use the same addresses.
_ADDRESSES = {
    "IPv4": (
        "--ip_version=ipv4", "--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0",
        "--remote_ip=192.0.2.1", "-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR",
    ),
    "IPv6": (
        "--ip_version=ipv6", "--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1",
        "--remote_ip=fd3d:fa7b:d17d::1", "-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR",
    ),
}  # fmt: skip
_GOOGLES_ADDITIONS = {
    "IPv4": ("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "CODE=host_unreachable"),
    "IPv6": ("-D", "TFO_COOKIE=c1d1e9742a47a9bc"),
}
# Maps each IP version to the suffix of scripts for the other IP version (CmdsTests in run_all.py).
_FOR_OTHER = {"IPv4": "v6.pkt", "IPv6": "v4.pkt"}
# Each entry is the kernel and the IP version of one set of scripts. The list includes every optional kernel with which
# users may make results. It also includes IPv6 for kernels that support it.
PLACES = (("default", "IPv4"), ("plain", "IPv4"), ("6.12+net", "IPv6"))


@dataclass(frozen=True)
class ScriptSet:
    """The scripts that one driver runs on one kernel.

    origin: The source of the scripts, `KERNELS` or `GOOGLES`.
    kernel: The name of the kernel.
    ip: The IP version, ``"IPv4"`` or ``"IPv6"``.
    top: The directory whose files a script may read.
    scripts: The paths relative to `top`.
    words: The words of the command that calls packetdrill, without options.
    options: The options that the driver gives to packetdrill.
    """

    origin: str
    kernel: str
    ip: str
    top: Path
    scripts: tuple[str, ...]
    words: tuple[str, ...]
    options: tuple[str, ...]

    def command(self, script: str) -> list[str]:
        """Return the command for a script, without the script's path.

        An option that the script sets itself is left out. Otherwise, packetdrill would use the command's value. A
        script that sets addresses expects packets with these addresses.
        """
        own = own_options((self.top / script).read_text(encoding="utf-8", errors="replace"))
        return [*self.words, *(each for each in self.options if each.partition("=")[0] not in own)]

    @property
    def name(self) -> str:
        """Return the name that messages use for this set of scripts."""
        return f"{self.origin}, {self.ip}, {self.kernel}"


def selftests(top: Path, kernel: str, ip: str) -> ScriptSet:
    """Return the selftests from the kernel's source, with the settings of `ksft_runner.sh`.

    Raises HostError if `top` contains no selftests.
    """
    scripts = tuple(sorted(path.name for path in top.glob("*.pkt")))
    if not scripts:
        raise HostError(
            f"running conformance tests: {top} has no scripts (*.pkt)",
            hint=f"the kernel's source needs {SELFTESTS}, as Linux has since 6.12",
        )
    return ScriptSet(KERNELS, kernel, ip, top, scripts, ("unshare", "-n", "packetdrill"), _ADDRESSES[ip])


def googles(sources: Path, kernel: str, ip: str) -> ScriptSet:
    """Return the scripts that come with packetdrill, with the settings of `run_all.py`. The set may be empty.

    sources: The checkout of packetdrill.
    """
    top = sources / GOOGLES_SCRIPTS
    scripts = tuple(str(path.relative_to(top)) for path in sorted((top / "tcp").rglob("*.pkt")) if _is_for(path, ip))
    options = (*_ADDRESSES[ip], *_GOOGLES_ADDITIONS[ip])
    return ScriptSet(GOOGLES, kernel, ip, top, scripts, (NETNS, "packetdrill", "--send_omit_free"), options)


def own_options(text: str) -> dict[str, str]:
    r"""Return the options that a script sets itself, with their values.

    >>> own_options("// A script\n--local_ip=192.168.0.2\n0 socket(..., SOCK_STREAM, 0) = 3")
    {'--local_ip': '192.168.0.2'}
    """
    return dict(re.findall(r"^(--\w+)(?:=(\S+))?", text, re.MULTILINE))


def _is_for(script: Path, ip: str) -> bool:
    """Return true if the script is for the IP version `ip`."""
    address = own_options(script.read_text(encoding="utf-8", errors="replace")).get("--local_ip")
    return not script.name.endswith(_FOR_OTHER[ip]) and (address is None or (":" in address) == (ip == "IPv6"))


def unpacked_selftests(on_message: Callable[[str], None]) -> Path:
    """Return the directory of the selftests from the tarball of the guest kernel's source. The directory is in the
    cache.

    Raises HostError if the tarball is missing or cannot be read.
    """
    source = local_source() or fetch_source(on_message)

    def build(entry: Path) -> None:
        on_message(f"unpacking {SELFTESTS} of {source.tarball.name} {source.version}")
        _unpack(source, [f"*/{SELFTESTS}/*"], entry)

    entry = entry_or_build("selftests", content_key([("source", source.sha256)]), build, on_message=on_message)
    return entry / SELFTESTS


def _unpack(source: Source, patterns: Sequence[str], directory: Path) -> None:
    command = ["tar", "-xf", str(source.tarball), "-C", str(directory), "--strip-components=1", "--wildcards"]
    done = subprocess.run([*command, *patterns], capture_output=True, text=True, check=False)
    # If the tarball has no selftests, `selftests` later reports that the directory has no scripts.
    if done.returncode != 0 and "Not found in archive" not in done.stderr:
        raise HostError(f"unpacking {source.tarball}: {done.stderr.strip()[-500:]}", hint="is it a whole tarball?")
