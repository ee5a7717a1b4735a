# SPDX-License-Identifier: Apache-2.0
"""The input of the guest: `setup.json`, `events.bin` and `tables.bin` (design/interfaces.md, sections 4 and 13).

Timelines may have millions of events. Events are processed as columns and never become Python objects.
"""

import json
import shlex
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.applications import LAUNCHER
from leowarp.base.errors import ScenarioError
from leowarp.base.nodes import host_node
from leowarp.base.streams import stream
from leowarp.guest.setup.directions import Directions
from leowarp.guest.setup.forwarding import forwarding
from leowarp.guest.setup.network import HOSTS_PER_BLOCK, Network, numbers_of
from leowarp.scenario import Plan
from leowarp.scenario.workload.mptcp import further_interfaces
from leowarp.timeline.jitter_tables import JitterTable, named_table, table_of
from leowarp.timeline.metadata import TimelineMetadata

# A record of `events.bin` has 32 bytes, without padding. `crates/timeline` reads the same layout, and a test compares
# both definitions.
EVENT = np.dtype([("t_ns", "<i8"), ("kind", "<u4"), ("a", "<u4"), ("b", "<u4"), ("c", "<u4"), ("value", "<i8")])
# Kinds of events, numbered as in design/interfaces.md, section 4.
LINK_UP, LINK_DOWN, DELAY, RATE, LOSS, ROUTE, PATH, JITTER = range(1, 9)
SETUP_VERSION = 4
"""The version of the input's format. The agent rejects input of any other version. Such input is possible, because
kernel image and library may come from different installations."""
NONE = 0xFFFFFFFF
"""The value for no direction, no path or no change. The value is the largest u32, as in the guest's records
(design/interfaces.md, section 4)."""
# Length of an Ethernet header. The kernel's qdiscs count the Ethernet header, whereas a plan's overhead is added to the
# IP length.
ETHERNET_BYTES = 14
MODULES = "modules"
"""The directory of the user's modules in the guest's `in/`."""
ROOTS = "roots"
"""The directory of symbolic links in the guest's `in/`. Each link points to the root of one flow's programs."""
PROGRAMS_WRITE_TO = "/run/leowarp"
"""The value of the placeholder `{run_dir}` in the guest's command lines. `crates/agent/src/programs/root.rs` mounts
this directory."""
PROGRAMS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS_ENVIRONMENT = {
    "PATH": PROGRAMS_PATH,
    "HOME": PROGRAMS_WRITE_TO,
    "TMPDIR": PROGRAMS_WRITE_TO,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    # Without this setting, OpenSSL would mix RDRAND (OPENSSL_ia32cap(3), bit 62) and RDSEED (bit 64 + 18) into its
    # random numbers.
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",
    # glibc selects its string functions by the processor's features. Without PYTHONHASHSEED, Python would draw a random
    # number for its hashes at the start.
    "PYTHONHASHSEED": "0",
}
"""The environment variables of each program, with the same values on every machine. A flow may set additional
variables."""
ByHand = Callable[[dict[str, int]], dict[str, Any]]


def write_input(plan: "Plan", timeline: pa.Table, directory: Path, by_hand: ByHand | None = None) -> None:
    """Write `setup.json`, `events.bin` and `tables.bin` into `directory`, which is created if missing.

    `tables.bin` is written only if there are tables. The setup contains only the names of the user's modules.
    `put_modules` copies the files.

    timeline: A table with the columns of `timeline.schema`, sorted by time.
    by_hand: A function that returns the interactive part of `setup.json`: the key `shell` or `live` and its value. The
        argument of the function is a dict from node name to host number.
    Raises ScenarioError if the timeline is not sorted, or names an unknown node or link. Also raised if both a table
    and events set the same quantity of a direction.
    """
    network = Network.of_timeline(timeline)
    directions = Directions.of_timeline(timeline, network)
    written = setup(plan, timeline, network, directions)
    if by_hand is not None:
        written |= by_hand(network.host_numbers)
    directory.mkdir(parents=True, exist_ok=True)
    # Each key is written on one line. With indentation, json's encoder is slow, and would write each value of a jitter
    # table on its own line.
    entries = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in written.items())
    (directory / "setup.json").write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    with (directory / "events.bin").open("wb") as file:
        events(timeline, network).tofile(file)
    tables = directory / "tables.bin"
    # The directory may contain the tables of an earlier run.
    tables.unlink(missing_ok=True)
    if len(directions.rows):
        with tables.open("wb") as file:
            directions.rows.tofile(file)


