# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs of transfers over a star of links.

Each station has a link to the hub, with the same rate in both directions. A transfer from A to B uses the directions A
> hub and hub > B. Each direction serves packets in order of arrival. The acknowledgement of a packet reaches the sender
`BACK_NS` after the packet's arrival, and waits in no queue. If a packet is lost at the hub, it is retransmitted
`AGAIN_NS` later. No window limits the senders. If packets are sent faster than a link can carry them, they wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from leowarp.metrics.inputs.stored import tables_of
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, rows_by
from leowarp.scenario.schema import Flow, Plan, Run
from leowarp.trace import TABLES
from support.plans import plan as planned

MS = 1_000_000
S = 1_000_000_000
PAYLOAD_BYTES, HEADERS_BYTES = 1448, 66
"""The payload of a full packet, and the length of the packet's headers on a link. The headers are Ethernet, IP, and TCP
with timestamps."""
DELAY_NS = 5 * MS
BACK_NS = 2 * DELAY_NS
AGAIN_NS = 200 * MS
SAMPLE_NS = 50 * MS
HUB = "hub"


@dataclass(frozen=True)
class Transfer:
    """A TCP flow of the plan, or a connection of a program.

    size_bytes: The bytes to transfer. If it is None, the flow sends as much as possible until `stop_ns`.
    gap_ns: The time between the sending of two packets.
    lost: frozenset of int. The numbers of the packets whose first transmission is lost.
    """

    source: str
    destination: str
    start_ns: int
    gap_ns: int
    size_bytes: int | None = None
    stop_ns: int = 1 << 62
    lost: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Star:
    """A synthetic run.

    plan: The plan. Its flows are the transfers. If there are connections, the plan also has the flow of their program.
    data: All data packets, including those that arrive after the run's end. The columns are `flow`, `number`,
        `len_bytes`, `sent_ns`, `received_ns` (missing if the packet is lost), `is_retransmission`.
    """

    plan: Plan
    tables: Tables
    data: pd.DataFrame
    end_ns: int


def star(transfers: Sequence[Transfer], rate_bps: int, end_ns: int, *, connections: Sequence[Transfer] = ()) -> Star:
    """Return a run over links of the rate `rate_bps`.

    connections: The connections of one program. Transfers have the first flow numbers. The program's flow has the next
        number. The program's connections have the numbers after it.
    """
    program = len(transfers)
    numbered = dict(enumerate(transfers)) | {program + 1 + k: each for k, each in enumerate(connections)}
    data = _packets(numbered, rate_bps, end_ns)
    acks = _acks(data)
    names = list(dict.fromkeys(name for each in numbered.values() for name in (each.source, each.destination)))
    links = [*((f"host:{name}", name, "wire") for name in names), *((name, HUB, "gsl") for name in names)]
    directions = [end for a, b, kind in links for end in ([a, b, kind], [b, a, kind])]
    metadata = {"directions": directions, "hosts": [f"host:{name}" for name in names], "virtual_ns": end_ns,
                "connections": [_connection(data, acks, number, each, program, end_ns)
                                for number, each in numbered.items() if number > program]}  # fmt: skip
    frames = {
        "sockets": _sockets(numbered, data, acks, end_ns),
        "packets": pd.concat([_stored(data, DATA), _stored(acks, ACK)]),
        "bins": pd.concat([_bins(data, DATA), _bins(acks, ACK)]),
        "linktotals": _totals(numbered, data, acks, directions),
        "drops": _drops(numbered, data, directions),
        "flows": _ends(numbered, data),
        "echoes": pd.DataFrame({"flow": pd.Series(dtype="int64")}),
    }
    flows = [_planned(each, end_ns) for each in transfers]
    if connections:
        flows.append(
            replace(_planned(connections[0], end_ns), kind="program", congestion_control=None, size_bytes=None)
        )
    trace = {name: _arrow(name, frame, metadata) for name, frame in frames.items()}
    tables = tables_of(trace, routes=_routes(numbered), timeline=_timeline(links, rate_bps))
    return Star(replace(planned(), run=Run(duration_ns=end_ns), flows=tuple(flows)), tables, data, end_ns)


def _planned(each: Transfer, end_ns: int) -> Flow:
    return Flow(source=each.source, destination=each.destination, start_ns=each.start_ns, size_bytes=each.size_bytes,
                stop_ns=min(each.stop_ns, end_ns), congestion_control="cubic")  # fmt: skip


