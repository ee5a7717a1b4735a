# SPDX-License-Identifier: Apache-2.0
"""The senders: the kernel's TCP, and QUIC stacks from Debian and other registries, each with its default settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PORT = 4433
CLIENT_AFTER_S = 0.5
"""The default of `client_after` for a program flow, in s."""
CUBIC, BBR = "cubic", "bbr"
NGTCP2, QUINN, QUIC_GO, AIOQUIC = "ngtcp2", "quinn", "quic-go", "aioquic"
STORAGE = "256 MiB"
"""The storage of a program. The storage must hold two files of ngtcp2's server: the page that the server sends, and its
qlog. The qlog has about 900 bytes per packet."""


@dataclass(frozen=True)
class Sender:
    """A TCP of the kernel, or a QUIC stack.

    name, label: The name in runs, and the label in figures.
    congestion_control: The default congestion control of the stack, as text.
    version: The fixed version of the stack, or the source from which it comes.
    """

    name: str
    label: str
    congestion_control: str
    version: str

    @property
    def is_quic(self) -> bool:
        """Return whether the sender is a QUIC stack."""
        return self.name not in (CUBIC, BBR)


SENDERS = (
    Sender(CUBIC, "Linux, CUBIC", "CUBIC", "the guest's kernel"),
    Sender(BBR, "Linux, BBR", "BBR", "the guest's kernel"),
    Sender(NGTCP2, "ngtcp2", "CUBIC", "Debian's ngtcp2-server and ngtcp2-client"),
    Sender(QUINN, "quinn", "CUBIC", "crates.io, examples/programs/quinn/Cargo.lock"),
    Sender(QUIC_GO, "quic-go", "Reno", "Go modules, examples/programs/quic-go/go.sum"),
    Sender(AIOQUIC, "aioquic", "Reno", "PyPI, examples/programs/aioquic/requirements.txt"),
)
"""All senders, in the order of tables and figures."""
BY_NAME = {sender.name: sender for sender in SENDERS}
KERNEL = (CUBIC, BBR)
QUIC = tuple(sender.name for sender in SENDERS if sender.is_quic)
FIXED = (QUINN, QUIC_GO, AIOQUIC)
"""The stacks that use the thresholds of RFC 9002: 3 packets, and 9/8 of the RTT."""


@dataclass(frozen=True)
class Transfer:
    """A transfer of a fixed size.

    source, destination: The names of the stations.
    start_s: The time of TCP's first SYN or a QUIC client's first datagram, accurate to about a millisecond.
    """

    source: str
    destination: str
    start_s: float
    size_bytes: int

    def flow(self, sender: str, programs: Path) -> dict[str, Any]:
        """Return the transfer as a flow of a scenario, in the form of a mapping.

        sender: A name in `BY_NAME`.
        programs: The build directory of the transfer programs in examples/programs.
        """
        ends = {"source": self.source, "destination": self.destination}
        if sender in KERNEL:
            return ends | {"congestion_control": sender, "start": f"{self.start_s:g} s", "size": f"{self.size_bytes} B"}
        server, client = _commands(sender, self.size_bytes, programs)
        return ends | {
            "kind": "program", "client_at": "destination", "port": PORT, "server": server, "client": client,
            "start": f"{self.start_s - CLIENT_AFTER_S:g} s", "storage": STORAGE,
        }  # fmt: skip


def _commands(sender: str, size_bytes: int, programs: Path) -> tuple[str, str]:
    """Return the command lines of server and client. A client that has received all bytes prints a line that begins
    with `<size> bytes`."""
    if sender != NGTCP2:
        program = programs / "bin" / f"{sender}-transfer"
        return f"{program} server {{port}}", f"{program} client {{server}} {{port}} {size_bytes}"
    server = (
        f"sh -c 'head -c {size_bytes} /dev/zero > page; openssl req -x509 -newkey rsa:2048 -nodes -keyout key "
        "-out cert -days 30 -subj /CN=b 2> log; mkdir qlog; "
        "exec gtlsserver -q --qlog-dir qlog -d {run_dir} {server} {port} key cert'"
    )
    # A connection takes three probe timeouts to drain. Only then does the server write the last part of its qlog. The
    # client's command ends only after the connection has drained.
    client = (
        "sh -c 'set -e; gtlsclient -q --exit-on-all-streams-close {server} {port} https://b:4433/page; "
        f"echo {size_bytes} bytes; sleep 3'"
    )
    return server, client


def labels(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dict with the senders' labels as keys, instead of the senders' names."""
    return {BY_NAME[name].label: value for name, value in names.items()}
