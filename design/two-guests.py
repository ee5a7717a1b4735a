# SPDX-License-Identifier: Apache-2.0
"""Can one run use two processors? What its work allows, and what it costs two guests to go on in lock-step.

    python design/two-guests.py              everything, some ten minutes on an idle machine
    python design/two-guests.py handover     one of the tables alone

Prints the tables of design/two-guests.md:

work        how fast two guests could be at most, by the recorded work of runs cut in two (two-guests/work.py, cut.py,
            windows.py)
lasting     how long a cut stays a good one, while satellites and routes move
handover    what two processes pay to wait for each other and to hand packets over (two-guests/handover.c)
calendar    what a guest pays for `time-travel=ext` (two-guests/calendar.c is the other end), links by netem
beside      what a guest costs while another one runs on the other processor

`handover` and `calendar` compile a C program each (gcc), in a directory that goes afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

import leowarp as lw
from leowarp import ephemeris, guest, media, scenario, trace
from leowarp.layout import GUEST, TRACE
from leowarp.running.street import prepared
from leowarp.scenario import Plan
from leowarp.scenario.gazetteer import PLACES

HERE = Path(__file__).resolve().with_suffix("")
EXAMPLES = HERE.parents[1] / "examples"
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "bench")]

from cut import halves  # noqa: E402
from machine import machine, spread  # noqa: E402
from windows import barrier_s, by_window, promises_s  # noqa: E402
from work import load_of, work_of  # noqa: E402

TEN = ("Madrid", "Tokyo", "London", "New York", "Sydney", "Singapore", "Cape Town", "Oslo", "Paris", "Mumbai")
"""As bench/size.py."""
HEAD = """\
name = "{name}"
[constellation]
preset = "{preset}"
[isl]
rule = "plus-grid"
rate = "100 Mbit/s"
queue = "500 pkts"
[ground]
rate = "100 Mbit/s"
queue = "500 pkts"
[guest]
memory = "4 GiB"
[observe]
sockets = "none"
reordering_window = "none"
"""
RECORDED = {"observe.packets": "all", "observe.queues": "10 ms"}

HOST_UNITS = 9.0
"""What a host does for a packet, in packet-hops, of 90 flows: 1.5 s of 638,281 packets and 2,800,657 packet-hops took
4.78 s of a guest, and a packet-hop 895 cycles at 2.6 GHz (design/direct.md); of one flow in a chain it is 22. The
results hang little on it: hosts are on both sides."""
MEETING_S = 40e-6
"""Of a window: measured by `handover` and `calendar`, see there."""
COPY_S = 0.35e-6
"""Of a packet that crosses, on each side: measured by `handover`."""
QUIETLY: dict[str, Any] = {"force": True, "report": False, "progress": False}
PARTS = 8
"""Promises in a look-ahead."""
LEAST_DELAYS_MS = (0, 1, 2, 3, 4, 5, 6, 7)
"""Links shorter than this are not cut: a longer look-ahead against a cut through more traffic. The best counts."""


@dataclass(frozen=True)
class Case:
    """A run whose work is cut."""

    name: str
    file: str
    duration_s: float
    short: dict[str, str] = field(default_factory=lambda: {"run.duration": "20 ms"})
    """What makes it so short that building the network is nearly all of its work."""


def flows_between(places: list[str], preset: str, file: Path) -> str:
    """A file's name, of a scenario with a flow that never ends from each place to each other."""
    stations = [f'[[stations]]\nname = "{place}"\n' for place in places]
    flows = [f'[[flows]]\nsource = "{a}"\ndestination = "{b}"\n' for a, b in permutations(places, 2)]
    file.write_text(HEAD.format(name=file.stem, preset=preset) + "".join(stations + flows))
    return str(file)


