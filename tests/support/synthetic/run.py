# SPDX-License-Identifier: Apache-2.0
"""A synthetic run directory with known numbers, for tests and for trying out figures.

From Madrid to Tokyo, a sender sends a packet of 1448 bytes every millisecond for 60 s. Every true value is a constant
in this file, or follows from these events:

- 0 s: the flow takes path 0, with a delay of 40 ms. From 10 s on, the delay is 41 ms, because one link is 1 ms longer.
- 19.5 s: a queue of 15 packets forms on the link s-00-00>s-01-00. It begins to delay each packet by 15.25 ms.
- 20 s: the flow switches to path 1, with a delay of only 30 ms. The queue of path 0 no longer delays the flow. The 26
  packets that were sent from 19.9745 s to 19.9995 s arrive after newer packets, with the extents 1, 3, 5 ... 51. From
  20.08 s on, ten spurious retransmissions are sent, and ten DSACKs arrive.
- 40 s: the flow switches to path 2, with a delay of 45 ms. Path 2 is longer than path 1, so no packet is late.
- 50 s: three packets are dropped at a full queue. From 50.12 s on, these packets are retransmitted. The retransmissions
  are needed, so they do not count as spurious.
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
from leowarp.scenario import Plan
from leowarp.trace import TABLES
from support.synthetic.delays import delay_rows, round_trip_ends
from support.synthetic.reordering import CHANGE, RUN, WINDOW, reordering_tables

MS = 1_000_000
S = 1_000_000_000
END_NS = 60 * S
WINDOW_NS = 10 * S
PAYLOAD_BYTES = 1448
FRAME_BYTES = 1514
QUEUE_WAIT_NS = 15_250_000
QUEUE_PKTS = 15
RATE_BPS = QUEUE_PKTS * FRAME_BYTES * 8 * S // QUEUE_WAIT_NS
LATE_PKTS = 26
EXTENT_MAX_PKTS = 51
SPURIOUS_PKTS = 10
DROPPED_PKTS = 3
LATE_ACKS = 5
STATIONS = ("Madrid", "Tokyo")
PATHS = (
    ("Madrid", "s-00-00", "s-01-00", "s-02-00", "Tokyo"),
    ("Madrid", "s-00-00", "s-01-01", "s-02-00", "Tokyo"),
    ("Madrid", "s-03-00", "s-04-00", "Tokyo"),
)
LINK_DELAYS_NS = {
    ("Madrid", "s-00-00"): 5 * MS, ("s-00-00", "s-01-00"): 15 * MS, ("s-01-00", "s-02-00"): 15 * MS,
    ("s-02-00", "Tokyo"): 5 * MS, ("s-00-00", "s-01-01"): 10 * MS, ("s-01-01", "s-02-00"): 10 * MS,
    ("Madrid", "s-03-00"): 10 * MS, ("s-03-00", "s-04-00"): 25 * MS, ("s-04-00", "Tokyo"): 10 * MS,
}  # fmt: skip
LINKS = tuple(LINK_DELAYS_NS)
CHANGES_NS = (20 * S, 40 * S)
PATH_DELAYS_NS = (41 * MS, 30 * MS, 45 * MS)

PLAN_TOML = """\
name = "synthetic"
schema = 1

[run]
duration = "60 s"

[constellation]
preset = "oneweb-study"

[[stations]]
name = "Madrid"

[[stations]]
name = "Tokyo"

[routing]
interval = "10 s"
link_interval = "10 s"

