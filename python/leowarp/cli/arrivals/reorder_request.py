# SPDX-License-Identifier: Apache-2.0
"""A request to `leowarp reorder`: all its options in one object.

Options that accept only certain words are enumerations. typer lists the words in the help and rejects others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options

if TYPE_CHECKING:
    from leowarp.reordering import Settings, Source


class Format(StrEnum):
    """The formats of input files. `crates/arrivals` reads text and captures. Arrow reads CSV and Parquet."""

    text = "text"
    csv = "csv"
    parquet = "parquet"
    pcap = "pcap"


class Protocol(StrEnum):
    """The protocol whose sequence numbers are read from a capture. For UDP, the number is a field in the payload. RTP
    is RFC 3550, 5.1."""

    icmp = "icmp"
    icmp_reply = "icmp-reply"
    tcp = "tcp"
    rtp = "rtp"
    udp = "udp"


# Members are lower-case, unlike other constants, because the user types their names.
class TimeUnit(StrEnum):
    """The unit of a column that contains times."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


class Order(StrEnum):
    """The byte order of a number in a packet. Network order is big."""

    big = "big"
    little = "little"


class Drawn(StrEnum):
    """The file format of a figure."""

    svg = "svg"
    pdf = "pdf"
    png = "png"


_METRICS, _TABLES, _CAPTURES = "Metrics", "CSV and Parquet", "Captures"


@dataclass(frozen=True)
class Request:
    """The arguments and options as the user typed them.

    file: A path, or ``-`` for standard input.
    threshold, buffer_threshold: The thresholds DT and BT of RFC 5236, in packets. None means that BT equals DT.
    loss_window: A missing packet counts as lost once a number arrives that is larger by more than this value (RFC
        4737).
    n_max: The largest n of n-reordering (RFC 4737, 5.3).
    first, sent: The number of the first packet sent, and the number of packets sent. Neither `first` nor `sent` can be
        derived from the arrivals.
    bits: The width of sequence numbers that wrap around. None means the protocol's width, or no wrap-around.
    flow: The index in the list of ``--flows``.
    field_offset, field_size, field_order: int or None, int, Order. The position and length in bytes of the number in a
        UDP payload, and its byte order.
    """

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Text (one sequence number per line), CSV, Parquet, pcap or pcapng; - is standard input.",
        ),
    ]
    threshold: Annotated[
        int,
        typer.Option(
            "--threshold", "-t", help="D_T: in RD, a packet displaced by more counts as lost.", rich_help_panel=_METRICS
        ),
    ] = 1000
    buffer_threshold: Annotated[
        int | None,
        typer.Option(help="B_T: size of RBD's buffer in packets; default: --threshold.", rich_help_panel=_METRICS),
    ] = None
    # The default is 2^16, the number of different sequence numbers in RTP (RFC 3550, 5.1) and ICMP echo (RFC 792). A
    # packet that is late by more than 2^16 numbers could have the same number as another packet.
    loss_window: Annotated[
        int,
        typer.Option(help="RFC 4737: a packet that is late by more numbers counts as lost.", rich_help_panel=_METRICS),
    ] = 65_536
    n_max: Annotated[int, typer.Option(help="n-reordering up to this n.", rich_help_panel=_METRICS)] = 10
    first: Annotated[
        int | None, typer.Option(help="Number of the first packet that was sent.", rich_help_panel=_METRICS)
    ] = None
    sent: Annotated[
        int | None,
        typer.Option(help="Number of packets that were sent; it shows losses at the end.", rich_help_panel=_METRICS),
    ] = None
    bits: Annotated[
        int | None, typer.Option(help="Width in bits of numbers that wrap around: 16, 32.", rich_help_panel=_METRICS)
    ] = None
    input_: Annotated[
        Format | None, typer.Option("--input", help="Format of FILE; default: by its first bytes and its name.")
    ] = None
    sequence: Annotated[
        str | None, typer.Option(help="Column of the numbers: its name, or its number from 1.", rich_help_panel=_TABLES)
    ] = None
    time_: Annotated[
        str | None, typer.Option("--time", help="Column of the arrivals' times.", rich_help_panel=_TABLES)
    ] = None
    time_unit: Annotated[
        TimeUnit | None,
        typer.Option(help="Unit of that column, unless its name ends in _s, ..., _ns.", rich_help_panel=_TABLES),
    ] = None
    bytes_: Annotated[str | None, typer.Option("--bytes", help="Column of the payloads.", rich_help_panel=_TABLES)] = (
        None
    )
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether a first line names columns.", rich_help_panel=_TABLES)
    ] = True
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            help="Protocol: ICMP echo requests and TCP data are found; echo replies, RTP and UDP must be named.",
            rich_help_panel=_CAPTURES,
        ),
    ] = None
    flow: Annotated[
        int | None, typer.Option(help="Number of the flow, from 0, if there are several.", rich_help_panel=_CAPTURES)
    ] = None
    flows: Annotated[
        bool, typer.Option("--flows", help="List the flows and compute no metrics.", rich_help_panel=_CAPTURES)
    ] = False
    field_offset: Annotated[
        int | None, typer.Option(help="UDP: bytes of payload before the sequence number.", rich_help_panel=_CAPTURES)
    ] = None
    field_size: Annotated[int, typer.Option(help="UDP: its bytes, 2, 4 or 8.", rich_help_panel=_CAPTURES)] = 4
    field_order: Annotated[
        Order, typer.Option(help="UDP: byte order of the sequence number.", rich_help_panel=_CAPTURES)
    ] = Order.big
    figures: Annotated[
        Path | None, typer.Option(help="Write figures of RD, RBD and n-reordering into this directory.")
    ] = None
    format_: Annotated[
        list[Drawn] | None, typer.Option("--format", help="One of these figures; may be repeated; default: all three.")
    ] = None
    json_: options.Json = False

    def source(self) -> Source:
        """Return the properties of the file that the user typed as options.

        Returns: The options for CSV, Parquet and captures, as the user typed them. `reordering.measure_file` checks
            which of them apply to the file.
        """
        # The import is here, so that printing a help page does not import numpy.
        from leowarp.reordering import Source

        return Source(
            format=self.input_, sequence=self.sequence, time=self.time_, time_unit=self.time_unit, bytes=self.bytes_,
            header=self.header, protocol=self.protocol, flow=self.flow, field_offset=self.field_offset,
            field_size=self.field_size, field_order=self.field_order,
        )  # fmt: skip

    def settings(self) -> Settings:
        """Return the thresholds and windows of the measurement.

        Returns: The thresholds and windows, as numbers of packets. The number of sent packets is not included, because
            it does not come from the arrivals.
        """
        from leowarp.reordering import Settings

        return Settings(
            threshold_pkts=self.threshold,
            buffer_threshold_pkts=self.buffer_threshold,
            loss_window_pkts=self.loss_window,
            n_max=self.n_max,
            first_seq=self.first,
            bits=self.bits,
        )

    def formats(self) -> list[Drawn]:
        """Return the formats of the figures. If no format was typed, all formats are returned.

        Raises ScenarioError if the user typed formats but did not request figures.
        """
        if self.format_ and self.figures is None:
            raise ScenarioError("--format is for figures, and there is no --figures", hint="--figures DIRECTORY")
        # Each figure is drawn in all three formats, which takes little time compared with the measurement.
        return self.format_ or list(Drawn)
