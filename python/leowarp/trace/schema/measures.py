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
    "Measurements that programs reported: one row per line of a program's `measures.jsonl` in its `{run_dir}`, sorted "
    "by flow, role and line; one row for the output of each `iperf3 -J` client. Only if a program reported any.",
    (
        FLOW,
        key("role", U8, "", "0 the flow's client, 1 its server", ROLES),
        key("kind", _WORD, "", "what was measured: transaction, object, page, startup, segment, stall, frame, "
             "iperf3, or another word that the program chose"),
        Column("name", _TEXT, "", "path of the object, or representation of the segment"),
        Column("number", I64, "",
            "number of the transaction, page, segment or frame, from 0; for an object, the number of its page"),
        key("start_ns", I64, NS, "start time: of the request, of the empty buffer (stall), or of the sending (frame)"),
        Column("request_ns", I64, NS, "time at which the request left; until then, it waited for a connection"),
        Column("first_byte_ns", I64, NS, "time at which the first byte of the answer arrived"),
        Column("end_ns", I64, NS, "time at which it was complete, or over (stall); null: never"),
        Column("bytes", I64, BYTES, "length of the answer, object, segment or frame"),
        Column("connection", I64, "", "number of the program's connection over which it arrived, from 0"),
        Column("bitrate_bps", I64, "bit/s", "for a segment: bit rate of its representation"),
        Column("media_ns", I64, NS, "for a segment: playing time"),
        Column("buffer_ns", I64, NS, "for a segment: playing time in the player's buffer after its arrival"),
        Column("latency_ns", I64, NS,
            "for a segment of a live stream: delay of the player behind the live edge after its arrival"),
        Column("other", _TEXT, "", "all other entries of the line, as JSON"),
    ),
)  # fmt: skip
