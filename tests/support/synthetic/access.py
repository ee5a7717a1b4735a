# SPDX-License-Identifier: Apache-2.0
"""A synthetic run over an access link with known numbers, for tests and figures.

The run lasts 60 s, and its path changes at 12, 27, 42 and 57 s. Every true value is a constant in this file, or follows
from these properties:

- Down (from the gateway to the terminal), the base delay in the five slots is 15, 22, 16, 20 and 18 ms. In every other
  millisecond, the delay is 1 ms longer. For 100 ms after each change of the path, the delay down is 60 ms instead of
  the base delay. The uplink's delay is always 10 ms. The downlink's capacity is 40 Mbit/s until 27 s, and 20 Mbit/s
  from then on.
- Flow 0 is a ping from the dish every 100 ms. The ping's round trip is the delay up plus the delay down. The delay down
  includes the spike. Probes leave at even milliseconds, so their delay never includes the additional millisecond. These
  probes are lost: the probe at each change, the next probe after the change at 27 s, and a probe at 35 s.
- Flows 1 and 2 are TCP from the server. Flow 1 sends a packet of 1448 bytes every 2 ms from 0 s on. Flow 2 sends a
  packet every 6 ms from 10 s to 40 s. Each packet is acknowledged when it arrives, and its ACK takes 10 ms. Flow 1
  loses a packet on the link 100 ms after each change of the path. This does not happen after the last change. At 50 s,
  flow 1 loses two successive packets at a full queue. Each lost packet is retransmitted after 200 ms.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp import scenario
from leowarp.base import layout
from leowarp.metrics.inputs.tables import ACK, DATA
from leowarp.trace import TABLES

MS = 1_000_000
S = 1_000_000_000
END_NS = 60 * S
CHANGES_NS = (12 * S, 27 * S, 42 * S, 57 * S)
BASE_NS = (15 * MS, 22 * MS, 16 * MS, 20 * MS, 18 * MS)
UP_NS = 10 * MS
SPIKE_NS, SPIKE_LASTS_NS = 60 * MS, 100 * MS
JITTER_NS = MS
CAPACITY_BPS = ((0, 40_000_000), (27 * S, 20_000_000))
PAYLOAD_BYTES, FRAME_BYTES = 1448, 1514
LINKS = (("host:dish", "terminal", "wire"), ("terminal", "gateway", "gsl"), ("gateway", "host:server", "wire"))
UP, DOWN = 2, 3
"""The numbers of two directions: from the terminal to the gateway, and back."""
PING_LOST_NS = (12 * S, 27 * S, 27 * S + 100 * MS, 35 * S, 42 * S, 57 * S)
INTERVALS_NS = {1: 2 * MS, 2: 6 * MS}
SPANS_NS = {1: (0, END_NS), 2: (10 * S, 40 * S)}
CHANNEL_LOST_NS = tuple(t_ns + 100 * MS for t_ns in CHANGES_NS[:-1])
QUEUE_LOST_NS = (50 * S, 50 * S + 2 * MS)
RESENT_AFTER_NS = 200 * MS

_TEXT, _WHOLE = pa.string(), pa.int64()
TIMELINE_TYPES = {
    "t_ns": _WHOLE, "event": _TEXT, "a": _TEXT, "b": _TEXT, "kind": _TEXT, "up": pa.bool_(), "overhead_bytes": _WHOLE,
    "rate_bps": _WHOLE, "delay_ns": _WHOLE, "loss_ratio": pa.float64(), "node": _TEXT, "destination": _TEXT,
    "next_hop": _TEXT, "path_id": pa.int32(), "queue": _TEXT, "ecn": pa.bool_(),
}  # fmt: skip

PLAN_TOML = """\
name = "synthetic-access"
schema = 1

[run]
duration = "60 s"

[access]
profile = "starlink"

[[flows]]
kind = "ping"
source = "dish"
destination = "server"
interval = "100 ms"

[[flows]]
source = "server"
destination = "dish"
congestion_control = "cubic"

