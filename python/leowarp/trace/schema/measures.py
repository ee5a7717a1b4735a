# SPDX-License-Identifier: Apache-2.0
"""The table of measurements that programs reported."""

import pyarrow as pa

from leowarp.trace.schema.columns import BYTES, FLOW, I64, NS, U8, Column, Kind, TableSchema, key

_TEXT = Kind(pa.string(), "")
_WORD = Kind(pa.dictionary(pa.int32(), pa.string()), "")
ROLES = {0: "client", 1: "server"}
"""The two programs of a flow, by number."""

# A program writes these values as text into a file, which the host reads. The values therefore have no type in records.
MEASURES = TableSchema(
    "measures",
    "",
    "What programs say that they measured: each line of a `measures.jsonl` that one left in its `{run_dir}`, by flow, "
    "role and line; and a row of what `iperf3 -J` printed as a client. Only if there was one.",
    (
        FLOW,
        key("role", U8, "", "0 the flow's client, 1 its server", ROLES),
        key("kind", _WORD, "", "what was measured: transaction, object, page, startup, segment, stall, frame, "
             "iperf3, or a word of the program's own"),
        Column("name", _TEXT, "", "which one: the path of an object, the representation of a segment"),
        Column("number", I64, "", "which one: of transactions, pages, segments and frames from 0; of an object its "
               "page's"),
        key("start_ns", I64, NS, "when it began: asked for, found missing (a stall), sent (a frame)"),
        Column("request_ns", I64, NS, "when its request left; before that it waited for a connection"),
        Column("first_byte_ns", I64, NS, "when the first byte of the answer was there"),
        Column("end_ns", I64, NS, "when it was complete, or over; null: never"),
        Column("bytes", I64, BYTES, "its length"),
        Column("connection", I64, "", "over which connection of the program's it came, from 0"),
        Column("bitrate_bps", I64, "bit/s", "of a segment: bit rate of its representation"),
        Column("media_ns", I64, NS, "of a segment: how long it plays"),
        Column("buffer_ns", I64, NS, "of a segment: how much was there to be played once it had come"),
        Column("latency_ns", I64, NS, "of a segment of a live stream: how far behind the live edge the player was "
               "once it had come"),
        Column("other", _TEXT, "", "all else that the line has, as JSON"),
    ),
)  # fmt: skip
