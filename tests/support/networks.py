# SPDX-License-Identifier: Apache-2.0
"""Random networks, each made from its seed. For each network, direct forwarding and the kernel's forwarding must give
the same records."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leowarp import guest, scenario
from leowarp.base.errors import LeowarpError
from leowarp.base.layout import GUEST
from leowarp.base.nodes import host_node
from leowarp.scenario import Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.forwarding import Forwarding
from leowarp.timeline.metadata import TimelineMetadata

EXAMPLE = Path(__file__).parents[2] / "examples" / "madrid-tokyo.toml"
STATIONS = ("Madrid", "Tokyo", "London", "Sydney")
FORWARDING = ("direct", "kernel")
MS = 1_000_000
FAR = 1000.0


@dataclass(frozen=True)
class Network:
    """A random network with its flows.

    seed: The seed of all random draws.
    in_flight: `routing.in_flight`.
    has_loop: Whether two neighbours send all packets to each other, from the middle of the run on.
    """

    seed: int
    in_flight: str
    duration_ns: int
    has_loop: bool = False

    def plan(self, forwarding: str) -> Plan:
        """Return the plan of a run with `network.forwarding = forwarding`, "direct" or "kernel"."""
        draw = np.random.default_rng((self.seed, 1))
        changes = {
            "run.duration": f"{self.duration_ns} ns",
            "run.seed": self.seed,
            "stations": [{"name": name} for name in STATIONS],
            "routing.in_flight": self.in_flight,
            "network.forwarding": forwarding,
            "flows": _flows(draw),
        }
        if self.seed % 4 == 3 and self.in_flight == "drain":
            changes |= {"cures.hold": True, "cures.move_queue": "kept"}
        if self.seed % 4 == 1 and self.in_flight == "drain":
            kind = ["basic", "advanced"][self.seed // 4 % 2]
            changes |= {"cures.resequence": "flow", "cures.resequence_kind": kind, "cures.resequence_delay": "20 ms"}
        if self.seed % 4 == 2 and self.in_flight == "drain":
            changes |= {"cures.duplicate": "50 ms"}
        return scenario.resolve(scenario.load(EXAMPLE, changes))

    def timeline(self, plan: Plan) -> pa.Table:
        """Return the timeline of a random graph. Its links have rates, queue limits and losses, and many have equal
        delays. The routes change ten times."""
        draw = np.random.default_rng((self.seed, 2))
        copies = plan.cures.duplicate_ns is not None
        routers = int(draw.integers(3, 9))
        stations = range(routers, routers + len(STATIONS))
        hosts = {station: station + len(STATIONS) for station in stations}
        events = Events([*(f"r{i}" for i in range(routers)), *STATIONS, *(host_node(name) for name in STATIONS)])
        for node, kind in itertools.chain(((i, "router") for i in range(routers)), ((s, "ground") for s in stations)):
            events.node(node, kind)
        for station in stations:
            events.node(hosts[station], "host")
            events.link_up(0, hosts[station], station, LinkKind.ideal(plan, "wire"))

        ends = {(int(draw.integers(0, b)), b) for b in range(1, routers)}
        pairs_of_routers = (sorted(draw.permutation(routers)[:2].tolist()) for _ in range(routers))
        ends |= {(a, b) for a, b in pairs_of_routers}
        ends |= {(int(draw.integers(0, routers)), station) for station in stations for _ in range(2)}
        links = {}
        for a, b in sorted(ends):
            rate_mbps = int(draw.choice([0, 2, 5, 10, 20]))
            links[a, b] = LinkKind(
                kind="isl" if b < routers else "gsl",
                discipline="leolink",
                on_down="drop" if plan.routing.in_flight == "drop" else "drain",
                overhead_bytes=14,
                rate_bps=rate_mbps * 1_000_000 or None,
                limit_pkts=int(draw.integers(2, 40)),
                loss_ratio=float(draw.choice([0, 0, 0.01, 0.1])),
            )
            events.link_up(0, a, b, links[a, b])

        def delay(t_ns: int, a: int, b: int) -> None:
            delay_ns = draw.choice([0, MS, MS, 2 * MS, 5 * MS, int(draw.integers(1, 20 * MS))])
            # On a link without delay, packets would bypass the station's packet elimination
            events.delays(t_ns, np.array([a]), np.array([b]), np.array([max(delay_ns, int(copies))]))

        for a, b in sorted(links):
            delay(0, a, b)
        pairs = list(itertools.permutations(stations, 2))
        forwarding = Forwarding(events, hosts, by_path=plan.routing.in_flight == "source")
        forwarding.attach_hosts(pairs)
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        change_of = dict.fromkeys(pairs, -1)
        down: set[tuple[int, int]] = set()
        for instant, t_ns in enumerate([0, *sorted(draw.integers(1, self.duration_ns // MS, 10) * MS)]):
            for link in sorted(down):
                if draw.random() < 0.5:
                    events.link_up(int(t_ns), *link, links[link])
                    delay(int(t_ns), *link)
                    down.remove(link)
            weights = {link: float(draw.random()) for link in sorted(links) if link not in down}
            if copies:
                # As in a constellation, no path may lead through a station. Otherwise the station would number copies a
                # second time
                weights = {link: weight + FAR * (link[1] >= routers) for link, weight in weights.items()}
            in_use = set()
            for pair in pairs:
                path = _shortest(weights, *pair)
                number = None if path is None else numbers.setdefault((pair[1], path), len(numbers))
                forwarding.follow(int(t_ns), pair, path, number)
                change_of[pair] += 1
                change = None if instant == 0 else change_of[pair] - 1
                events.path(int(t_ns), hosts[pair[0]], hosts[pair[1]], number, change)
                in_use |= {tuple(sorted(hop)) for hop in itertools.pairwise(path or ())}
            for link in sorted(set(links) - in_use - down):
                if instant and draw.random() < 0.3:
                    events.link_down(int(t_ns), *link, links[link])
                    forwarding.link_went_down(int(t_ns), *link)
                    down.add(link)
            for link in sorted(set(links) - down):
                if instant and draw.random() < 0.3:
                    delay(int(t_ns), *link)
                if instant and draw.random() < 0.1:
                    events.rate(int(t_ns), *link, int(draw.integers(1, 20)) * 1_000_000)
        if self.has_loop:
            # Packets for all hosts circulate between two neighbours until their time to live ends.
            a, b = min((link for link in links if max(link) < routers), key=lambda link: (link in down, link))
            for station in stations:
                events.route(self.duration_ns // 2 + 500_000, a, hosts[station], b, None)
                events.route(self.duration_ns // 2 + 500_000, b, hosts[station], a, None)
        return events.table(TimelineMetadata(warnings=[]))


def any_network(seed: int) -> Network:
    """Return the network of a seed, with a run of 1 to 30 s."""
    duration_ns = int(np.random.default_rng((seed, 3)).integers(1000, 30_001)) * MS
    has_loop = seed % 3 == 0
    return Network(seed, "drain" if has_loop else ("drain", "drop", "source")[seed // 3 % 3], duration_ns, has_loop)


def records(image: guest.GuestImage, network: Network, forwarding: str, directory: Path) -> dict[str, bytes]:
    """Boot a guest for a network. Return a dict from the name to the content of each file that the guest writes."""
    plan = network.plan(forwarding)
    out = directory / GUEST / "out"
    try:
        guest.run(image, plan, network.timeline(plan), directory)
    except LeowarpError:
        # If the time to live of a packet ends, no link counts the packet. The guest therefore reports the missing
        # packets as an error in end.json.
        if not (out / "end.json").exists():
            raise
    return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


def _flows(draw: np.random.Generator) -> list[dict[str, object]]:
    """Return flows between random stations. There are flows of each kind whose packets the guest follows."""
    made: list[dict[str, object]] = []
    for _ in range(draw.integers(2, 7)):
        source, destination = draw.permutation(STATIONS)[:2].tolist()
        flow: dict[str, object] = {"source": source, "destination": destination}
        kind = draw.choice(["tcp", "tcp", "udp", "ping"])
        if kind == "tcp":
            flow |= {"congestion_control": str(draw.choice(["reno", "cubic"]))}
        elif kind == "udp":
            flow |= {"kind": "udp", "payload": f"{draw.integers(50, 1400)} B", "rate": f"{draw.integers(1, 8)} Mbit/s"}
        else:
            flow |= {"kind": "ping", "interval": f"{draw.integers(1, 20)} ms"}
        made.append(flow | {"start": f"{draw.choice([0, 0, 0, 100])} ms"})
    return made


def _shortest(weights: dict[tuple[int, int], float], source: int, destination: int) -> tuple[int, ...] | None:
    """Return the shortest path, or None if there is no path. The algorithm of Bellman and Ford is fast enough here."""
    cost = {source: 0.0}
    path: dict[int, tuple[int, ...]] = {source: (source,)}
    for _ in range(len(weights)):
        for (a, b), weight in weights.items():
            for here, there in ((a, b), (b, a)):
                if here in cost and cost[here] + weight < cost.get(there, np.inf):
                    cost[there], path[there] = cost[here] + weight, (*path[here], there)
    return path.get(destination)