def events(timeline: pa.Table, network: Network) -> np.ndarray:
    """Return a record for each event of a timeline, in order of time. Events that are in `setup.json` or `tables.bin`
    have no record.

    Returns: dtype `EVENT`, shape (n,). `design/interfaces.md`, section 4, describes the fields.
    Raises ScenarioError if the events are not sorted by time, or the guest does not know the kind of an event.
    """
    t_ns = timeline["t_ns"].to_numpy()
    if np.any(np.diff(t_ns) < 0):
        raise ScenarioError("reading the timeline: its events are not sorted by t_ns")
    kinds = timeline["event"].combine_chunks()
    if not pa.types.is_dictionary(kinds.type):
        kinds = kinds.dictionary_encode()
    # The columns are processed once per kind of event, not row by row, because a constellation with all satellites has
    # 1.6 million events (design/routes-and-timeline.md, "what lives how long").
    names, codes = kinds.dictionary.to_pylist(), kinds.indices.to_numpy()
    records = np.zeros(len(timeline), dtype=EVENT)
    records["t_ns"] = t_ns
    keep = np.ones(len(timeline), dtype=bool)
    for code, name in enumerate(names):
        at = np.flatnonzero(codes == code)
        if name in ("node", "queue", "capacity", "channel"):
            keep[at] = False
        elif name in _FILL:
            _FILL[name](records, at, timeline.take(pa.array(at)), network)
        elif len(at):
            raise ScenarioError(f"reading the timeline: {name!r} is not an event that the guest knows")
    return records[keep]


def _fill_link(records: np.ndarray, at: np.ndarray, rows: pa.Table, network: Network) -> None:
    """Fill in the records of events that bring links up or down. The field `a` is the link's number. The field `value`
    is 1 if the link goes down and loses its queue."""
    up = rows["up"].to_numpy().astype(bool)
    records["kind"][at] = np.where(up, LINK_UP, LINK_DOWN)
    records["a"][at] = network.ends(rows) // 2
    dropped = pc.equal(rows["on_down"], "drop").fill_null(False).to_numpy()
    records["value"][at] = np.where(up, 0, dropped)


def _fill_value(kind: int, column: str):
    """Return a function that fills in the records of one kind of event: rate, delay or loss of a direction."""

    def fill(records: np.ndarray, at: np.ndarray, rows: pa.Table, network: Network) -> None:
        records["kind"][at] = kind
        records["a"][at] = network.ends(rows)
        if kind == LOSS:
            # The record's value is an integer, so a loss ratio is stored as the bits of its float64.
            values = rows[column].to_numpy().astype("<f8").view("<i8")
        else:
            # A null rate means that the direction has no rate limit; it becomes 0.
            values = rows[column].fill_null(0).to_numpy()
        records["value"][at] = values

    return fill


def jitter_tables(timeline: pa.Table) -> list[JitterTable]:
    """Return the tables from which netem samples delays. Their order gives the numbers that jitter events use.

    Raises ScenarioError if an event names the distribution `table`, but the timeline's metadata has none.
    """
    if "distribution" not in timeline.column_names:
        return []  # Timelines of older runs lack the column `distribution`, because jitter did not exist then.
    tables = []
    for name in timeline["distribution"].drop_null().unique().to_pylist():
        if name == "table":
            values = TimelineMetadata.of(timeline.schema).jitter_table
            if values is None:
                raise ScenarioError("reading the timeline: jitter from a table, and no metadata `jitter_table`")
            tables.append(table_of(name, np.array(values, dtype=np.float64)))
        else:
            tables.append(named_table(name))
    return tables


def _fill_jitter(records: np.ndarray, at: np.ndarray, rows: pa.Table, network: Network) -> None:
    """Fill in the records of jitter events. `b` is the index in `jitter_tables`, and `value` is the standard deviation
    in ns."""
    names = rows["distribution"].to_pylist()
    # Distributions are numbered by first appearance; `jitter_tables` passes the tables to the agent in the same order.
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    records["kind"][at] = JITTER
    records["a"][at] = network.ends(rows)
    records["b"][at] = [numbers[name] for name in names]
    records["value"][at] = rows["sigma_ns"].to_numpy()


def _fill_route(records: np.ndarray, at: np.ndarray, rows: pa.Table, network: Network) -> None:
    """Fill in the records of routes: a = node, b = host, c = outgoing direction or `NONE`, value = path."""
    node = numbers_of(rows["node"], network.node_numbers)
    hop = numbers_of(rows["next_hop"], network.node_numbers)
    known = hop >= 0
    direction = np.full(len(at), NONE, dtype=np.uint32)
    direction[known] = network.directions(node[known], hop[known])
    records["kind"][at] = ROUTE
    records["a"][at] = node
    records["b"][at] = numbers_of(rows["destination"], network.host_numbers)
    records["c"][at] = direction
    records["value"][at] = rows["path_id"].cast(pa.int64()).fill_null(NONE).to_numpy()