def _packets(numbered: Mapping[int, Transfer], rate_bps: int, end_ns: int) -> pd.DataFrame:
    """Return all data packets with their times of sending and arrival, and whether they were lost."""
    frame = pd.concat([_sent(number, each, end_ns) for number, each in numbered.items()], ignore_index=True)
    source, destination = (
        [getattr(numbered[flow], name) for flow in frame["flow"]] for name in ("source", "destination")
    )
    arrived = frame["sent_ns"].to_numpy()
    took_ns = np.rint((frame["len_bytes"].to_numpy() + HEADERS_BYTES) * 8e9 / rate_bps).astype("int64")
    arrived = _served(arrived, took_ns, source, np.full(len(frame), True))
    # A packet that is lost at the hub does not reach the second link.
    kept = ~frame["is_lost"].to_numpy()
    arrived = _served(arrived, took_ns, destination, kept)
    frame["received_ns"] = pd.Series(arrived, dtype="Int64").where(kept)
    return frame


def _sent(number: int, each: Transfer, end_ns: int) -> pd.DataFrame:
    """Return the sending times of the packets of a flow. The first packet leaves one round trip after the flow's start.
    A lost packet is sent a second time."""
    first_ns = each.start_ns + 2 * BACK_NS
    until_ns = min(each.stop_ns, end_ns)
    count = max(0, -(-(until_ns - first_ns) // each.gap_ns))
    length = np.full(count, PAYLOAD_BYTES)
    if each.size_bytes is not None:
        whole, rest = divmod(each.size_bytes, PAYLOAD_BYTES)
        length = np.array([PAYLOAD_BYTES] * min(whole, count) + [rest] * (rest > 0), dtype="int64")[:count]
    place = np.arange(len(length))
    sent_ns, is_lost = first_ns + place * each.gap_ns, np.isin(place, list(each.lost))
    again = is_lost & (sent_ns + AGAIN_NS < until_ns)
    return pd.DataFrame({
        "flow": number, "number": np.append(place, place[again]), "len_bytes": np.append(length, length[again]),
        "sent_ns": np.append(sent_ns, sent_ns[again] + AGAIN_NS), "is_lost": np.append(is_lost, is_lost[again] & False),
        "is_retransmission": np.arange(len(place) + again.sum()) >= len(place),
    })  # fmt: skip


def _served(arrived_ns: np.ndarray, took_ns: np.ndarray, link: Sequence[str], comes: np.ndarray) -> np.ndarray:
    """Return the times at which packets leave their links. Each link serves packets in order of arrival, and adds
    `DELAY_NS`."""
    free_ns: dict[str, int] = {}
    left = arrived_ns.copy()
    for place in np.argsort(arrived_ns, kind="stable"):
        if comes[place]:
            begin = max(int(arrived_ns[place]), free_ns.get(link[place], 0))
            free_ns[link[place]] = left[place] = begin + int(took_ns[place])
    return left + DELAY_NS


def _acks(data: pd.DataFrame) -> pd.DataFrame:
    """Return one acknowledgement per packet that arrives."""
    came = data[data["received_ns"].notna()]
    order = np.lexsort((came["received_ns"].to_numpy(dtype="int64"), came["flow"].to_numpy()))
    came = came.iloc[order]
    sent_ns = came["received_ns"].to_numpy(dtype="int64")
    ack = np.zeros(len(came), dtype="int64")
    for at in rows_by(came["flow"].to_numpy()).values():
        ack[at] = in_order_bytes(came.iloc[at], sent_ns[at])
    return came.assign(sent_ns=sent_ns, received_ns=pd.array(sent_ns + BACK_NS, dtype="Int64"), len_bytes=0, ack=ack,
                       is_retransmission=False)  # fmt: skip


def in_order_bytes(data: pd.DataFrame, t_ns: np.ndarray) -> np.ndarray:
    """Return how many payload bytes of one flow have arrived in order at each of these instants. The function computes
    them packet by packet."""
    numbers = data["number"].to_numpy(dtype="int64")
    first_ns, length = (np.full(numbers.max(initial=-1) + 2, value) for value in (np.inf, 0))
    # The last element stands for a packet that never arrives, so that the sequence has an end.
    np.minimum.at(first_ns, numbers, data["received_ns"].to_numpy(dtype="float64", na_value=np.inf))
    length[numbers] = data["len_bytes"]
    carried = np.concatenate([[0], np.cumsum(length)])
    return carried[np.searchsorted(np.maximum.accumulate(first_ns), t_ns, side="right")]


def _sockets(numbered: Mapping[int, Transfer], data: pd.DataFrame, acks: pd.DataFrame, end_ns: int) -> pd.DataFrame:
    """Return samples of the sockets every 50 ms. A flow's last sample is at the flow's stop time, or when all data of
    the flow are acknowledged. SYN and FIN count as one byte each."""
    pieces = []
    sent, answered = (rows_by(frame["flow"].to_numpy()) for frame in (data, acks))
    for number, each in numbered.items():
        mine, back = data.iloc[sent.get(number, [])], acks.iloc[answered.get(number, [])]
        until_ns = min(each.stop_ns, end_ns)
        t_ns = np.append(np.arange(-(-(each.start_ns + 1) // SAMPLE_NS) * SAMPLE_NS, until_ns, SAMPLE_NS), until_ns)
        received = in_order_bytes(mine, t_ns)
        come = back["received_ns"].to_numpy(dtype="int64")
        highest = np.concatenate([[0], np.maximum.accumulate(back["ack"].to_numpy(dtype="int64"))])
        acked = highest[np.searchsorted(come, t_ns, side="right")]
        is_done = acked == each.size_bytes
        # One more sample follows after all data are acknowledged.
        kept = np.concatenate([[True], ~is_done[:-1]])
        columns = (t_ns, np.full(len(t_ns), number), received + (received == each.size_bytes),
                   acked + (t_ns >= each.start_ns + BACK_NS) + is_done)  # fmt: skip
        pieces.append(np.column_stack(columns)[kept])
    frame = pd.DataFrame(np.concatenate(pieces), columns=["t_ns", "flow", "bytes_received", "bytes_acked"])
    return frame.sort_values(["t_ns", "flow"], kind="stable").assign(
        state=1, ca_state=0, cwnd_pkts=10, srtt_us=20_000, sacked_pkts=0, dsack_pkts=0, snd_mss_bytes=PAYLOAD_BYTES
    )


def _stored(frame: pd.DataFrame, direction: int) -> pd.DataFrame:
    lost = frame["is_lost"].to_numpy(dtype=bool) if direction == DATA else np.full(len(frame), False)
    return frame.assign(
        direction=direction, stored_because=1, seq=frame["number"] * PAYLOAD_BYTES if direction == DATA else 0,
        ack=None if direction == DATA else frame["ack"], is_late=frame["received_ns"].notna().where(lost, False),
        is_spurious=pd.Series(False, index=frame.index).where(frame["is_retransmission"]),
        drop_cause=pd.Series(1, index=frame.index, dtype="Int64").where(lost), drop_direction=None, extent_pkts=None,
    ).astype(object)  # fmt: skip


def _bins(frame: pd.DataFrame, direction: int) -> pd.DataFrame:
    """Return counts in bins of 50 ms. A packet counts in the bin in which it was sent."""
    came = frame["received_ns"].notna()
    owd = (frame["received_ns"] - frame["sent_ns"]).astype("Int64")
    each = pd.DataFrame({
        "flow": frame["flow"], "t_ns": frame["sent_ns"] // SAMPLE_NS * SAMPLE_NS, "sent_pkts": 1,
        "sent_bytes": frame["len_bytes"], "delivered_pkts": came.astype(int),
        "delivered_bytes": frame["len_bytes"].where(came, 0), "lost_pkts": (~came).astype(int), "late_pkts": 0,
        "retrans_pkts": frame["is_retransmission"].astype(int), "spurious_pkts": 0, "owd_sum_ns": owd.fillna(0),
    })  # fmt: skip
    keys = [each["flow"], each["t_ns"]]
    total = each.groupby(["flow", "t_ns"]).sum()
    total["owd_min_ns"], total["owd_max_ns"] = owd.groupby(keys).min(), owd.groupby(keys).max()
    return total.reset_index().assign(direction=direction)


def _totals(
    numbered: Mapping[int, Transfer], data: pd.DataFrame, acks: pd.DataFrame, directions: list[list[str]]
) -> pd.DataFrame:
    """Return the totals of each direction of each link."""
    place = {(a, b): number for number, (a, b, _) in enumerate(directions)}
    counts = np.zeros((len(directions), 4), dtype="int64")
    for frame, back in ((data, False), (acks, True)):
        lost = frame["is_lost"].to_numpy(dtype=bool) & (not back)
        frames = pd.DataFrame({"flow": frame["flow"].to_numpy(), "lost": lost, "pkts": 1,
                               "bytes": frame["len_bytes"].to_numpy() + HEADERS_BYTES})  # fmt: skip
        for (number, dropped), mine in frames.groupby(["flow", "lost"]).sum().iterrows():
            each = numbered[number]
            a, b = (each.destination, each.source) if back else (each.source, each.destination)
            counts[place[a, HUB], 2 * dropped : 2 * dropped + 2] += mine.to_numpy()
            if not dropped:
                counts[place[HUB, b], :2] += mine.to_numpy()
    frame = pd.DataFrame(
        counts, columns=["delivered_pkts", "delivered_bytes", "dropped_queue_pkts", "dropped_queue_bytes"]
    ).assign(direction=range(len(directions)))
    for unit in ("pkts", "bytes"):
        frame[f"offered_{unit}"] = frame[f"delivered_{unit}"] + frame[f"dropped_queue_{unit}"]
        for name in ("dropped_loss", "dropped_down", "held"):
            frame[f"{name}_{unit}"] = 0
    return frame.assign(queue_max_pkts=0)


def _drops(numbered: Mapping[int, Transfer], data: pd.DataFrame, directions: list[list[str]]) -> pd.DataFrame:
    place = {(a, b): number for number, (a, b, _) in enumerate(directions)}
    lost = data[data["is_lost"]]
    return pd.DataFrame({
        "t_ns": lost["sent_ns"], "direction": [place[numbered[flow].source, HUB] for flow in lost["flow"]], "cause": 1,
        "flow": lost["flow"], "flow_direction": DATA, "len_bytes": lost["len_bytes"],
    })  # fmt: skip


def _ends(numbered: Mapping[int, Transfer], data: pd.DataFrame) -> pd.DataFrame:
    rows = []
    sent = rows_by(data["flow"].to_numpy())
    for number, each in numbered.items():
        mine = data.iloc[sent.get(number, [])]
        came = mine["received_ns"].notna().to_numpy()
        received = mine["received_ns"].to_numpy(dtype="float64", na_value=np.nan)[came]
        _, first = np.unique(mine["number"].to_numpy()[came], return_index=True)
        carried = int(mine["len_bytes"].to_numpy()[came][first].sum())
        # Time at which the last new payload arrived.
        last_ns = int(received[first].max()) if len(first) else None
        is_done = carried == each.size_bytes
        took_ns = last_ns - each.start_ns if is_done and last_ns is not None else None
        rows.append({"flow": number, "bytes": carried, "error": 0, "connect_ns": BACK_NS, "last_byte_ns": last_ns,
                     "completion_ns": took_ns})  # fmt: skip
    return pd.DataFrame(rows)


def _connection(
    data: pd.DataFrame, acks: pd.DataFrame, number: int, each: Transfer, program: int, end_ns: int
) -> dict[str, Any]:
    """Return a connection in the form of `end.json`. It lasts from the connection's start to its last packet."""
    seen = pd.concat([frame.loc[frame["flow"] == number, "received_ns"] for frame in (data, acks)]).dropna()
    last_ns = int(seen.max()) if len(seen) else each.start_ns
    return {"flow": number, "program": program, "kind": "tcp", "source_port": number, "destination_port": 5201,
            "opened_by": "source", "congestion_control": "cubic", "start_ns": each.start_ns,
            "stop_ns": min(last_ns, end_ns)}  # fmt: skip


def _routes(numbered: Mapping[int, Transfer]) -> pa.Table:
    ends = {(each.source, each.destination) for each in numbered.values()}
    rows = [{"t_ns": 0, "source": a, "destination": b, "path_id": 0, "path": [a, HUB, b], "delay_ns": 2 * DELAY_NS,
             "hops": 2, "is_change": False} for a, b in sorted(ends | {(b, a) for a, b in ends})]  # fmt: skip
    return pa.Table.from_pylist(rows)


def _timeline(links: list[tuple[str, str, str]], rate_bps: int) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"t_ns": 0, "event": "link", "a": a, "b": b, "kind": kind, "up": True, "overhead_bytes": 14}
        for a, b, kind in links
    ]
    for a, b, kind in links:
        for x, y in ((a, b), (b, a)) if kind != "wire" else ():
            rows.append({"t_ns": 0, "event": "rate", "a": x, "b": y, "rate_bps": rate_bps})
            rows.append({"t_ns": 0, "event": "delay", "a": x, "b": y, "delay_ns": DELAY_NS})
    text, whole = pa.string(), pa.int64()
    columns = {"t_ns": whole, "event": text, "a": text, "b": text, "kind": text, "up": pa.bool_(),
               "overhead_bytes": whole, "rate_bps": whole, "delay_ns": whole}  # fmt: skip
    return pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))


def _arrow(name: str, frame: pd.DataFrame, metadata: Mapping[str, Any]) -> pa.Table:
    schema = TABLES[name].arrow(dict(metadata))
    whole = frame.assign(**{column: None for column in schema.names if column not in frame})
    table = pa.Table.from_pandas(whole[schema.names], schema=schema, preserve_index=False)
    return table.replace_schema_metadata(schema.metadata)