[[flows]]
source = "Madrid"
destination = "Tokyo"
congestion_control = "cubic"
"""


def routes_of(plan) -> pa.Table:
    """Return the routes between Madrid and Tokyo. If the plan's flows have other pairs of stations, each pair gets a
    copy of these routes."""
    table = routes()
    pairs = {(flow.source, flow.destination) for flow in plan.flows} - {("Madrid", "Tokyo"), ("Tokyo", "Madrid")}
    frame = table.to_pandas()
    for source, destination in sorted(pairs):
        names = {"Madrid": source, "Tokyo": destination}
        renamed = frame.assign(source=frame["source"].map(names), destination=frame["destination"].map(names))
        table = pa.concat_tables([table, pa.Table.from_pandas(renamed, schema=table.schema, preserve_index=False)])
    return table


def write_synthetic_run(run_dir: str | Path, toml: str = PLAN_TOML) -> Path:
    """Write this file's run into a directory without metrics and report, and return the directory.

    `toml` is the scenario of the run's plan. Among the tables, only the routes depend on `toml`.
    """
    run_dir = Path(run_dir)
    trace = run_dir / layout.TRACE
    trace.mkdir(parents=True, exist_ok=True)
    scenario_file = run_dir / "scenario.toml"
    scenario_file.write_text(toml, encoding="utf-8")
    plan = scenario.resolve(scenario.load(scenario_file))
    (run_dir / layout.PLAN).write_text(plan.to_toml(), encoding="utf-8")
    scenario_file.unlink()
    pq.write_table(routes_of(plan), run_dir / layout.ROUTES)
    pq.write_table(timeline(), run_dir / layout.TIMELINE)
    data = data_packets()
    acks = ack_packets(data)
    directions = [end for a, b in LINKS for end in ([a, b, kind(a, b)], [b, a, kind(a, b)])]
    metadata = {"directions": directions, "hosts": [f"host:{name}" for name in stations_of(plan)]}
    tables = {
        "sockets": sockets(data, acks),
        "packets": stored(data, acks),
        "bins": bins(data, acks),
        "delays": delay_rows(0, data, acks),
        "links": queue_rows(),
        "linktotals": totals(data, acks),
        "counters": counters(),
        "drops": drops(data),
        "flows": pd.DataFrame(
            {"flow": [0], "connect_ns": [80 * MS], "first_byte_ns": [40_500_000], "last_byte_ns": [END_NS],
             "completion_ns": [None], "bytes": [PAYLOAD_BYTES * 59_955], "error": [0]}
        ).assign(**round_trip_ends(data, acks)),
        "echoes": pd.DataFrame({"flow": [], "index": [], "sent_ns": [], "received_ns": [], "reply_ns": []}),
    }  # fmt: skip
    tables["reordering"], tables["densities"] = reordering_tables(data, scopes(), PAYLOAD_BYTES)
    for name, frame in tables.items():
        schema = TABLES[name].arrow(metadata)
        for column in schema.names:
            if column not in frame:
                frame[column] = None
        table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
        pq.write_table(table.replace_schema_metadata(schema.metadata), trace / f"{name}.parquet")
    (run_dir / layout.MANIFEST).write_text(json.dumps({"warnings": [], "seed": 1}), encoding="utf-8")
    return run_dir


def stations_of(plan: Plan) -> list[str]:
    """Return the stations in the tables, and after them the other sources and destinations of the plan's flows."""
    ends = [end for flow in plan.flows for end in (flow.source, flow.destination)]
    return list(dict.fromkeys((*STATIONS, *ends)))