def _fill_path(records: np.ndarray, at: np.ndarray, rows: pa.Table, network: Network) -> None:
    """Fill in the records of paths between hosts. a and b are hosts, c is a path or `NONE`, and value is a change or
    `NONE`."""
    records["kind"][at] = PATH
    records["a"][at] = numbers_of(rows["a"], network.host_numbers)
    records["b"][at] = numbers_of(rows["b"], network.host_numbers)
    records["c"][at] = rows["path_id"].cast(pa.int64()).fill_null(NONE).to_numpy()
    records["value"][at] = rows["change_id"].cast(pa.int64()).fill_null(NONE).to_numpy()


_FILL = {
    "link": _fill_link,
    "rate": _fill_value(RATE, "rate_bps"),
    "delay": _fill_value(DELAY, "delay_ns"),
    "jitter": _fill_jitter,
    "loss": _fill_value(LOSS, "loss_ratio"),
    "route": _fill_route,
    "path": _fill_path,
}


def setup(plan: "Plan", timeline: pa.Table, network: Network, directions: Directions | None = None) -> dict[str, Any]:
    """Return `setup.json` as a dict, with the keys of design/interfaces.md, sections 4, 13, 15 and 18. A value that the
    plan does not set is None.

    directions: None means that they are computed from the timeline.
    """
    if directions is None:
        directions = Directions.of_timeline(timeline, network)
    host_numbers = network.host_numbers
    hosts = {host_node(host.name): host for host in plan.hosts}
    joined = {host_node(mine): host_node(theirs) for mine, theirs in further_interfaces(plan.flows).items()}
    return {
        "version": SETUP_VERSION,
        "duration_ns": plan.run.duration_ns,
        "seed": plan.run.seed,
        # The agent always waits until its captures have delivered all packets; 0 adds no further wait.
        "drain_ns": 0,
        "ends": plan.run.ends,
        "linger_ns": plan.run.linger_ns,
        "nodes": [{"name": name, "kind": kind} for name, kind in network.nodes],
        "mtu_bytes": plan.network.mtu_bytes,
        "forwarding": forwarding(plan, timeline),
        "hosts": [
            _host(address(number, plan.network.family), node, hosts.get(network.nodes[node][0]))
            | _joins(network.nodes[node][0], joined, hosts, host_numbers)
            for number, node in enumerate(network.hosts)
        ],
        "links": _links(plan, network, directions),
        "jitter_tables": [
            {"name": table.name, "multiplier": table.multiplier, "values": table.values.tolist()}
            for table in jitter_tables(timeline)
        ],
        "flows": [
            _flow(flow, host_numbers) | _mptcp(plan, flow) | _program(number, flow, host_numbers, plan.network.family)
            for number, flow in enumerate(plan.flows)
        ],
        "source_routing": plan.routing.in_flight == "source",
        "sysctl": dict(plan.sysctl),
        "modules": modules(plan),
        "cures": cures(plan, host_numbers),
        "observe": {
            "sockets_ns": plan.observe.sockets_ns,
            "counters_ns": plan.observe.counters_ns,
            "queues_ns": plan.observe.queues_ns,
            "packets": plan.observe.packets,
            "windows_ns": windows(plan, timeline),
            "pcap": plan.observe.pcap,
            "pcap_snap_bytes": plan.observe.pcap_snap_bytes,
            "truth": plan.observe.truth,
            "capture": plan.observe.capture,
            "reordering_threshold_pkts": plan.observe.reordering_threshold_pkts,
            "reordering_window_ns": plan.observe.reordering_window_ns,
            "around_changes_ns": [plan.observe.packets_before_ns, plan.observe.packets_after_ns],
        },
    }


def cures(plan: "Plan", host_numbers: dict[str, int]) -> dict[str, Any]:
    given = plan.cures
    known: dict[str, Any] = {}
    buffer = {"buffer_bytes": given.hold_buffer_bytes, "full": given.hold_full}
    if given.move_queue != "off":
        known["move_queue"] = given.move_queue
    if given.hold:
        known["hold"] = buffer
    if given.end_marker:
        known["end_marker"] = {"wait_ns": given.end_marker_wait_ns, "buffer": buffer}
    if given.duplicate_ns is not None:
        known["duplicate_ns"] = given.duplicate_ns
    if given.resequence != "off":
        known["resequence"] = {
            "by": given.resequence, "kind": given.resequence_kind, "delay_ns": given.resequence_delay_ns,
        }  # fmt: skip
    if given.notify:
        known["notify"] = {
            "delay_ns": given.notify_delay_ns,
            "loss_ratio": given.notify_loss_ratio,
            "false": false_notices(plan, host_numbers),
        }
    return known


