# SPDX-License-Identifier: Apache-2.0
"""Where a run's work is, and when: out of its own tables, every packet at every node that it passed."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.layout import ROUTES, TIMELINE, TRACE
from leowarp.routes.table import paths_of
from leowarp.scenario import Plan

FRAME_BYTES = 66
"""Ethernet, IP, TCP with time stamps: what a segment without payload takes on a link."""


@dataclass(frozen=True)
class Work:
    """What a run's guest does, in units of one packet-hop.

    Attributes
    ----------
    nodes : tuple of str
        Stations and satellites over which packets went. A station's host counts as the station.
    t_ns, node, units : ndarray
        One entry for each packet at each node: when, where (index into `nodes`), how much.
    hop_t_ns, hop_edge : ndarray
        One entry for each packet on each link: when it arrives, and the row of `edges`.
    edges : ndarray of int, shape (links, 2)
        Both ends of each link that carried packets, indices into `nodes`, the smaller one first.
    least_delay_ns : ndarray
        Of each row of `edges`: the link's smallest delay over the run, in either direction.
    """

    nodes: tuple[str, ...]
    t_ns: np.ndarray
    node: np.ndarray
    units: np.ndarray
    hop_t_ns: np.ndarray
    hop_edge: np.ndarray
    edges: np.ndarray
    least_delay_ns: np.ndarray


class _Queues:
    """How long the queue of each direction was, at every sample of `observe.queues`."""

    def __init__(self, directory: Path) -> None:
        table = pq.read_table(directory / TRACE / "links.parquet", columns=["t_ns", "direction", "queue_pkts"])
        directions = json.loads(table.schema.metadata[b"directions"])
        self.number = {tuple(ends[:2]): number for number, ends in enumerate(directions)}
        samples = table.to_pandas().pivot(index="t_ns", columns="direction", values="queue_pkts")
        samples = samples.reindex(columns=range(len(directions))).ffill().fillna(0.0)
        self.t_ns = samples.index.to_numpy()
        self.pkts = samples.to_numpy(dtype=np.float32)

    def waiting_pkts(self, t_ns: np.ndarray, ends: list[tuple[str, str]]) -> np.ndarray:
        """Shape (packets, links): packets that waited at each of these links about `t_ns`."""
        at = np.clip(np.searchsorted(self.t_ns, t_ns), 0, len(self.t_ns) - 1)
        return self.pkts[at][:, [self.number[link] for link in ends]]


def work_of(plan: Plan, directory: Path, host_units: float) -> Work:
    """The work of a run in `directory` made with `observe.packets = "all"`.

    A packet's instants at the nodes of its path lie between those at its hosts, which are recorded: each link takes its
    delay and the time of what waits there (`observe.queues`), stretched so that the sum is right.

    Parameters
    ----------
    plan : Plan
        Of the run.
    directory : Path
        Has routes, timeline and trace; metrics are not needed.
    host_units : float
        What a host has to do for a packet that it sends or receives, in packet-hops.
    """
    columns = ["flow", "direction", "sent_ns", "received_ns", "path_id", "drop_direction", "len_bytes"]
    packets = pq.read_table(directory / TRACE / "packets.parquet", columns=columns).to_pandas()
    packets = packets[packets["received_ns"].notna() & packets["path_id"].notna()]
    paths = paths_of(pq.read_table(directory / ROUTES))
    timeline = pq.read_table(directory / TIMELINE, columns=["event", "a", "b", "delay_ns", "rate_bps"])
    events = timeline.to_pandas()
    delays = events[events["event"] == "delay"].groupby(["a", "b"])["delay_ns"].agg(["min", "mean"])
    rates = events[events["event"] == "rate"].groupby(["a", "b"])["rate_bps"].min()
    queues = _Queues(directory)
    ends = {flow: (of.source, of.destination) for flow, of in enumerate(plan.flows)}
    names: dict[str, int] = {}
    edges: dict[tuple[int, int], int] = {}
    least_delay_ns: list[float] = []
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    hops: list[tuple[np.ndarray, np.ndarray]] = []
    for (flow, direction, path_id), group in packets.groupby(["flow", "direction", "path_id"]):
        source, destination = ends[flow] if direction == 0 else ends[flow][::-1]
        path = paths[source, destination][int(path_id)]
        at = np.array([names.setdefault(name, len(names)) for name in path])
        links = list(itertools.pairwise(path))
        sent_ns = group["sent_ns"].to_numpy(dtype=np.int64)
        took_ns = group["received_ns"].to_numpy(dtype=np.int64) - sent_ns
        bits = 8.0 * (group["len_bytes"].to_numpy(dtype=np.float64) + FRAME_BYTES)
        share = np.array([[delays.loc[link, "mean"] for link in links]]) + (
            queues.waiting_pkts(sent_ns, links) * 12112.0 + bits[:, None]
        ) * np.array([1e9 / rates.loc[link] for link in links])
        reached = np.cumsum(share, axis=1)
        t_ns = sent_ns[:, None] + np.rint(took_ns[:, None] * reached / reached[:, -1:]).astype(np.int64)
        for link in links:
            pair = tuple(sorted((names[link[0]], names[link[1]])))
            if pair not in edges:
                edges[pair] = len(edges)
                both = [link, link[::-1]]
                least_delay_ns.append(min(delays.loc[one, "min"] for one in both if one in delays.index))
        numbers = np.array([edges[tuple(sorted((names[a], names[b])))] for a, b in links])
        n = len(sent_ns)
        parts.append((sent_ns, np.full(n, at[0]), np.full(n, host_units)))
        parts.append((t_ns.ravel(), np.tile(at[1:], n), np.tile([1.0] * (len(at) - 2) + [1.0 + host_units], n)))
        hops.append((t_ns.ravel(), np.tile(numbers, n)))
    return Work(
        nodes=tuple(names),
        t_ns=np.concatenate([p[0] for p in parts]), node=np.concatenate([p[1] for p in parts]),
        units=np.concatenate([p[2] for p in parts]), hop_t_ns=np.concatenate([h[0] for h in hops]),
        hop_edge=np.concatenate([h[1] for h in hops]), edges=np.array(list(edges)),
        least_delay_ns=np.array(least_delay_ns),
    )  # fmt: skip


@dataclass(frozen=True)
class Load:
    """What flows of one packet a second each would do at every route update, in packet-hops a second.

    Attributes
    ----------
    nodes : ndarray, shape (updates, nodes)
    edges : ndarray of int, shape (links, 2)
    traffic : ndarray, shape (updates, links)
    """

    nodes: np.ndarray
    edges: np.ndarray
    traffic: np.ndarray


def load_of(routes: pa.Table, host_units: float) -> Load:
    """The load of a flow between each ordered pair of stations in `routes` (10-routes.parquet), ACKs left out."""
    columns = ["t_ns", "source", "destination", "path_id"]
    rows = routes.select(columns).to_pandas().dropna().astype({"path_id": int})
    update = np.unique(rows["t_ns"].to_numpy(), return_inverse=True)[1]
    paths = paths_of(routes)
    names: dict[str, int] = {}
    edges: dict[tuple[int, int], int] = {}
    at_node: list[tuple[int, int, float]] = []
    over_edge: list[tuple[int, int]] = []
    for number, row in zip(update.tolist(), rows.itertuples(), strict=True):
        path = [names.setdefault(name, len(names)) for name in paths[row.source, row.destination][row.path_id]]
        at_node += [(number, path[0], host_units), (number, path[-1], host_units)]
        at_node += [(number, node, 1.0) for node in path[1:]]
        for pair in itertools.pairwise(path):
            a, b = sorted(pair)
            over_edge.append((number, edges.setdefault((a, b), len(edges))))
    nodes = np.zeros((update.max() + 1, len(names)))
    traffic = np.zeros((update.max() + 1, len(edges)))
    for number, node, units in at_node:
        nodes[number, node] += units
    for number, edge in over_edge:
        traffic[number, edge] += 1
    return Load(nodes, np.array(list(edges)), traffic)
