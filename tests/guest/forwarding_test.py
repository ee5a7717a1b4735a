# SPDX-License-Identifier: Apache-2.0
"""Direct forwarding and the kernel's give the same records, byte by byte, over a hundred random networks."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import leowarp as lw
from leowarp import guest, scenario
from leowarp.errors import LeowarpError
from leowarp.nodes import host_node
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.forwarding import Forwarding
from leowarp.timeline.metadata import TimelineMetadata

pytestmark = pytest.mark.guest

EXAMPLE = Path(__file__).parents[2] / "examples" / "madrid-tokyo.toml"
STATIONS = ("Madrid", "Tokyo", "London", "Sydney")
DURATION_NS = 1_500_000_000
MS = 1_000_000
FAR = 1000.0


def flows(draw: np.random.Generator) -> list[dict[str, object]]:
    """Of every kind whose packets the guest follows, between random stations; many begin at the same instant."""
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


def plan_of(seed: int, in_flight: str, forwarding: str):
    draw = np.random.default_rng((seed, 1))
    changes = {
        "run.duration": f"{DURATION_NS} ns",
        "run.seed": seed,
        "stations": [{"name": name} for name in STATIONS],
        "routing.in_flight": in_flight,
        "network.forwarding": forwarding,
        "flows": flows(draw),
    }
    if seed % 4 == 3 and in_flight == "drain":
        changes |= {"cures.hold": True, "cures.move_queue": "kept"}
    if seed % 4 == 1 and in_flight == "drain":
        kind = ["basic", "advanced"][seed // 4 % 2]
        changes |= {"cures.resequence": "flow", "cures.resequence_kind": kind, "cures.resequence_delay": "20 ms"}
    if seed % 4 == 2 and in_flight == "drain":
        changes |= {"cures.duplicate": "50 ms"}
    return scenario.resolve(scenario.load(EXAMPLE, changes))


def shortest(weights: dict[tuple[int, int], float], source: int, destination: int) -> tuple[int, ...] | None:
    """By Bellman and Ford: the networks are small. None: there is no way."""
    cost, path = {source: 0.0}, {source: (source,)}
    for _ in range(len(weights)):
        for (a, b), weight in weights.items():
            for here, there in ((a, b), (b, a)):
                if here in cost and cost[here] + weight < cost.get(there, np.inf):
                    cost[there], path[there] = cost[here] + weight, (*path[here], there)
    return path.get(destination)


def network(plan, seed: int, has_loop: bool):
    """A random graph: delays of which many are equal, rates, limits, losses; then ten instants of change."""
    draw = np.random.default_rng((seed, 2))
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
    ends |= {tuple(sorted(draw.permutation(routers)[:2].tolist())) for _ in range(routers)}
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
        # what arrives the instant it leaves does so without the station's link, which would take second copies out
        events.delays(t_ns, np.array([a]), np.array([b]), np.array([max(delay_ns, int(copies))]))

    for a, b in sorted(links):
        delay(0, a, b)
    pairs = list(itertools.permutations(stations, 2))
    forwarding = Forwarding(events, hosts, by_path=plan.routing.in_flight == "source")
    forwarding.attach_hosts(pairs)
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    change_of = dict.fromkeys(pairs, -1)
    down: set[tuple[int, int]] = set()
    for instant, t_ns in enumerate([0, *sorted(draw.integers(1, DURATION_NS // MS, 10) * MS)]):
        for link in sorted(down):
            if draw.random() < 0.5:
                events.link_up(int(t_ns), *link, links[link])
                delay(int(t_ns), *link)
                down.remove(link)
        weights = {link: float(draw.random()) for link in sorted(links) if link not in down}
        if copies:
            # a station that passed on a packet of another would number it anew: no constellation has such a path
            weights = {link: weight + FAR * (link[1] >= routers) for link, weight in weights.items()}
        in_use = set()
        for pair in pairs:
            path = shortest(weights, *pair)
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
    if has_loop:
        # Two neighbours send packets for every host to each other, for good: they end by their time to live.
        a, b = sorted(link for link in links if link not in down and max(link) < routers)[0]
        for station in stations:
            events.route(DURATION_NS // 2 + 500_000, a, hosts[station], b, None)
            events.route(DURATION_NS // 2 + 500_000, b, hosts[station], a, None)
    return events.table(TimelineMetadata(warnings=[]))


@pytest.mark.parametrize(
    ("in_flight", "seeds"),
    [("drain", range(0, 30)), ("drop", range(30, 55)), ("source", range(55, 80)), ("drain", range(80, 100))],
    ids=["drain", "drop", "source", "loops"],
)
def test_both_ways_of_forwarding_give_the_same_records(tmp_path, in_flight, seeds, request):
    has_loop = "loops" in request.node.name
    runs = []
    for seed, forwarding in itertools.product(seeds, ("direct", "kernel")):
        plan = plan_of(seed, in_flight, forwarding)
        runs.append((plan, network(plan, seed, has_loop)))
    made = guest.run_batch(guest.guest_image("default"), runs, tmp_path)
    assert None not in made
    # A packet that loops ends where no link counts it, which is an error of the run; it is the same one both ways.
    said = [str(result) if isinstance(result, LeowarpError) else "" for result in made]
    assert has_loop or not any(said)
    different = [seed for i, seed in enumerate(seeds) if said[2 * i] != said[2 * i + 1]]
    for i, seed in enumerate(seeds):
        direct, kernel = (
            {path.name: path.read_bytes() for path in sorted((tmp_path / "out" / f"{number:04d}").iterdir())}
            for number in (2 * i, 2 * i + 1)
        )
        if direct != kernel:
            different.append(seed)
    assert not different


# By netem a link takes packets from the backlog, and the node's part of the work alone is direct.
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("madrid-tokyo", {"network.link_model": "netem", "run.duration": "20 s"}),
        ("jittered-transfer", {"flows.0.size": "20 MB", "observe.truth": True, "observe.packets": "all"}),
        ("jittered-probe", {"run.duration": "20 s"}),
    ],
)
def test_both_ways_of_forwarding_give_the_same_trace_over_netem(tmp_path, name, changes):
    direct, kernel = (
        lw.run(
            EXAMPLE.with_stem(name), changes | {"network.forwarding": way}, tmp_path / way, report=False, progress=False
        )
        for way in ("direct", "kernel")
    )
    files = sorted((direct.path / "30-trace").glob("*.parquet"))
    assert len(files) > 10
    for file in files:
        assert file.read_bytes() == (kernel.path / "30-trace" / file.name).read_bytes(), file.name