def false_notices(plan: "Plan", host_numbers: dict[str, int]) -> list[tuple[int, int, int]]:
    """Return the false notices of a run, sorted by time. Each end of a flow gets notices about the other end.

    Each notice has a time on the run's clock in ns, the host that gets the notice, and a destination. The notice says
    that the route to this destination changes. For each pair of hosts, the times are a Poisson process with mean
    interval `cures.notify_false_interval`. The times of each pair come from a separate random stream. The stream's name
    is ``cures.notices`` with the two host numbers.
    """
    mean_ns = plan.cures.notify_false_interval_ns
    if mean_ns is None:
        return []
    ends = [tuple(host_numbers[host_node(name)] for name in (flow.source, flow.destination)) for flow in plan.flows]
    out = []
    for told, destination in sorted({pair for a, b in ends for pair in ((a, b), (b, a))}):
        rng = stream(plan.run.seed, "cures.notices", told, destination)
        t_ns = 0
        while (t_ns := t_ns + round(rng.exponential(mean_ns))) < plan.run.duration_ns:
            out.append((t_ns, told, destination))
    return sorted(out)


def address(host: int, family: str = "ipv4") -> str:
    """Return the address of the host with number `host`. IPv4 addresses are 10.1.x.y from 10.1.0.1 on, but y is never 0
    or 255. IPv6 addresses are fd00::1:1 and so on.

    >>> address(0), address(253), address(254)
    ('10.1.0.1', '10.1.0.254', '10.1.1.1')
    >>> address(0, "ipv6"), address(254, "ipv6")
    ('fd00::1:1', 'fd00::1:ff')
    """
    if family == "ipv6":
        return f"fd00::1:{host + 1:x}"
    return f"10.1.{host // HOSTS_PER_BLOCK}.{host % HOSTS_PER_BLOCK + 1}"


def _host(own_address: str, node: int, host: Any) -> dict[str, Any]:
    """Return the entry of one host in the setup. A host that the plan does not name, for instance one in a chain, has
    the kernel's default settings."""
    common = {"node": node, "address": own_address}
    if host is None:
        return common | {"sysctl": {}, "pacing": "internal", "delayed_ack": "adaptive"}
    return common | {"sysctl": dict(host.sysctl), "pacing": host.tcp.pacing, "delayed_ack": host.tcp.delayed_ack}


