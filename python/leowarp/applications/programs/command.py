# SPDX-License-Identifier: Apache-2.0
"""The command line of the programs."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from . import frames, pageload, player, server, transactions
from .content import Content, Video, page_of, write_files
from .http2 import Http2
from .measures import Measures

LADDER_KBPS = "230,331,477,688,991,1427,2056,2962,5027,6000"
"""The bit rates of Big Buck Bunny, as in the evaluations of BOLA (Spiteri, Sitaraman, Sparacio, MMSys 2018, and their
simulator Sabre)."""


def main(words: list[str] | None = None) -> int:
    """Run the program named on the command line, and return the exit status."""
    given = _parser().parse_args(words)
    try:
        doing = given.run(given)
        if doing is not None:
            asyncio.run(doing)
    except (OSError, ValueError, ExceptionGroup) as error:
        causes = error.exceptions if isinstance(error, ExceptionGroup) else [error]
        print("; ".join(f"{type(cause).__name__}: {cause}" for cause in causes), file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="applications", description="A server, and clients that measure.")
    verbs = parser.add_subparsers(required=True, metavar="serve|transactions|page|video|send-frames|frames")

    serve = verbs.add_parser("serve", help="HTTP/1.1: zeros on demand, the objects of a page, a video")
    serve.add_argument("port", type=int)
    serve.add_argument("--page", default="median", help="a page that comes with the programs, or a file (median)")
    serve.add_argument("--ladder", default=LADDER_KBPS, help="bit rates of the video, kbit/s (%(default)s)")
    serve.add_argument("--segment", type=float, default=3, help="how long a segment plays, s (3)")
    serve.add_argument("--media", type=float, default=60, help="how long the video plays, s (60)")
    serve.add_argument("--live", action="store_true", help="the video is live, and began a minute ago")
    serve.add_argument("--http3", action="store_true", help="HTTP/3, too, on the UDP port of that number, by aioquic")
    # The option is in a group, because argparse would query the terminal's width for an option of the parser itself.
    # The guest has no terminal, so this query would fail. The failed system call would delay all measurements by 1 us
    # of virtual time.
    other = serve.add_argument_group("for another server")
    other.add_argument("--files", metavar="DIR", help="only write the objects of the page there, as files")
    serve.set_defaults(run=_serve)

    made = verbs.add_parser("transactions", help="requests and answers")
    _add_server(made)
    made.add_argument("--count", type=int, default=10, help="how many (10)")
    made.add_argument("--interval", type=float, default=0, help="from start to start, s (0: one behind the other)")
    made.add_argument("--request", type=int, default=0, help="body of a request, bytes (0)")
    made.add_argument("--answer", type=int, default=10000, help="body of an answer, bytes (10000)")
    made.add_argument("--reconnect", action="store_true", help="a connection for each")
    made.set_defaults(run=_transactions)

    page = verbs.add_parser("page", help="loads a page")
    _add_server(page)
    page.add_argument("--page", default="median", help="as of serve")
    _add_http(page)
    page.add_argument("--connections", type=int, default=6, help="of HTTP/1.1: at most so many at once (6)")
    page.add_argument("--repeat", type=int, default=1, help="how often (1)")
    page.add_argument("--interval", type=float, default=0, help="from start to start, s (0: one behind the other)")
    page.add_argument("--timeout", type=float, help="a page that takes longer has failed, s (none)")
    page.set_defaults(run=_page)

    video = verbs.add_parser("video", help="plays the video, or a part of it")
    _add_server(video)
    _add_http(video.add_argument_group("protocol"))
    video.add_argument(
        "--rule", default="dynamic", help="dynamic, throughput, bola, or fixed:0, fixed:1, ... (dynamic)"
    )
    video.add_argument("--target", type=float, default=30, help="length of the buffer at most, s (30)")
    video.add_argument("--begin", type=float, help="media for the first picture, s (a segment)")
    video.add_argument("--resume", type=float, help="media to go on after a stall, s (a segment)")
    video.add_argument("--latency", type=float, default=9, help="of a live video: how far behind it begins, s (9)")
    video.add_argument("--play", type=float, help="the viewer goes so long after the start, s (at the video's end)")
    video.set_defaults(run=_video)

    sender = verbs.add_parser("send-frames", help="paced media frames over UDP to whoever asks")
    sender.add_argument("port", type=int)
    sender.set_defaults(run=lambda given: frames.serve(given.port))

    frame = verbs.add_parser("frames", help="receives paced media frames")
    _add_server(frame)
    frame.add_argument("--rate", type=float, default=30, help="frames a second (30)")
    frame.add_argument("--bitrate", type=float, default=2000, help="kbit/s, headers not counted (2000)")
    frame.add_argument("--seconds", type=float, default=10, help="for so long (10)")
    frame.set_defaults(run=_frames)
    return parser


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host")
    parser.add_argument("port", type=int)


def _add_http(options: argparse._ActionsContainer) -> None:
    options.add_argument("--http", choices=("1.1", "2", "3"), default="1.1", help="2 in the clear, 3 by aioquic (1.1)")


async def _serve(given: argparse.Namespace) -> None:
    ladder_bps = tuple(sorted(int(float(kbps) * 1000) for kbps in given.ladder.split(",")))
    video = Video(ladder_bps, round(given.segment * 1000), None if given.live else given.media)
    if given.files is not None:
        write_files(page_of(given.page), Path(given.files))
        return
    content = Content({one.path: one for one in page_of(given.page)}, video)
    if given.http3:
        await _http3().run(given.port, content)
    await server.run(given.port, content)


async def _transactions(given: argparse.Namespace) -> None:
    with Measures() as measures:
        await transactions.run(
            given.host, given.port, measures, count=given.count, request_bytes=given.request, answer_bytes=given.answer,
            interval_s=given.interval, reconnect=given.reconnect,
        )  # fmt: skip


def _ways(given: argparse.Namespace, connections: int) -> dict[str, Callable[[], pageload.Way]]:
    """Return a function that opens connections, for each value of `--http`."""
    return {
        "1.1": lambda: pageload.Pool(given.host, given.port, connections),
        "2": lambda: Http2(given.host, given.port),
        "3": lambda: _http3().Http3(given.host, given.port),
    }


def _http3() -> ModuleType:
    """Return the module for HTTP/3. Raises ValueError if this Python lacks aioquic, which only this module needs."""
    try:
        return importlib.import_module("programs.http3")
    except ModuleNotFoundError as error:
        python = "/var/tmp/leowarp-programs/aioquic/bin/python3 (sh examples/programs/build.sh aioquic)"
        raise ValueError(f"HTTP/3 needs aioquic, and this Python has no {error.name}: use {python}") from None


async def _page(given: argparse.Namespace) -> None:
    with Measures() as measures:
        opened = _ways(given, given.connections)[given.http]
        await pageload.run(
            page_of(given.page), opened, repeat=given.repeat, interval_s=given.interval, timeout_s=given.timeout,
            measures=measures,
        )  # fmt: skip


async def _video(given: argparse.Namespace) -> None:
    viewing = player.Viewing(given.rule, given.target, given.begin, given.resume, given.latency, given.play)
    with Measures() as measures:
        await player.run(_ways(given, 1)[given.http], viewing, measures)


def _frames(given: argparse.Namespace) -> None:
    stream = frames.Stream(given.rate, round(given.bitrate * 1000), round(given.seconds * given.rate))
    with Measures() as measures:
        frames.receive(given.host, given.port, stream, measures)