[[flows]]
source = "server"
destination = "dish"
congestion_control = "bbr"
start = "10 s"
stop = "40 s"
"""


def write_synthetic_access(run_dir: str | Path, toml: str = PLAN_TOML) -> Path:
    """Write this file's run into a directory without metrics and report, and return the directory.

    `toml` is the scenario of the run's plan. The tables of the run are the same for every scenario.
    """
    run_dir = Path(run_dir)
    trace = run_dir / layout.TRACE
    trace.mkdir(parents=True, exist_ok=True)
    text = run_dir / "scenario.toml"
    text.write_text(toml, encoding="utf-8")
    (run_dir / layout.PLAN).write_text(scenario.resolve(scenario.load(text)).to_toml(), encoding="utf-8")
    text.unlink()
    pq.write_table(routes(), run_dir / layout.ROUTES)
    pq.write_table(timeline(), run_dir / layout.TIMELINE)
    flows = {flow: data_packets(flow) for flow in INTERVALS_NS}
    acks = {flow: ack_packets(data) for flow, data in flows.items()}
    directions = [end for a, b, kind in LINKS for end in ([a, b, kind], [b, a, kind])]
    metadata = {"directions": directions, "hosts": ["host:dish", "host:server"], "virtual_ns": END_NS}
    drops = drop_rows(flows)
    tables = {
        "sockets": pd.concat([sockets(flow, data) for flow, data in flows.items()]).sort_values(["t_ns", "flow"]),
        "packets": pd.concat([stored(flow, direction, frame) for flow in flows
                              for direction, frame in ((DATA, flows[flow]), (ACK, acks[flow]))]),
        "bins": pd.concat([bins(flow, direction, frame) for flow in flows
                           for direction, frame in ((DATA, flows[flow]), (ACK, acks[flow]))]),
        "links": pd.DataFrame({"t_ns": [49 * S, 51 * S], "direction": DOWN, "queue_pkts": [100, 0],
                               "queue_bytes": [100 * FRAME_BYTES, 0], "queue_max_pkts": [100, 100]}),
        "linktotals": totals(flows, acks),
        "counters": pd.DataFrame({"t_ns": [0, 0, S], "host": [0, 1, 0], "counter": "IpExt.InCEPkts",
                                  "value": [0, 0, 3]}),
        "drops": drops,
        "flows": pd.DataFrame({"flow": [1, 2], "connect_ns": 40 * MS, "bytes": [0, 0], "completion_ns": None,
                               "error": 0}),
        "echoes": echoes(),
        "reordering": pd.DataFrame({"flow": pd.Series(dtype="int64")}),
        "densities": pd.DataFrame({"flow": pd.Series(dtype="int64")}),
    }  # fmt: skip
    for name, frame in tables.items():
        schema = TABLES[name].arrow(metadata)
        for column in schema.names:
            if column not in frame:
                frame[column] = None
        table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
        pq.write_table(table.replace_schema_metadata(schema.metadata), trace / f"{name}.parquet")
    (run_dir / layout.MANIFEST).write_text(json.dumps({"warnings": [], "seed": 1}), encoding="utf-8")
    return run_dir


def slot(t_ns: Any) -> Any:
    """Return the number of the slot to which an instant belongs."""
    return np.searchsorted(CHANGES_NS, t_ns, side="right")


def down_ns(sent_ns: np.ndarray) -> np.ndarray:
    """Return the one-way delay to the terminal for packets sent at `sent_ns`. The packets stay in order."""
    sent_ns = np.asarray(sent_ns, dtype="int64")
    number = slot(sent_ns)
    base = np.array(BASE_NS)[number] + JITTER_NS * (sent_ns // MS % 2)
    since = sent_ns - np.append(-END_NS, CHANGES_NS)[number]
    return np.where(since < SPIKE_LASTS_NS, SPIKE_NS, base)


def routes() -> pa.Table:
    """Return `10-routes.parquet`, with one path per slot and direction."""
    rows = []
    for number, t_ns in enumerate((0, *CHANGES_NS)):
        for source, destination in (("dish", "server"), ("server", "dish")):
            rows.append({"t_ns": t_ns, "source": source, "destination": destination, "path_id": number,
                         "path": [source, f"s-{number % 2}", destination], "delay_ns": BASE_NS[number], "hops": 2,
                         "is_change": number > 0})  # fmt: skip
    return pa.Table.from_pylist(rows)


def timeline() -> pa.Table:
    """Return `20-timeline.parquet` with the events that metrics read: links, tables of capacity and channel, routes,
    paths."""
    rows: list[dict[str, Any]] = [
        {"t_ns": 0, "event": "link", "a": a, "b": b, "kind": kind, "up": True, "overhead_bytes": 14}
        for a, b, kind in LINKS
    ]
    for nodes in (["host:dish", "terminal", "gateway", "host:server"], ["host:server", "gateway", "terminal",
                                                                         "host:dish"]):  # fmt: skip
        rows += [{"t_ns": 0, "event": "route", "node": node, "destination": nodes[-1], "next_hop": after}
                 for node, after in itertools.pairwise(nodes)]  # fmt: skip
    rows.append({"t_ns": 0, "event": "queue", "a": "gateway", "b": "terminal", "queue": "fq_codel", "ecn": True})
    for t_ns, rate_bps in CAPACITY_BPS:
        rows.append({"t_ns": t_ns, "event": "capacity", "a": "gateway", "b": "terminal", "rate_bps": rate_bps})
    rows.append({"t_ns": 0, "event": "channel", "a": "terminal", "b": "gateway", "delay_ns": UP_NS, "loss_ratio": 0.0})
    when = np.arange(0, END_NS, MS)
    for t_ns, delay_ns in zip(when.tolist(), down_ns(when).tolist(), strict=True):
        rows.append(
            {"t_ns": t_ns, "event": "channel", "a": "gateway", "b": "terminal", "delay_ns": delay_ns, "loss_ratio": 0.0}
        )
    for number, t_ns in enumerate((0, *CHANGES_NS)):
        for a, b in (("host:dish", "host:server"), ("host:server", "host:dish")):
            rows.append({"t_ns": t_ns, "event": "path", "a": a, "b": b, "path_id": number})
    rows.sort(key=lambda row: row["t_ns"])
    return pa.Table.from_pylist(rows, schema=pa.schema(list(TIMELINE_TYPES.items())))


def echoes() -> pd.DataFrame:
    """Return the pings. Their requests go up, and their replies go down."""
    sent = np.arange(0, END_NS, 100 * MS)
    there = pd.Series(sent + UP_NS, dtype="Int64")
    # The delay of a reply depends on when the reply is sent. A probe at a change therefore has the delay of the spike.
    reply = there + down_ns(sent + UP_NS)
    lost = np.isin(sent, PING_LOST_NS)
    return pd.DataFrame({"flow": 0, "index": np.arange(len(sent)), "sent_ns": sent, "received_ns": there.where(~lost),
                         "reply_ns": reply.where(~lost & (reply < END_NS))})  # fmt: skip


def data_packets(flow: int) -> pd.DataFrame:
    """Return all data packets of a TCP flow, in order of sending."""
    sent = np.arange(*SPANS_NS[flow], INTERVALS_NS[flow])
    lost_ns = (*CHANNEL_LOST_NS, *QUEUE_LOST_NS) if flow == 1 else ()
    frame = pd.DataFrame({"number": np.arange(len(sent)), "sent_ns": sent, "is_retransmission": False})
    frame["drop_cause"] = np.select([np.isin(sent, [t for t in lost_ns if t in CHANNEL_LOST_NS]),
                                     np.isin(sent, [t for t in lost_ns if t in QUEUE_LOST_NS])], [2, 1], 0)  # fmt: skip
    again = frame[frame["drop_cause"] > 0].assign(is_retransmission=True, drop_cause=0)
    # Half a millisecond is added, so that no two packets leave at the same instant.
    again["sent_ns"] += RESENT_AFTER_NS + 500_000
    frame = pd.concat([frame, again]).sort_values("sent_ns", kind="stable", ignore_index=True)
    received = np.maximum.accumulate(frame["sent_ns"].to_numpy() + down_ns(frame["sent_ns"].to_numpy()))
    frame["received_ns"] = pd.Series(received, dtype="Int64").where((frame["drop_cause"] == 0) & (received < END_NS))
    frame["ack"] = None
    return frame


def ack_packets(data: pd.DataFrame) -> pd.DataFrame:
    """Return one acknowledgement for each packet that arrives."""
    sent = np.sort(data["received_ns"].dropna().to_numpy(dtype="int64"))
    received = pd.Series(sent + UP_NS, dtype="Int64")
    return pd.DataFrame({
        "number": np.arange(len(sent)), "sent_ns": sent, "is_retransmission": False, "drop_cause": 0,
        "received_ns": received.where(received < END_NS),
        "ack": np.searchsorted(in_order_at(data), sent, side="right") * PAYLOAD_BYTES,
    })  # fmt: skip


def in_order_at(data: pd.DataFrame) -> np.ndarray:
    """Return the time at which each packet and all earlier packets have arrived."""
    first = data.dropna(subset="received_ns").groupby("number")["received_ns"].min().astype("int64")
    complete = first.reindex(range(int(data["number"].max()) + 1))
    missing = complete.isna().to_numpy()
    stop = int(np.argmax(missing)) if missing.any() else len(complete)
    return np.maximum.accumulate(complete.iloc[:stop].to_numpy(dtype="int64"))


def sockets(flow: int, data: pd.DataFrame) -> pd.DataFrame:
    """Return samples of the socket, every 50 ms during the flow's lifetime."""
    start_ns, stop_ns = SPANS_NS[flow]
    t_ns = np.arange(start_ns, stop_ns + 1, 50 * MS)
    complete = in_order_at(data)
    return pd.DataFrame({
        "t_ns": t_ns, "flow": flow, "state": 1, "ca_state": 0, "cwnd_pkts": 100,
        "srtt_us": (down_ns(t_ns) + UP_NS) // 1000, "sacked_pkts": 0, "snd_mss_bytes": PAYLOAD_BYTES, "dsack_pkts": 0,
        "bytes_acked": np.searchsorted(complete, t_ns - UP_NS, side="right") * PAYLOAD_BYTES,
        "bytes_received": np.searchsorted(complete, t_ns, side="right") * PAYLOAD_BYTES,
        "delivered_ce_pkts": 7 * (flow == 1) * (t_ns > 30 * S), "retrans_pkts": 0,
    })  # fmt: skip