def _joins(node: str, joined: dict[str, str], hosts: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    """A host node may be a further interface of another host. Return the additional fields of such a node. Both nodes
    share a namespace. The other host's entry contains the sysctls of this namespace."""
    if node not in joined:
        return {}
    own = hosts.get(joined[node])
    behaviour = {} if own is None else {"pacing": own.pacing, "delayed_ack": own.delayed_ack}
    return {"joins": numbers[joined[node]], "sysctl": {}} | behaviour


def modules(plan: "Plan") -> list[dict[str, Any]]:
    """Return the kernel modules of a plan as entries of the setup, first those from the user's files. Such an entry has
    the name of the copy that `put_modules` makes."""
    own = [PurePath(file.name).stem for file in plan.guest.cc_modules]
    return [
        {
            "name": name,
            "file": f"{MODULES}/{name}.ko" if name in own else None,
            "parameters": dict(plan.modules.get(name, {})),
        }
        for name in [*own, *(name for name in plan.modules if name not in own)]
    ]


def _links(plan: "Plan", network: Network, directions: Directions) -> list[dict[str, Any]]:
    """Return the links of the setup. Queue limits and overheads have the units of the kernel's qdiscs."""
    arp = plan.network.neighbours == "arp"
    columns = ["kind", "discipline", "on_down", "limit_pkts", "limit_bytes", "overhead_bytes"]
    rows = network.links.select(columns).to_pylist()
    order, probe_bytes = (_column(network.links, name) for name in ("in_order", "probe_bytes"))
    links = []
    for number, (a, b, row) in enumerate(zip(network.link_a.tolist(), network.link_b.tolist(), rows, strict=True)):
        link = {"a": a, "b": b, **row, "arp": arp}
        # Only wires of a jittered path have counters; other wires have none. No wire resolves neighbours.
        is_counted = row["kind"] != "wire" or row["discipline"] == "jitter"
        # The kernel's disciplines count the Ethernet header of 14 B themselves, so an overhead of 14 B in the plan is
        # passed as 0.
        link["overhead_bytes"] = row["overhead_bytes"] - ETHERNET_BYTES if is_counted else 0
        link["arp"] = arp and row["kind"] != "wire"
        if row["discipline"] in ("netem", "jitter"):
            # The timeline's limit is already netem's limit, which includes packets in the delay line.
            link["queue_counts"] = "waiting-and-flying"
        own = directions.of_link(number, order[number], probe_bytes[number])
        if own is not None:
            link["directions"] = own
        links.append(link)
    return links


def _column(rows: pa.Table, name: str) -> list[Any]:
    """Return the values of a column. If an older timeline lacks the column, all values are None."""
    return rows[name].to_pylist() if name in rows.column_names else [None] * len(rows)


def _flow(flow: Any, host_numbers: dict[str, int]) -> dict[str, Any]:
    ends = []
    for station in (flow.source, flow.destination):
        name = host_node(station)
        if name not in host_numbers:
            raise ScenarioError(f"setting up a flow {flow.source} - {flow.destination}: the timeline has no {name!r}")
        ends.append(host_numbers[name])
    return {
        "kind": flow.kind,
        "source": ends[0],
        "destination": ends[1],
        "congestion_control": flow.congestion_control,
        "start_ns": flow.start_ns,
        "stop_ns": flow.stop_ns,
        "size_bytes": flow.size_bytes,
        "rate_bps": flow.rate_bps,
        "interval_ns": flow.interval_ns,
        "payload_bytes": flow.payload_bytes,
        "packets": flow.packets,
        "packets_per_s": flow.packet_rate_pkts_per_s,
        # The value None is passed as true. A host stops its replies only if a ping has an explicit `false`.
        "replies": flow.replies is not False,
        "flood": bool(flow.flood),
    }


def _mptcp(plan: "Plan", flow: Any) -> dict[str, Any]:
    if not flow.is_mptcp:
        return {}
    if flow.subflow_of is None:
        return {"is_mptcp": True}
    whole = next(number for number, other in enumerate(plan.flows) if other.name == flow.subflow_of)
    # A subflow has no size and no rate. The scheduler decides how much of the connection's data the subflow carries.
    return {"is_mptcp": True, "subflow_of": whole, "size_bytes": None, "rate_bps": None}


def _program(number: int, flow: Any, host_numbers: dict[str, int], family: str) -> dict[str, Any]:
    if flow.kind != "program":
        return {}
    client_at, server_at = (flow.source, flow.destination)[:: 1 if flow.client_at == "source" else -1]
    filled_in = {
        "{server}": address(host_numbers[host_node(server_at)], family),
        "{port}": str(flow.port),
        "{run_dir}": PROGRAMS_WRITE_TO,
        "{applications}": str(LAUNCHER),
    }

    def filled(text: str) -> str:
        for name, value in filled_in.items():
            text = text.replace(name, value)
        return text

    # Placeholders are filled in after the command line is split, so that each value remains one word.
    client, server = ([filled(word) for word in shlex.split(line or "")] for line in (flow.client, flow.server))
    program = {
        "client": client,
        "server": server or None,
        "client_at": host_numbers[host_node(client_at)],
        "client_start_ns": flow.start_ns + flow.client_after_ns,
        "port": flow.port,
        "environment": PROGRAMS_ENVIRONMENT | {name: filled(value) for name, value in flow.environment.items()},
        "directory": flow.directory,
        "root": f"/in/{ROOTS}/{number}/.",
        "storage_bytes": flow.storage_bytes,
        "expect_exit": flow.expect_exit,
    }
    return {"program": program}


def windows(plan: "Plan", timeline: pa.Table) -> list[list[int]]:
    """Return the periods of the run in which all packets are stored, as [from, to) in ns, sorted and disjoint. The list
    is empty if only late, lost and repeated packets are stored.

    Each period surrounds a route change. It begins `observe.packets_before` before the change and ends
    `observe.packets_after` after the change. Periods are cut at the start and at the end of the run. Periods that
    overlap or touch are merged.
    """
    if plan.observe.packets == "none":
        return []
    # Late, lost and repeated packets are always stored. For all other packets, the periods determine which of them are
    # stored (design/interfaces.md, section 5).
    if plan.observe.packets == "all":
        return [[0, plan.run.duration_ns]]
    changes = timeline.filter(pc.is_valid(timeline["change_id"]))
    merged: list[list[int]] = []
    for t_ns in changes["t_ns"].to_pylist():
        begin = max(0, t_ns - plan.observe.packets_before_ns)
        end = min(plan.run.duration_ns, t_ns + plan.observe.packets_after_ns)
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif begin < end:
            merged.append([begin, end])
    return merged
