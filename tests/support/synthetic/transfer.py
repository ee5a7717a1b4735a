# SPDX-License-Identifier: Apache-2.0
"""Random transfers with retransmissions from Hypothesis, as tables of a run and as the receiver's capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from leowarp.trace import TABLES
from support.captures import segment, write_pcap
from support.synthetic.reordering import RUN, reordering_tables
from support.synthetic.run import MS, PAYLOAD_BYTES, bins, judged, stored

AGAIN_MS = 20
"""The time between an original and its retransmission."""
_PROMPT_MS = st.integers(1, AGAIN_MS - 1)
_ANY_MS = st.integers(1, 3 * AGAIN_MS)
_PROMPT = st.tuples(_PROMPT_MS, st.none() | _ANY_MS)
_SLOW = st.tuples(_ANY_MS, st.none())
_LOST = st.tuples(st.none(), st.none() | _ANY_MS)


def transfers(*, is_told: bool) -> st.SearchStrategy[pd.DataFrame]:
    """Return a strategy of transfers: packets in order of sending, with at least one arrival of a first transmission.

    is_told: Whether the receiver's capture shows which packets are retransmissions and which are overtaken originals.
        If true, no retransmission overtakes its original, and the packet after a lost packet arrives before the
        retransmission. If false, any packet may overtake any other packet.
    Returns: strategy of DataFrame. `number`, `sent_ns`, `received_ns` (missing if lost), `is_retransmission`,
        `is_spurious`, `is_late`, `extent_pkts`, `drop_cause`.
    """
    if is_told:
        lost = st.tuples(_LOST, _PROMPT).map(list)
        parts = st.lists(_PROMPT.map(lambda one: [one]) | _SLOW.map(lambda one: [one]) | lost, min_size=1, max_size=30)
        fates = parts.map(lambda several: [fate for part in several for fate in part])
    else:
        fates = st.lists(st.tuples(st.none() | _ANY_MS, st.none() | _ANY_MS), min_size=1, max_size=60)
    return fates.filter(lambda several: any(delay is not None for delay, _ in several)).map(packets_of)


def packets_of(fates: list[tuple[int | None, int | None]]) -> pd.DataFrame:
    """Convert the fates of packets to a DataFrame. A fate is a pair of delays in ms: of the original, and of its
    retransmission. None means lost or never sent."""
    rows = list(_packets(fates))
    frame = pd.DataFrame(rows, columns=["number", "sent_ns", "received_ns", "is_retransmission", "is_spurious"])
    frame = frame.astype({"received_ns": "Int64", "is_spurious": object})
    frame["drop_cause"] = pd.Series(1, index=frame.index, dtype="Int64").where(frame["received_ns"].isna())
    return judged(frame.sort_values("sent_ns", kind="stable", ignore_index=True))


def _packets(fates: list[tuple[int | None, int | None]]) -> Iterator[tuple[int, int, int | None, bool, bool | None]]:
    for number, (delay_ms, again_ms) in enumerate(fates):
        sent_ns = number * MS
        yield number, sent_ns, None if delay_ms is None else sent_ns + delay_ms * MS, False, None
        if again_ms is not None:
            # Retransmissions are sent half a millisecond later, so that no two packets leave at the same instant.
            sent_ns += AGAIN_MS * MS + MS // 2
            yield number, sent_ns, sent_ns + again_ms * MS, True, delay_ms is not None


def tables_of_run(frame: pd.DataFrame) -> dict[str, pa.Table]:
    """Return trace tables in which flow 0 is this transfer: packets, bins, and reordering of the whole run."""
    end_ns = 1_000 * MS
    nothing = frame.iloc[:0].assign(ack=None)
    reordering, densities = reordering_tables(frame, [(RUN, 0, 0, end_ns)], PAYLOAD_BYTES)
    frames = {
        "packets": stored(frame, nothing), "bins": bins(frame, nothing), "reordering": reordering,
        "densities": densities,
    }  # fmt: skip
    return {name: _table(name, each, end_ns) for name, each in frames.items()}


def _table(name: str, frame: pd.DataFrame, end_ns: int) -> pa.Table:
    schema = TABLES[name].arrow({"virtual_ns": end_ns})
    table = pa.Table.from_pandas(frame.reindex(columns=schema.names), schema=schema, preserve_index=False)
    return table.replace_schema_metadata(schema.metadata)


def arrivals(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the packets in order of arrival. Simultaneous arrivals are in order of sending."""
    return frame[frame["received_ns"].notna()].sort_values("received_ns", kind="stable")


def capture(path: Path, frame: pd.DataFrame) -> Path:
    """Write the receiver's capture of this transfer: TCP segments whose timestamps are their sending times in half
    milliseconds."""
    came = arrivals(frame)
    packets = [segment(0, 0, is_syn=True)]
    packets += [
        segment(1 + number * PAYLOAD_BYTES, PAYLOAD_BYTES, stamp=sent_ns // (MS // 2))
        for number, sent_ns in zip(came["number"], came["sent_ns"], strict=True)
    ]
    return write_pcap(path, packets, times_ns=[0, *came["received_ns"]])


def by_definition(numbers: np.ndarray) -> dict[int, int]:
    """Return the extent of each reordered packet, by its number: i - j for the smallest j with s[j] > s[i] (RFC 4737,
    4.2.3)."""
    return {
        int(number): i - next(j for j in range(i) if numbers[j] > number)
        for i, number in enumerate(numbers)
        if any(before > number for before in numbers[:i])
    }