def stored(flow: int, direction: int, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the packets that a run would store. They are the packets from 1 s before to 3 s after each change, all
    lost packets, and all retransmissions."""
    sent = frame["sent_ns"].to_numpy()
    window = np.zeros(len(frame), dtype=bool)
    for t_ns in CHANGES_NS:
        window |= (sent >= t_ns - S) & (sent < t_ns + 3 * S)
    lost, again = frame["drop_cause"].to_numpy() > 0, frame["is_retransmission"].to_numpy(dtype=bool)
    because = window * 1 + lost * 4 + again * 8
    kept = frame.assign(
        flow=flow, direction=direction, stored_because=because,
        drop_cause=frame["drop_cause"].where(lost).astype("Int64"),
        drop_direction=pd.Series(DOWN, index=frame.index).where(lost).astype("Int64"),
        is_late=pd.Series(False, index=frame.index).where(frame["received_ns"].notna()),
        is_spurious=pd.Series(False, index=frame.index).where(again), path_id=slot(sent),
        seq=frame["number"] * PAYLOAD_BYTES if direction == DATA else 0,
        len_bytes=PAYLOAD_BYTES if direction == DATA else 0,
    )  # fmt: skip
    return kept[because > 0].astype(object)


def bins(flow: int, direction: int, frame: pd.DataFrame) -> pd.DataFrame:
    """Return counts in bins of 50 ms, by the packets' sending times."""
    owd = (frame["received_ns"] - frame["sent_ns"]).astype("Int64")
    start = frame["sent_ns"] // (50 * MS) * (50 * MS)
    each = pd.DataFrame({
        "t_ns": start, "sent_pkts": 1, "delivered_pkts": owd.notna().astype(int),
        "lost_pkts": (frame["drop_cause"] > 0).astype(int), "late_pkts": 0,
        "retrans_pkts": frame["is_retransmission"].astype(int), "spurious_pkts": 0, "owd_sum_ns": owd.fillna(0),
    })  # fmt: skip
    total = each.groupby("t_ns").sum()
    by_bin = owd.groupby(start)
    total["owd_min_ns"], total["owd_max_ns"] = by_bin.min(), by_bin.max()
    return total.reset_index().assign(flow=flow, direction=direction)


def drop_rows(flows: dict[int, pd.DataFrame]) -> pd.DataFrame:
    """Return all lost packets. These are packets of the TCP flows and requests of the pings."""
    pieces = [
        pd.DataFrame({"t_ns": lost["sent_ns"], "direction": DOWN, "cause": lost["drop_cause"], "flow": flow,
                      "flow_direction": DATA})
        for flow, data in flows.items()
        for lost in [data[data["drop_cause"] > 0]]
    ]  # fmt: skip
    pings = {"t_ns": list(PING_LOST_NS), "direction": UP, "cause": 2, "flow": 0, "flow_direction": DATA}
    return pd.concat([*pieces, pd.DataFrame(pings)]).sort_values("t_ns")


def totals(flows: dict[int, pd.DataFrame], acks: dict[int, pd.DataFrame]) -> pd.DataFrame:
    """Return counts of packets and bytes in both directions of the access link."""
    rows = []
    data, back, pings = pd.concat(flows.values()), pd.concat(acks.values()), echoes()
    answered = pings[~np.isin(pings["sent_ns"], PING_LOST_NS)]
    for direction, frame in ((UP, back), (DOWN, data)):
        queue, loss = (int((frame["drop_cause"] == cause).sum()) for cause in (1, 2))
        ping_lost = len(PING_LOST_NS) if direction == UP else 0
        flying = int(frame["received_ns"].isna().sum()) - queue - loss
        ping_flying = int(answered["reply_ns"].isna().sum()) if direction == DOWN else 0
        ping_offered = len(pings) if direction == UP else len(answered)
        offered, held, lost = len(frame) + ping_offered, flying + ping_flying, queue + loss + ping_lost
        counts = {"offered": offered, "delivered": offered - held - lost, "dropped_queue": queue,
                  "dropped_loss": loss + ping_lost, "dropped_down": 0, "held": held}  # fmt: skip
        rows.append({"direction": direction, "queue_max_pkts": 100}
                    | {f"{name}_pkts": count for name, count in counts.items()}
                    | {f"{name}_bytes": count * FRAME_BYTES for name, count in counts.items()})  # fmt: skip
    return pd.DataFrame(rows)
