# SPDX-License-Identifier: Apache-2.0
"""The guest's numbers for the nodes, hosts, links and directions of a timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import ScenarioError

# Addresses are assigned from 10.1.0.1 on, one /24 after another. The addresses .0 and .255 of each /24 are skipped,
# because they would look like mistakes in a capture.
HOSTS_PER_BLOCK = 254
HOSTS_LIMIT = HOSTS_PER_BLOCK * 256


@dataclass(frozen=True)
class Network:
    """The numbers of nodes, hosts and links.

    nodes: The name and kind of each node.
    hosts: The node numbers of the hosts, in order of appearance.
    links: One row per link, with all columns of the first event that brought the link up.
    link_a, link_b: int64 arrays of shape (n,). The node numbers of the two ends of each link.
    """

    nodes: list[tuple[str, str]]
    hosts: list[int]
    links: pa.Table
    link_a: np.ndarray
    link_b: np.ndarray

    @classmethod
    def of_timeline(cls, timeline: pa.Table) -> Network:
        """Number the nodes, hosts and links of a timeline in order of first appearance.

        Raises ScenarioError if a node appears twice, a link connects unknown nodes, or there are more hosts than
            addresses.
        """
        rows = timeline.filter(pc.equal(timeline["event"], "node")).select(["a", "kind"]).to_pylist()
        nodes = [(row["a"], row["kind"]) for row in rows]
        if len({name for name, _ in nodes}) != len(nodes):
            raise ScenarioError("reading the timeline: a node appears twice among its node events")
        hosts = [number for number, (_, kind) in enumerate(nodes) if kind == "host"]
        if len(hosts) > HOSTS_LIMIT:
            raise ScenarioError(f"numbering the hosts: {len(hosts)} of them; 10.1.0.0/16 holds {HOSTS_LIMIT}")
        numbers = {name: number for number, (name, _) in enumerate(nodes)}
        rows = timeline.filter(pc.equal(timeline["event"], "link"))
        a, b = numbers_of(rows["a"], numbers), numbers_of(rows["b"], numbers)
        # A link may have several events, because it comes up again after each outage. It gets its number at its first
        # event.
        _, first = np.unique(_pair(a, b, len(nodes)), return_index=True)
        first.sort()
        return cls(nodes, hosts, rows.take(pa.array(first)), a[first], b[first])

    @property
    def node_numbers(self) -> dict[str, int]:
        return {name: number for number, (name, _) in enumerate(self.nodes)}

    @property
    def host_numbers(self) -> dict[str, int]:
        return {self.nodes[node][0]: host for host, node in enumerate(self.hosts)}

    def ends(self, rows: pa.Table) -> np.ndarray:
        """For each row of a timeline, return the number of its direction. The columns `a` (the sending node) and `b`
        determine it. The array is uint32 of shape (rows,)."""
        numbers = self.node_numbers
        return self.directions(numbers_of(rows["a"], numbers), numbers_of(rows["b"], numbers))

    def words(self, direction: int) -> str:
        """Return a direction as text for a message: the names of its two nodes."""
        ends = [self.nodes[side[direction // 2]][0] for side in (self.link_a, self.link_b)]
        return "direction " + " > ".join(ends if direction % 2 == 0 else ends[::-1])

    def directions(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the number of each link direction. Entry i leads from node `a[i]` (`from`) to node `b[i]`. The number
        is 2 * link, plus 1 if `from` is the link's second node.

        Raises ScenarioError if a pair has no link.
        """
        # The links of all node pairs are found at once, because timelines have millions of events.
        wanted = pa.array(_pair(a, b, len(self.nodes)))
        known = pa.array(_pair(self.link_a, self.link_b, len(self.nodes)))
        link = pc.index_in(wanted, value_set=known).fill_null(-1).to_numpy()
        unknown = np.flatnonzero(link < 0)
        if len(unknown):
            ends = self.nodes[a[unknown[0]]][0], self.nodes[b[unknown[0]]][0]
            raise ScenarioError(f"reading the timeline: an event uses the link {ends[0]} - {ends[1]}, never created")
        return (2 * link + (self.link_a[link] != a)).astype(np.uint32)


def _pair(a: np.ndarray, b: np.ndarray, nodes: int) -> np.ndarray:
    # A pair of nodes gets the same number in both orders, because both directions belong to one link.
    return np.minimum(a, b) * nodes + np.maximum(a, b)


def numbers_of(column: pa.ChunkedArray, numbers: dict[str, int]) -> np.ndarray:
    """Return the numbers of the names in a column, int64 of shape (rows,). A null becomes -1.

    Raises ScenarioError if a name has no number.
    """
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    names = coded.dictionary.to_pylist()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    # If rows have been filtered out, the dictionary may contain names that no remaining row uses.
    used = np.unique(codes)
    unknown = [names[code] for code in used if code >= 0 and names[code] not in numbers]
    if unknown:
        raise ScenarioError(f"reading the timeline: {unknown[0]!r} is used but is not among its nodes of that kind")
    by_code = np.array([numbers.get(name, -1) for name in names] + [-1], dtype=np.int64)
    return by_code[codes]  # Null has the code -1, which selects the last entry.
