# SPDX-License-Identifier: Apache-2.0
"""The methods by which pages and films are loaded. A method is a combination of a protocol, a congestion control, and a
player's buffer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp_studies.programs.senders import AIOQUIC, BBR, CLIENT_AFTER_S, CUBIC, NGTCP2

PORT = 8080
STORAGE = "64 MiB"
LIVE, FILM = "live", "film"


@dataclass(frozen=True)
class Way:
    """A method of fetching objects: a version of HTTP, and a sender with its congestion control.

    name, label: The method's name as a part of run names, and its label in figures.
    http: The value of the option `--http` of leowarp's own programs.
    sender: A name in `senders.BY_NAME`.
    """

    name: str
    label: str
    http: str
    sender: str

    @property
    def needs(self) -> frozenset[str]:
        """Return the stacks that the method needs. With HTTP/3, the client is always aioquic."""
        return frozenset({self.sender, AIOQUIC}) if self.http == "3" else frozenset()


WAYS = (
    Way("http1-cubic", "HTTP/1.1, Linux CUBIC", "1.1", CUBIC),
    Way("http1-bbr", "HTTP/1.1, Linux BBR", "1.1", BBR),
    Way("http2-cubic", "HTTP/2, Linux CUBIC", "2", CUBIC),
    Way("http2-bbr", "HTTP/2, Linux BBR", "2", BBR),
    Way("http3-ngtcp2", "HTTP/3, ngtcp2", "3", NGTCP2),
    Way("http3-aioquic", "HTTP/3, aioquic", "3", AIOQUIC),
)
"""The methods of this study. HTTP/1.1 uses six connections, and the other versions of HTTP use one. Both stacks of
HTTP/3 use CUBIC."""
BY_NAME = {way.name: way for way in WAYS}
LOADED = ("http1-cubic", "http2-cubic", "http2-bbr", "http3-ngtcp2", "http3-aioquic")
"""The names of the entries of `WAYS` that are used for page loads."""
PLAYED = ("http1-cubic", "http1-bbr", "http3-aioquic")
"""The names of the entries of `WAYS` that DASH players use. A player fetches one segment at a time over one connection.
HTTP/2 is left out, because without parallel requests it behaves like HTTP/1.1. ngtcp2 is left out, because its server
cannot serve the manifest of a live stream."""


@dataclass(frozen=True)
class Player:
    """A DASH player that selects bit rates by the rule of dash.js.

    ways: The names of the entries of `WAYS` with which the video is played.
    served, played: The command-line options of the server and of the client.
    """

    name: str
    label: str
    ways: tuple[str, ...]
    served: str
    played: str


PLAYERS = (
    # Playback needs two segments to begin. It begins three segments behind the live edge, so that these two are
    # available.
    Player(LIVE, "live, 2 s of buffer", PLAYED, "--live --segment 1", "--latency 3 --begin 2 --target 2"),
    Player(FILM, "film, 6 s of buffer", PLAYED[:2], "--media 60 --segment 2", "--target 6"),
)
PLAY_S = 20
"""The time for which the viewer watches, in s."""


def names_there(senders: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the entries of `WAYS` that can run with the available stacks."""
    return tuple(way.name for way in WAYS if way.needs <= senders)


def page_flow(name: str, ends: tuple[str, str], start_s: float, timeout_s: int, programs: Path) -> dict[str, Any]:
    """Return a page load as a flow of a scenario.

    name: A name in `BY_NAME`.
    ends: The stations of server and client.
    start_s: The time in s at which the client starts.
    timeout_s: The time in s after which a page load counts as failed.
    programs: The build directory of the stacks of examples/programs.
    """
    return _flow(name, ends, start_s, "", f"page {{server}} {{port}} --timeout {timeout_s}", programs)


def video_flow(
    name: str, player: Player, ladder_kbps: str, ends: tuple[str, str], start_s: float, programs: Path
) -> dict[str, Any]:
    """Return a film or live stream as a flow of a scenario, with the parameters of `page_flow`."""
    served = f"{player.served} --ladder {ladder_kbps}"
    return _flow(name, ends, start_s, served, f"video {{server}} {{port}} {player.played} --play {PLAY_S}", programs)


def sysctl(name: str) -> dict[str, str]:
    """Return the value of `tcp.sysctl` that sets the congestion control of programs."""
    sender = BY_NAME[name].sender
    return {"net.ipv4.tcp_congestion_control": sender if sender == BBR else CUBIC}


def _flow(name: str, ends: tuple[str, str], start_s: float, served: str, client: str, programs: Path) -> dict[str, Any]:
    way = BY_NAME[name]
    python = str(programs / "aioquic" / "bin" / "python3") if way.http == "3" else "python3"
    server = f"{python} {{applications}} serve {{port}} {served}".rstrip() + (" --http3" if way.http == "3" else "")
    if way.sender == NGTCP2:
        # ngtcp2's server delivers files. The server makes its key and certificate when it starts.
        server = (
            "sh -c 'set -e; python3 {applications} serve {port} --files page; openssl req -x509 -newkey rsa:2048 "
            "-nodes -keyout key -out cert -days 30 -subj /CN=b 2> log; "
            "exec gtlsserver -q -d page {server} {port} key cert'"
        )
    return {
        "kind": "program", "source": ends[0], "destination": ends[1], "client_at": "destination", "port": PORT,
        "server": server, "client": f"{python} {{applications}} {client} --http {way.http}",
        "start": f"{start_s - CLIENT_AFTER_S:g} s", "storage": STORAGE,
    }  # fmt: skip
