# SPDX-License-Identifier: Apache-2.0
"""The public recordings by name, with address, licence, and command to fetch each. leowarp does not contain the
recordings themselves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import plainfiles

_RAW = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Public:
    """A recording that can be fetched.

    repository: ``owner/name`` on github.com.
    licence: The licence as stated in the repository.
    link: The name of the measured link. Recordings of the same link may share a fit.
    columns: The description of the columns, if the file has no header.
    received: True if the times in the file are times at which replies arrived.
    profile: The profile with which the recording is compared.
    """

    name: str
    repository: str
    commit: str
    path: str
    licence: str
    sha256: str
    link: str
    about: str
    columns: tuple[str, ...] | None = None
    received: bool = False
    profile: str = "starlink"

    @property
    def address(self) -> str:
        return f"{_RAW}/{self.repository}/{self.commit}/{self.path}"

    @property
    def file_name(self) -> str:
        return self.name + Path(self.path).suffix

    def command(self, folder: Path) -> str:
        """Return the shell command that fetches the file into a folder."""
        return f"curl --fail --location --create-dirs --output {folder / self.file_name} {self.address}"

    def found(self, folder: Path) -> Path | None:
        """Return the file in a folder, or None if the file is missing or has unexpected content."""
        path = folder / self.file_name
        if not path.is_file():
            return None
        content = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True)
        return path if hashlib.sha256(content).hexdigest() == self.sha256 else None


_SHAPER = ("clarkzjw/LEOLiveStreaming", "aa159d3289598c08d8f8be3fc2a567b314b70aa4")
_MMSYS = ("clarkzjw/mmsys24-starlink-livestreaming-data", "bcf33b9a75680847b6fd53c3c14cfead4cce8e81")
_VIZ = ("clarkzjw/LEOViz", "6c14d4df348a7340b5ea8b6f82aff65f99c775d3")
_COLUMNS = ("t_ns", "rtt_ms")

_VICTORIA = (
    "0d05192a8b0c83ae802b40e83dbd619d321134e0bd9eb21c32d756fb45177940",
    "ca5abd1d6948fa2003a56b67ed0fa3efe9825907f5b6a223e0157364d24ce666",
    "3021a434f1f086c1db7426d669b0e51328893370399ae4138e47b818520db226",
    "ca993b66909055a62551a9f3503920ac2bb24ca8be153414a67f562d8dbf5ed6",
    "96f4e0b0b43e8ec26ff0ef74592f3bfd9f12783c262cda0abe5d4916ecc73c46",
)

_EVERY = (
    *(
        Public(
            f"starlink-victoria-{number}", *_SHAPER, f"shaper/bent_pipe_victoria_{number}_latency.csv",
            "GPL-3.0", digest, f"victoria-{number}",
            "ping every 12 ms over a bent pipe, 800 s; replies alone, lost probes left out", _COLUMNS, True,
        )
        for number, digest in enumerate(_VICTORIA, 1)
    ),
    Public(
        "oneweb-iowa", *_SHAPER, "shaper/oneweb_iowa_latency.csv", "GPL-3.0",
        "6018680ea37c2bf601e8c016899263206219b1998db6d46547201dd079fe0e99", "oneweb-iowa",
        "OneWeb: ping every 14 ms, 1456 s; replies alone, lost probes left out", _COLUMNS, True, "oneweb",
    ),
    Public(
        "starlink-seattle", *_MMSYS, "src/latency/no-isl-ping-gw-seattle-230911-170535-0.1s-60min.txt",
        "CC-BY-SA-4.0", "92baa7057abce1b5ad1cc86ce9026c279a21ebc2c2b3c16b339264a156738139", "mmsys24-bent-pipe",
        "ping to the gateway over a bent pipe, 36,000 probes 0.15 s apart",
    ),
    Public(
        "starlink-lagos", *_MMSYS, "src/latency/isl-ping-gw-lagos-230911-172603-0.1s-60min.txt",
        "CC-BY-SA-4.0", "5369ee1f11db4ddc5cafb1e67f64ed60ec3c477f78ba4c5f8db3ad6dd09f4b2b", "mmsys24-lasers",
        "ping to the gateway over laser links, 36,000 probes 0.22 s apart",
    ),
    Public(
        "starlink-cubic", *_MMSYS, "src/throughput/downlink/no-isl-iperf3-2m-2023-09-21-06-10-00.json",
        "CC-BY-SA-4.0", "c5a5a0ad6bbe626a76367204ddbb1d12165f1498eba8231f94d6c25a5175129d", "mmsys24-bent-pipe",
        "iperf3 down over a bent pipe, CUBIC, 120 s at 0.1 s",
    ),
    Public(
        "starlink-cubic-lasers", *_MMSYS, "src/throughput/downlink/isl-iperf3-0.1s-2m-2023-09-21-06-10-00.json",
        "CC-BY-SA-4.0", "629aa881fe4fb7ff6bea76251ef446f3afee2df875dd32ee2e3a2108f926e77c", "mmsys24-lasers",
        "iperf3 down over laser links, CUBIC, 120 s at 0.1 s",
    ),
    Public(
        "starlink-cubic-up", *_MMSYS, "src/throughput/uplink/no-isl-iperf3-5m-2023-09-21-08-00-00.json",
        "CC-BY-SA-4.0", "deffbe5f549cbf82ba7fd753d1aef661d9728dbd8208921fab5e24a8b235f09e", "mmsys24-bent-pipe",
        "iperf3 up over a bent pipe, CUBIC, 300 s at 0.1 s, with window and round trip",
    ),
    Public(
        "starlink-cubic-up-lasers", *_MMSYS, "src/throughput/uplink/isl-iperf3-0.1s-5m-2023-09-21-08-00-00.json",
        "CC-BY-SA-4.0", "66ae4d7690cfabf793e0c5ddd44ed4414123f7081e74da50a3a32da379cb011c", "mmsys24-lasers",
        "iperf3 up over laser links, CUBIC, 300 s at 0.1 s, with window and round trip",
    ),
    Public(
        "starlink-bad-sky", *_VIZ, "tests/sample-data/latency/2025-05-29/ping-10ms-2025-05-29-23-20-13.txt",
        "GPL-3.0", "8c49157ff5c5d3ce7db902540c3eb19306bde694f8c0af4dd1de577624894f97", "leoviz",
        "ping every 0.1 s of a dish with an obstructed sky: 15 % of the probes are lost",
    ),
)  # fmt: skip

PUBLIC = {one.name: one for one in _EVERY}