def scopes() -> list[tuple[int, int, int, int]]:
    """Return the scopes of reordering: the run, windows of 10 s, and an interval around each change. The interval lasts
    from 1 s before the change to 3 s after it."""
    borders = [0, *range(WINDOW_NS // 2, END_NS, WINDOW_NS), END_NS]
    windows = [(WINDOW, k, *span) for k, span in enumerate(itertools.pairwise(borders))]
    changes = [(CHANGE, k, t_ns - S, t_ns + 3 * S) for k, t_ns in enumerate(CHANGES_NS)]
    return [(RUN, 0, 0, END_NS), *windows, *changes]


def kind(a: str, b: str) -> str:
    """Return the kind of a link, from the names of its ends."""
    return "isl" if a.startswith("s-") and b.startswith("s-") else "gsl"


def routes() -> pa.Table:
    """Return `10-routes.parquet`, with an update every 10 s in both directions."""
    rows = []
    for t_ns in range(0, END_NS, 10 * S):
        number = path_number(t_ns)
        for source, destination, path in (
            (*STATIONS, PATHS[number]),
            (*reversed(STATIONS), tuple(reversed(PATHS[number]))),
        ):
            rows.append({
                "t_ns": t_ns, "source": source, "destination": destination, "path_id": number, "path": list(path),
                "delay_ns": PATH_DELAYS_NS[number], "length_m": PATH_DELAYS_NS[number] * 0.299792458,
                "hops": len(path) - 1, "is_change": t_ns in CHANGES_NS,
            })  # fmt: skip
    return pa.Table.from_pylist(rows)


def timeline() -> pa.Table:
    """Return `20-timeline.parquet` with the events that metrics read: links, rates, delays, paths."""
    rows: list[dict[str, Any]] = []
    for a, b in LINKS:
        rows.append({"t_ns": 0, "event": "link", "a": a, "b": b, "kind": kind(a, b), "up": True})
        for x, y in ((a, b), (b, a)):
            rows.append({"t_ns": 0, "event": "rate", "a": x, "b": y, "rate_bps": RATE_BPS})
            rows.append({"t_ns": 0, "event": "delay", "a": x, "b": y, "delay_ns": LINK_DELAYS_NS[a, b]})
    for x, y in (("s-00-00", "s-01-00"), ("s-01-00", "s-00-00")):
        rows.append({"t_ns": 10 * S, "event": "delay", "a": x, "b": y, "delay_ns": 16 * MS})
    for t_ns in (0, *CHANGES_NS):
        rows.append(
            {"t_ns": t_ns, "event": "path", "a": "host:Madrid", "b": "host:Tokyo", "path_id": path_number(t_ns)}
        )
    columns = {"t_ns": pa.int64(), "event": pa.string(), "a": pa.string(), "b": pa.string(), "kind": pa.string(),
               "up": pa.bool_(), "rate_bps": pa.int64(), "delay_ns": pa.int64(), "path_id": pa.int32()}  # fmt: skip
    rows.sort(key=lambda row: row["t_ns"])
    return pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))


def path_number(t_ns: int) -> int:
    """Return the number of the path that is in force at an instant."""
    return sum(t_ns >= change for change in CHANGES_NS)


def delays_ns(sent_ns: np.ndarray, *, data: bool) -> np.ndarray:
    """Return the one-way delay of packets sent at `sent_ns`. Only data packets wait in the queue."""
    delay = np.select(
        [sent_ns < 10 * S, sent_ns < CHANGES_NS[0], sent_ns < CHANGES_NS[1]], [40 * MS, 41 * MS, 30 * MS], 45 * MS
    )
    if data:
        delay = delay + np.where((sent_ns >= 19 * S + 500 * MS) & (sent_ns < CHANGES_NS[0]), QUEUE_WAIT_NS, 0)
    return delay


def data_packets() -> pd.DataFrame:
    """Return all data packets in order of sending. The data frame has all columns of packet truth."""
    number = np.arange(60_000)
    sent = number * MS + MS // 2
    frame = pd.DataFrame({"number": number, "sent_ns": sent, "is_retransmission": False, "is_spurious": None})
    first_late = 19_974
    again = [(first_late + k, 20 * S + 80_250_000 + k * MS, True) for k in range(SPURIOUS_PKTS)]
    again += [(50_000 + k, 50 * S + 120_250_000 + k * MS, False) for k in range(DROPPED_PKTS)]
    extra = pd.DataFrame(again, columns=["number", "sent_ns", "is_spurious"]).assign(is_retransmission=True)
    frame = pd.concat([frame.astype({"is_spurious": object}), extra.astype({"is_spurious": object})])
    frame = frame.sort_values("sent_ns", kind="stable", ignore_index=True)
    received = frame["sent_ns"] + delays_ns(frame["sent_ns"].to_numpy(), data=True)
    dropped = ~frame["is_retransmission"] & frame["number"].between(50_000, 50_000 + DROPPED_PKTS - 1)
    frame["received_ns"] = received.where(~dropped & (received < END_NS)).astype("Int64")
    frame["drop_cause"] = pd.Series(np.where(dropped, 1, 0)).replace(0, pd.NA).astype("Int64")
    return judged(frame)


