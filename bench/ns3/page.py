# SPDX-License-Identifier: Apache-2.0
"""Make the tables and the figure of docs/benchmark.md only from docs/benchmark.json."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from leowarp.report.style import LINES, OKABE_ITO, PAGE_IN, legend_below, mark_changes, new_figure, save, styled

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ROOT / "docs" / "benchmark.json"
PAGE = ROOT / "docs" / "benchmark.md"
FIGURE = ROOT / "docs" / "images" / "benchmark-route-change.png"
BEGIN, END = "<!-- benchmark: begin -->", "<!-- benchmark: end -->"
SIDES = {"leowarp": "leowarp", "ns3": "ns-3"}
_CONTROLS = {"cubic": "CUBIC", "reno": "Reno", "bbr": "BBR"}
_COSTS = ("case", "pairs", "leowarp, CPU s", "ns-3, CPU s", "ns-3 over leowarp", "leowarp, virtual s a CPU s",
          "ns-3, virtual s a CPU s", "leowarp, MiB", "ns-3, MiB")  # fmt: skip
_COUNTS = {"lost_pkts": "lost", "late_pkts": "late", "retransmissions_pkts": "retransmissions",
           "spurious_pkts": "spurious", "lost_again_pkts": "lost again", "recoveries": "recoveries",
           "timeouts": "timeouts", "undos": "undos"}  # fmt: skip
_RESULTS = ("case", "side", "goodput, Mbit/s", *_COUNTS.values())


def read() -> dict[str, Any]:
    """Return the content of `docs/benchmark.json`."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return found


def write(measured: dict[str, Any]) -> None:
    """Write the numbers to `docs/benchmark.json`, and make the tables and the figure from them."""
    NUMBERS.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    draw(measured)


def with_tables(page: str, measured: dict[str, Any]) -> str:
    """Return the text of the page, with new tables from the numbers in `measured`."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{tables(measured)}\n{END}{rest.split(END)[1]}"


def tables(measured: dict[str, Any]) -> str:
    """Return the text that belongs between the two marks of the page."""
    lines = [
        f"Measured on: {measured['machine']}. leowarp {measured['leowarp']} with Linux {measured['linux']}; "
        f"ns-{measured['ns3']} ({measured['ns3_origin']}). Runs alternate in pairs. Values of "
        "several pairs are medians (smallest to largest).",
        "",
        f"| {' | '.join(_COSTS)} |",
        f"|---|{'---:|' * (len(_COSTS) - 1)}",
        *(_cost(case) for case in measured["cases"]),
        "",
        f"| {' | '.join(_RESULTS)} |",
        f"|---|---|{'---:|' * (len(_RESULTS) - 2)}",
        *(_result(case, side) for case in measured["cases"] for side in SIDES),
    ]
    return "\n".join([*lines, "", f"netem by the wall clock: {_wall_clock(measured['netem'])}"])


def _named(case: dict[str, Any]) -> str:
    return f"{case['name']}, {_CONTROLS[case['congestion_control']]}, {case['duration_s']} s"


def _cost(case: dict[str, Any]) -> str:
    cpu_s = {side: case[side]["cpu_s"] for side in SIDES}
    median_s = {side: statistics.median(spent) for side, spent in cpu_s.items()}
    ratio = median_s["ns3"] / median_s["leowarp"]
    cells = [_named(case), str(len(cpu_s["ns3"])), *(_spread(spent) for spent in cpu_s.values()), f"{ratio:.1f}"]
    cells += [f"{case['duration_s'] / spent_s:.2g}" for spent_s in median_s.values()]
    cells += [f"{case[side]['memory_bytes'] / 2**20:.0f}" for side in SIDES]
    return f"| {' | '.join(cells)} |"


def _spread(spent_s: list[float]) -> str:
    if len(spent_s) == 1:
        return f"{spent_s[0]:.1f}"
    return f"{statistics.median(spent_s):.1f} ({min(spent_s):.1f} to {max(spent_s):.1f})"


def _result(case: dict[str, Any], side: str) -> str:
    of_side = case[side]
    cells = [_named(case) if side == "leowarp" else "", SIDES[side], f"{of_side['goodput_bps'] / 1e6:.2f}"]
    cells += ["has none" if of_side[name] is None else str(of_side[name]) for name in _COUNTS]
    return f"| {' | '.join(cells)} |"


def _wall_clock(netem: dict[str, Any]) -> str:
    if netem["lacking"] is not None:
        return f"left out, because {netem['lacking']}."
    return (
        f"{netem['goodput_bps'] / 1e6:.2f} Mbit/s, {netem['retransmissions_pkts']} retransmissions, "
        f"{netem['dsack_pkts']} of them reported as duplicates, in {netem['wall_s']:.0f} s of the wall clock "
        f"({netem['name']}, {_CONTROLS[netem['congestion_control']]}, {netem['duration_s']} s; Linux {netem['linux']})."
    )


def draw(measured: dict[str, Any]) -> None:
    """Draw the window and the goodput around a route change, both for leowarp and for ns-3."""
    change = measured["change"]
    look = {"leowarp": (OKABE_ITO[0], LINES[0]), "ns3": (OKABE_ITO[1], LINES[1])}
    with styled():
        footer = (
            f"{change['name']}, {_CONTROLS[change['congestion_control']]}, in_flight = drain, the same delays, rates, "
            f"queues and routes on both sides; leowarp {measured['leowarp']}, Linux {measured['linux']}; "
            f"ns-{measured['ns3']}. A sample each 50 ms."
        )
        figure = new_figure(PAGE_IN, 3.2, footer)
        window, goodput = figure.subplots(2, 1, sharex=True)
        for side, name in SIDES.items():
            color, dashes = look[side]
            t_s = [t_ns / 1e9 for t_ns in change[side]["t_ns"]]
            window.plot(t_s, change[side]["window_pkts"], color=color, linestyle=dashes, label=name)
            goodput.plot(
                t_s, [bps / 1e6 for bps in change[side]["goodput_bps"]], color=color, linestyle=dashes, label=name
            )
        for axes in (window, goodput):
            mark_changes(axes, [change["change_ns"] / 1e9], "route change")
            axes.set_ylim(bottom=0)
        window.set_ylabel("window, packets")
        goodput.set_ylabel("goodput in order, Mbit/s")
        goodput.set_xlabel("time, s")
        legend_below(goodput, ncols=3)
        save(figure, FIGURE.with_suffix(""), ["png"])