def traced(file: str, changes: dict, directory: Path) -> tuple[Plan, float]:
    """Routes, timeline and trace of a run in `directory`, without metrics, which take long of a thousand flows.

    Returns its plan, and its guest's processor time in s.
    """
    plan = scenario.plan_of(file, changes)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    done = guest.run(guest.guest_image(plan.guest), plan, prepared(plan, directory).timeline, directory)
    trace.convert(done.out_dir, directory / TRACE, directory / GUEST / "in" / "setup.json")
    done.discard()
    return plan, done.cpu_s


def cases(scratch: Path) -> list[Case]:
    many = list(PLACES)[:33]
    return [
        Case("Madrid-Tokyo, one flow", str(EXAMPLES / "madrid-tokyo.toml"), 10),
        Case("city-traffic.toml, 215 short flows", str(EXAMPLES / "city-traffic.toml"), 12,
             {"run.duration": "120 ms", "traffic.stop": "100 ms"}),
        Case("90 flows, 10 cities, of 1,584", flows_between(list(TEN), "starlink-shell1", scratch / "90.toml"), 1.5),
        Case("1,056 flows, 33 cities, of 1,584",
             flows_between(many, "starlink-shell1", scratch / "1056.toml"), 0.7),
        Case("1,056 flows, 33 cities, of 4,408",
             flows_between(many, "starlink-gen1", scratch / "1056-gen1.toml"), 0.7),
    ]  # fmt: skip