def ack_packets(data: pd.DataFrame) -> pd.DataFrame:
    """Return one acknowledgement for every second arrival, over the same path in the opposite direction."""
    arrived = data[data["received_ns"].notna()].sort_values("received_ns", kind="stable")
    when = arrived["received_ns"].to_numpy(dtype="int64")
    in_order = in_order_at(data)
    frame = pd.DataFrame({"sent_ns": when[1::2]})
    frame["ack"] = np.searchsorted(in_order, frame["sent_ns"].to_numpy(), side="right") * PAYLOAD_BYTES
    received = frame["sent_ns"] + delays_ns(frame["sent_ns"].to_numpy(), data=False)
    frame["received_ns"] = received.where(received < END_NS).astype("Int64")
    frame["number"] = np.arange(len(frame))
    frame["is_retransmission"] = False
    frame["is_spurious"] = None
    frame["drop_cause"] = pd.Series(pd.NA, index=frame.index, dtype="Int64")
    return judged(frame)


def judged(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `is_late` and `extent_pkts` as the guest defines them. The order of all packets counts. A retransmission is
    never late."""
    frame["is_late"] = pd.Series(pd.NA, index=frame.index, dtype="boolean")
    frame["extent_pkts"] = pd.Series(pd.NA, index=frame.index, dtype="Int64")
    came = frame[frame["received_ns"].notna()].sort_values("received_ns", kind="stable")
    highest = np.maximum.accumulate(came["sent_ns"].to_numpy())
    late = (came["sent_ns"].to_numpy() < highest) & ~came["is_retransmission"].to_numpy(dtype=bool)
    # The extent is i - j for the smallest j with s[j] > s[i], which is the first position where the running maximum
    # exceeds s[i].
    extent = np.arange(len(came)) - np.searchsorted(highest, came["sent_ns"].to_numpy(), side="right")
    frame.loc[came.index, "is_late"] = late
    frame.loc[came.index[late], "extent_pkts"] = extent[late]
    return frame


def in_order_at(data: pd.DataFrame) -> np.ndarray:
    """For each packet, return the time at which it and all earlier packets have arrived."""
    first = data[data["received_ns"].notna()].groupby("number")["received_ns"].min().astype("int64")
    complete = first.reindex(range(60_000)).astype("Int64")
    missing = complete.isna().to_numpy()
    stop = int(np.argmax(missing)) if missing.any() else len(complete)
    return np.maximum.accumulate(complete.iloc[:stop].to_numpy(dtype="int64"))


def counters() -> pd.DataFrame:
    """Return the sender's TCP counters, which are all 0 at first."""
    zero = ("TCPFastRetrans", "TCPTimeouts", "TCPLossProbes", "TCPDSACKRecv", "TCPDSACKUndo", "TCPFullUndo",
            "TCPPartialUndo", "TCPLossUndo", "TCPSpuriousRTOs", "TCPSACKReorder", "TCPTSReorder", "TCPSackRecovery",
            "TCPRenoRecovery")  # fmt: skip
    rows = [{"t_ns": 0, "host": 0, "counter": f"TcpExt.{name}", "value": 0} for name in zero]
    rows.append({"t_ns": 21 * S, "host": 0, "counter": "TcpExt.TCPDSACKRecv", "value": SPURIOUS_PKTS})
    return pd.DataFrame(rows)


def sockets(data: pd.DataFrame, acks: pd.DataFrame) -> pd.DataFrame:
    """Return samples every 50 ms. The window falls from 1000 to 700 packets at 20.1 s, and has grown back at 22 s."""
    t_ns = np.arange(0, END_NS + 1, 50 * MS)
    received = np.searchsorted(in_order_at(data), t_ns, side="right") * PAYLOAD_BYTES
    back = acks[acks["received_ns"].notna()].sort_values("received_ns", kind="stable")
    highest = np.maximum.accumulate(back["ack"].to_numpy())
    index = np.searchsorted(back["received_ns"].to_numpy(dtype="int64"), t_ns, side="right") - 1
    acked = np.where(index >= 0, highest[np.maximum(index, 0)], 0)
    cwnd = np.interp(t_ns / S, [0, 20.05, 20.1, 22.0, 60], [1000, 1000, 700, 1000, 1000]).round()
    sacked = np.where((t_ns >= 20 * S + 100 * MS) & (t_ns < 20 * S + 200 * MS), LATE_PKTS, 0)
    return pd.DataFrame({
        "t_ns": t_ns, "flow": 0, "state": 1, "cwnd_pkts": cwnd.astype("int64"), "ssthresh_pkts": 700,
        "ca_state": np.where((t_ns >= 20 * S + 100 * MS) & (t_ns < 20 * S + 300 * MS), 3, 0),
        "srtt_us": (2 * delays_ns(t_ns, data=False) // 1000), "min_rtt_us": 60_000,
        "bytes_acked": acked, "bytes_received": received, "sacked_pkts": sacked,
        "bytes_sent": t_ns // MS * PAYLOAD_BYTES, "bytes_retrans": 0, "snd_mss_bytes": PAYLOAD_BYTES,
        "dsack_pkts": np.clip((t_ns - (20 * S + 140 * MS)) // MS, 0, SPURIOUS_PKTS),
        "retrans_pkts": np.where(t_ns > 50 * S + 125 * MS, SPURIOUS_PKTS + DROPPED_PKTS,
                                 np.where(t_ns > 20 * S + 90 * MS, SPURIOUS_PKTS, 0)),
    })  # fmt: skip


def stored(data: pd.DataFrame, acks: pd.DataFrame) -> pd.DataFrame:
    """Return the packets around each change (1 s before to 3 s after), and all late packets, losses and
    retransmissions."""
    pieces = []
    for direction, frame in ((DATA, data), (ACK, acks)):
        window = np.zeros(len(frame), dtype=bool)
        for change in CHANGES_NS:
            window |= frame["sent_ns"].between(change - S, change + 3 * S, inclusive="left").to_numpy()
        late = frame["is_late"].fillna(False).to_numpy(dtype=bool)
        lost = frame["drop_cause"].notna().to_numpy()
        again = frame["is_retransmission"].to_numpy(dtype=bool)
        because = window * 1 + late * 2 + lost * 4 + again * 8
        piece = frame.assign(
            flow=0, direction=direction, stored_because=because,
            seq=frame["number"] * PAYLOAD_BYTES if direction == DATA else 0,
            len_bytes=PAYLOAD_BYTES if direction == DATA else 0,
            ack=None if direction == DATA else frame["ack"],
            path_id=[path_number(t) for t in frame["sent_ns"]],
            drop_direction=pd.Series(2 * LINKS.index(("Madrid", "s-03-00")), index=frame.index).where(lost),
        )  # fmt: skip
        pieces.append(piece[because > 0])
    return pd.concat([piece.astype(object) for piece in pieces]).sort_values("sent_ns", kind="stable")


def bins(data: pd.DataFrame, acks: pd.DataFrame) -> pd.DataFrame:
    """Return counts in bins of 50 ms. A packet counts in the bin in which it was sent."""
    pieces = []
    for direction, frame in ((DATA, data), (ACK, acks)):
        payload = PAYLOAD_BYTES if direction == DATA else 0
        owd = frame["received_ns"] - frame["sent_ns"]
        each = pd.DataFrame({
            "t_ns": frame["sent_ns"] // (50 * MS) * (50 * MS), "sent_pkts": 1, "sent_bytes": payload,
            "delivered_pkts": frame["received_ns"].notna().astype(int),
            "delivered_bytes": frame["received_ns"].notna() * payload,
            "lost_pkts": frame["drop_cause"].notna().astype(int),
            "late_pkts": frame["is_late"].fillna(False).astype(int),
            "retrans_pkts": frame["is_retransmission"].astype(int),
            "spurious_pkts": (frame["is_spurious"] == True).astype(int),  # noqa: E712
            "owd_sum_ns": owd.fillna(0),
        })  # fmt: skip
        total = each.groupby("t_ns").sum()
        by_bin = owd.groupby(each["t_ns"])
        total["owd_min_ns"], total["owd_max_ns"] = by_bin.min(), by_bin.max()
        pieces.append(total.reset_index().assign(flow=0, direction=direction))
    return pd.concat(pieces, ignore_index=True).sort_values(["t_ns", "flow", "direction"], ignore_index=True)


def queue_rows() -> pd.DataFrame:
    """Return the queue on s-00-00>s-01-00, with 15 packets from 19.5 s until it drains after the change."""
    direction = 2 * LINKS.index(("s-00-00", "s-01-00"))
    return pd.DataFrame({
        "t_ns": [19 * S + 500 * MS, 20 * S + 50 * MS], "direction": direction,
        "queue_pkts": [QUEUE_PKTS, 0], "queue_bytes": [QUEUE_PKTS * FRAME_BYTES, 0],
        "queue_max_pkts": [QUEUE_PKTS, QUEUE_PKTS],
    })  # fmt: skip


def drops(data: pd.DataFrame) -> pd.DataFrame:
    """Return the three packets that are dropped at 50 s."""
    lost = data[data["drop_cause"].notna()]
    return pd.DataFrame({
        "t_ns": lost["sent_ns"], "direction": 2 * LINKS.index(("Madrid", "s-03-00")), "cause": 1, "flow": 0,
        "flow_direction": DATA, "seq": lost["number"] * PAYLOAD_BYTES, "len_bytes": PAYLOAD_BYTES,
    })  # fmt: skip


def totals(data: pd.DataFrame, acks: pd.DataFrame) -> pd.DataFrame:
    """Return counts of packets and bytes in each direction of each link."""
    count = np.zeros((2 * len(LINKS), 4), dtype="int64")  # columns: offered, delivered, dropped, held
    for frame, backwards in ((data, False), (acks, True)):
        for number, path in enumerate(PATHS):
            mine = frame[[path_number(t) == number for t in frame["sent_ns"]]]
            lost = int(mine["drop_cause"].notna().sum())
            flying = int(mine["received_ns"].isna().sum()) - lost
            nodes = tuple(reversed(path)) if backwards else path
            for place, (a, b) in enumerate(itertools.pairwise(nodes)):
                row = count[2 * LINKS.index((a, b)) if (a, b) in LINKS else 2 * LINKS.index((b, a)) + 1]
                dropped, last = (lost if place == 0 else 0), place == len(nodes) - 2
                offered = len(mine) - (lost if place else 0)
                row += (offered, offered - dropped - (flying if last else 0), dropped, flying if last else 0)
    frame = pd.DataFrame({"direction": range(2 * len(LINKS))})
    for place, name in enumerate(("offered", "delivered", "dropped_queue", "held")):
        frame[f"{name}_pkts"], frame[f"{name}_bytes"] = count[:, place], count[:, place] * FRAME_BYTES
    for name in ("dropped_loss", "dropped_down"):
        frame[f"{name}_pkts"] = frame[f"{name}_bytes"] = 0
    frame["queue_max_pkts"] = 0
    queued = frame["direction"] == 2 * LINKS.index(("s-00-00", "s-01-00"))
    frame.loc[queued, "queue_max_pkts"] = QUEUE_PKTS
    frame["run_queue_max_pkts"] = frame["queue_max_pkts"]
    frame["run_queue_max_bytes"] = frame["queue_max_pkts"] * FRAME_BYTES
    for unit in ("pkts", "bytes"):
        frame[f"run_queue_max_{unit}_at_ns"] = pd.Series(pd.NA, index=frame.index, dtype="Int64").mask(queued, 19 * S)
    return frame
