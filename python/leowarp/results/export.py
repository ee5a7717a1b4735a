# SPDX-License-Identifier: Apache-2.0
"""Export the tables of a run as CSV, and its packet captures as pcapng."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.layout import PLAN, PROGRAMS, TRACE
from leowarp.base.spelling import one_of
from leowarp.results.run import Run
from leowarp.trace.convert import CAPTURES
from leowarp.trace.schema import TABLES

EXPORTED = (*TABLES, "routes", "timeline", "metrics")

KEY_LOG = "SSLKEYLOGFILE"
"""The environment variable with the path of the file to which programs write their TLS keys (NSS key log)."""
_RUN_DIR = "{run_dir}/"
_SECRETS_BLOCK, _TLS_KEY_LOG = 0x0A, 0x544C534B
"""The type of pcapng's Decryption Secrets Block, and its code for a TLS key log (draft-ietf-opsawg-pcapng, 4.7)."""


def csv(run: Run, table: str, stream: BinaryIO, *, flow: int | str | None = None) -> None:
    """Write a table as CSV (RFC 4180, comma, header line, UTF-8). A missing value is an empty field.

    A list in a cell, for example the nodes of a path, becomes one field with spaces between the items.

    Raises ScenarioError if the table does not exist, or if `flow` is given for a table without flows.
    flow: The number or name of a flow. If a flow is given, only the rows of this flow are written.
    """
    if table not in EXPORTED:
        raise ScenarioError(f"there is no table {table!r} to export", hint=one_of(table, (*EXPORTED, "pcapng")))
    filters = None
    if flow is not None:
        if table not in TABLES or "flow" not in TABLES[table].names:
            raise ScenarioError(f"the table {table} has no column `flow`", hint="leave --flow out")
        filters = [("flow", "==", run.flow_number(flow))]
    values = run.table(table, filters=filters)
    for number, field in enumerate(values.schema):
        if pa.types.is_list(field.type):
            joined = pc.binary_join(values.column(number).cast(pa.list_(pa.string())), " ")
            values = values.set_column(number, field.name, joined)
        elif pa.types.is_dictionary(field.type):
            # Numbers of a dictionary column are replaced by their words, because the numbers mean nothing outside of
            # their file.
            values = values.set_column(number, field.name, values.column(number).cast(pa.string()))
    pacsv.write_csv(values, stream)


def pcapng(run: Run, target: Path) -> list[Path]:
    """Copy the captures that the guest recorded into the directory `target`.

    The copies contain the TLS keys that the run's programs wrote (`SSLKEYLOGFILE` in a flow's `environment`, below
    `{run_dir}`). With these keys, Wireshark can decrypt the packets if whole frames were captured
    (`observe.pcap_snap`).

    Raises TraceError if the run recorded no captures. The hint of the error is the command that records captures.
    target: The directory, which is created if it does not exist. An existing file is replaced, and a symbolic link is
        rejected.
    Returns: The paths of the copies `<run>-source.pcapng` and `<run>-destination.pcapng`, if they exist.
    """
    present = [run.path / TRACE / name for name in CAPTURES if (run.path / TRACE / name).exists()]
    if not present:
        raise TraceError(
            f"the run {run.path} recorded no packet capture (observe.pcap = {run.plan.observe.pcap!r} in its plan)",
            hint=f"the same run with captures, byte for byte the same packets: "
            f"leowarp run {run.path / PLAN} --set observe.pcap=both --out {run.path}-pcap",
        )
    target.mkdir(parents=True, exist_ok=True)
    copies = [target / f"{run.path.name}-{path.name}" for path in present]
    # All target paths are checked before the first file is written, so that an error leaves no partial result.
    for copy in copies:
        plainfiles.refuse_link(copy)
    keys = tls_keys(run)
    for path, copy in zip(present, copies, strict=True):
        copy.write_bytes(with_keys(path.read_bytes(), keys))
    return copies


def tls_keys(run: Run) -> bytes:
    """Return the TLS keys that the run's programs wrote, in the NSS key log format (`CLIENT_TRAFFIC_SECRET_0 ...`),
    without duplicate lines. The lines are in the order of the flows. A client's lines come before its server's."""
    lines: dict[bytes, None] = {}
    for number, flow in enumerate(run.plan.flows):
        name = (flow.environment or {}).get(KEY_LOG, "") if flow.kind == "program" else ""
        # A program can write only below its own run directory, so a key log with any other path is ignored.
        if not name.startswith(_RUN_DIR):
            continue
        for role in ("client", "server"):
            path = run.path / PROGRAMS / str(number) / role / "files" / name.removeprefix(_RUN_DIR)
            if path.is_file():
                found = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES).splitlines()
                lines |= dict.fromkeys(line.rstrip() for line in found if line.strip() and not line.startswith(b"#"))
    return b"".join(line + b"\n" for line in lines)


def with_keys(capture: bytes, keys: bytes) -> bytes:
    """Put the keys into a Decryption Secrets Block. Return the capture with this block after the section header.
    Without keys, the capture is unchanged.

    capture: The content of a pcapng file in little-endian byte order, as the guest writes it.
    """
    if not keys:
        return capture
    header_bytes = struct.unpack_from("<I", capture, 4)[0]
    body = struct.pack("<II", _TLS_KEY_LOG, len(keys)) + keys + bytes(-len(keys) % 4)
    total = struct.pack("<I", len(body) + 12)
    block = struct.pack("<I", _SECRETS_BLOCK) + total + body + total
    return capture[:header_bytes] + block + capture[header_bytes:]