def cut_row(case: Case, scratch: Path) -> str:
    directory = scratch / "run"
    _, building_s = traced(case.file, RECORDED | case.short, directory)
    plan, cpu_s = traced(case.file, RECORDED | {"run.duration": f"{round(case.duration_s * 1000)} ms"}, directory)
    work = work_of(plan, directory, HOST_UNITS)
    unit_s = (cpu_s - building_s) / work.units.sum()
    by_node = np.bincount(work.node, weights=work.units, minlength=len(work.nodes))
    crossing = np.bincount(work.hop_edge, minlength=len(work.edges)).astype(float)
    end_ns = plan.run.duration_ns
    best: tuple[float, str] | None = None
    for least_ms in LEAST_DELAYS_MS:
        traffic = np.where(work.least_delay_ns < least_ms * 1e6, np.inf, crossing)
        side = halves(by_node, work.edges, traffic)
        cut = side[work.edges[:, 0]] != side[work.edges[:, 1]]
        if not cut.any():
            continue
        look_ahead_ns = int(work.least_delay_ns[cut].min())
        # A packet that crosses is copied out on one side and in on the other
        copies = crossing[cut].sum() * COPY_S

        def spent_s(window_ns: int, side: np.ndarray = side) -> np.ndarray:
            return by_window(work.t_ns, side[work.node], work.units, window_ns, end_ns) * unit_s

        windows = spent_s(look_ahead_ns)
        one_s = windows.sum()
        equal = one_s / windows.sum(axis=0).max()
        meeting = one_s / (barrier_s(windows, MEETING_S) + copies)
        steps = spent_s(max(1, look_ahead_ns // PARTS))
        promising = one_s / (promises_s(steps, PARTS, MEETING_S / PARTS) + copies)
        row = (f"| {case.name} | {cpu_s - building_s:.2f} / {case.duration_s:g} | {look_ahead_ns / 1e6:.1f} "
               f"| {1e6 * one_s / len(windows):,.0f} | {100 * crossing[cut].sum() / crossing.sum():.0f} % "
               f"| {equal:.2f} | {meeting:.2f} | {promising:.2f} |")  # fmt: skip
        print(f"  links from {least_ms} ms: {row}", file=sys.stderr, flush=True)
        if best is None or meeting > best[0]:
            best = meeting, row
    return best[1] if best else f"| {case.name} | {cpu_s - building_s:.2f} / {case.duration_s:g} |" + " no cut |" * 6


def work_table(scratch: Path) -> Iterator[str]:
    yield "| run | guest, CPU s / virtual s | look-ahead, ms | work of a window, us | hops that cross "
    yield "| both sides in all | meeting | promises |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    for case in cases(scratch):
        yield cut_row(case, scratch)


def lasting_table(scratch: Path) -> Iterator[str]:
    """A cut that serves longer, of 90 equal flows, from the routes alone."""
    yield "| the cut serves | satellites and stations | hops that cross | larger side, mean | largest | speed-up |"
    yield "|---:|---:|---:|---:|---:|---:|"
    file = flows_between(list(TEN), "starlink-shell1", scratch / "90.toml")
    changes = {"run.duration": "95 min", "routing.interval": "30 s", "routing.link_interval": "30 s"}
    plan = scenario.plan_of(file, changes)
    table = media.routes_of(plan, ephemeris.ephemeris_of(plan)).table
    for minutes in (0, 5, 15, 30, 95):
        load = load_of(table.filter(pc.less_equal(table["t_ns"], minutes * 60 * 10**9)), HOST_UNITS)
        side = halves(load.nodes.sum(axis=0), load.edges, load.traffic.sum(axis=0))
        of_one = load.nodes[:, side == 1].sum(axis=1) / load.nodes.sum(axis=1)
        larger = np.maximum(of_one, 1 - of_one)
        cut = side[load.edges[:, 0]] != side[load.edges[:, 1]]
        yield (f"| {f'{minutes} min' if minutes else 'one update'} | {len(side)} "
               f"| {100 * load.traffic[:, cut].sum() / load.traffic.sum():.0f} % | {100 * larger.mean():.1f} % "
               f"| {100 * larger.max():.1f} % | {1 / larger.mean():.2f} |")  # fmt: skip


def compiled(name: str, scratch: Path) -> Path:
    program = scratch / name
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", program, HERE / f"{name}.c"], check=True)
    return program


def handover_table(scratch: Path) -> Iterator[str]:
    program = compiled("handover", scratch)
    yield "| how | packets each way | least, us | lower quartile, us | median, us | CPU of both, us |"
    yield "|---|---:|---:|---:|---:|---:|"
    for how in ("futex", "socket", "spin"):
        for packets in (0, 100):
            answers = [json.loads(subprocess.run([program, "2000", "200000", how, str(packets)], check=True,
                                                 capture_output=True, text=True).stdout) for _ in range(5)]  # fmt: skip
            least = {key: min(answer[key] for answer in answers) for key in answers[0]}
            yield (f"| {how} | {packets} | {least['least_us']:.1f} | {least['quartile_us']:.1f} "
                   f"| {least['median_us']:.1f} | {least['cpu_us']:.0f} |")  # fmt: skip


@contextmanager
def in_calendar(socket: Path) -> Iterator[None]:
    """Guests booted meanwhile get their time from a calendar."""
    drive = importlib.import_module("leowarp.guest.drive")
    plain: Callable[..., list[str]] = drive.command_line
    drive.command_line = lambda *args, **kwargs: [  # type: ignore[attr-defined]
        word.replace("time-travel=inf-cpu", f"time-travel=ext:1:{socket}") for word in plain(*args, **kwargs)
    ]
    try:
        yield
    finally:
        drive.command_line = plain  # type: ignore[attr-defined]


def calendar_table(scratch: Path) -> Iterator[str]:
    program, directory, socket = compiled("calendar", scratch), scratch / "run", scratch / "calendar.socket"
    traffic = {"network.link_model": "netem", "run.duration": "5 s"}
    idle = traffic | {"flows": [{"kind": "ping", "source": "Madrid", "destination": "Tokyo", "interval": "1 s"}]}
    example = str(EXAMPLES / "madrid-tokyo.toml")
    yield "| guest | virtual time | turns | messages of a turn | guest, CPU s | calendar, CPU s | wall, s | trace |"
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for name, changes in (("one ping a second", idle), ("Madrid-Tokyo", traffic)):
        for window_ns, way in ((None, "inf-cpu"), (0, "messages"), (3_000_000, "messages"), (3_000_000, "shared")):
            if window_ns is None:
                made = lw.run(example, changes, directory, **QUIETLY)
                told, cells = None, "inf-cpu | | |"
            else:
                socket.unlink(missing_ok=True)
                with subprocess.Popen(
                    [program, socket, "1", str(window_ns), way], stdout=subprocess.PIPE, text=True
                ) as calendar:
                    assert calendar.stdout is not None
                    calendar.stdout.readline()  # it listens
                    with in_calendar(socket):
                        made = lw.run(example, changes, directory, **QUIETLY)
                    told = json.loads(calendar.stdout.read())
                messages = sum(value for key, value in told.items() if key.startswith(("received_", "sent_")))
                length = "each event" if window_ns == 0 else f"windows of 3 ms, {way}"
                cells = f"ext, {length} | {told['turns']:,} | {messages / told['turns']:.1f} |"
            records = hashlib.sha256((made.path / "30-trace" / "packets.parquet").read_bytes()).hexdigest()[:8]
            calendar_s = f"{told['cpu_s']:.2f}" if told else ""
            yield (f"| {name} | {cells} {made.manifest['costs']['guest_cpu_s']:.2f} | {calendar_s} "
                   f"| {made.manifest['costs']['wall_s']:.1f} | {records} |")  # fmt: skip


def beside_table(scratch: Path) -> Iterator[str]:
    """Each alone, then two of it at once, three times over; a run of 42 flows is about half of one of 90."""
    cases = {
        "Madrid-Tokyo": (str(EXAMPLES / "madrid-tokyo.toml"), "30 s"),
        "42 flows, 7 cities": (flows_between(list(TEN[:7]), "starlink-shell1", scratch / "42.toml"), "1 s"),
        "90 flows, 10 cities": (flows_between(list(TEN), "starlink-shell1", scratch / "90.toml"), "1 s"),
    }
    building_s = {name: hops_cost(file, "20 ms", scratch / "a")[1] for name, (file, _) in cases.items()}
    alone: dict[str, list[float]] = {name: [] for name in cases}
    beside: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(3):
        for name, (file, duration) in cases.items():

            def hop_ns(place: str, name: str = name, file: str = file, duration: str = duration) -> float:
                hops, cpu_s = hops_cost(file, duration, scratch / place)
                return 1e9 * (cpu_s - building_s[name]) / hops

            alone[name].append(hop_ns("a"))
            with ThreadPoolExecutor(2) as both:
                beside[name] += both.map(hop_ns, ("a", "b"))
            print(f"  {name}: alone {alone[name][-1]:.0f} ns, beside another "
                  f"{', '.join(f'{ns:.0f}' for ns in beside[name][-2:])} ns", file=sys.stderr, flush=True)  # fmt: skip
    yield "| run | a packet-hop alone, ns | each of two at once, ns | ratio |\n|---|---:|---:|---:|"
    for name in cases:
        ratio = statistics.median(beside[name]) / statistics.median(alone[name])
        yield f"| {name} | {spread(alone[name], ',.0f')} | {spread(beside[name], ',.0f')} | {ratio:.2f} |"


def hops_cost(file: str, duration: str, directory: Path) -> tuple[int, float]:
    """Packets delivered by links, and processor time of the guest in s; made by a process of its own."""
    command = [sys.executable, "-m", "leowarp", "run", file, "--out", str(directory), "--force", "--no-report",
               "--set", f"run.duration={duration}", "--set", "observe.packets=none"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    made = lw.Run(directory)
    hops = made.table("linktotals", columns=["delivered_pkts"]).to_pandas()["delivered_pkts"].sum()
    return int(hops), float(made.manifest["costs"]["guest_cpu_s"])


TABLES = {
    "work": work_table,
    "lasting": lasting_table,
    "handover": handover_table,
    "calendar": calendar_table,
    "beside": beside_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="all of them if none is named")
    wanted = parser.parse_args().tables or list(TABLES)
    for name in wanted:
        print(f"\n{name}: {machine()}\n", flush=True)
        with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch:
            for line in TABLES[name](Path(scratch)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
