# SPDX-License-Identifier: Apache-2.0
"""A run over a constellation as CZML: satellites, stations, and the links of its paths. A link is shown while a path
uses it.

The output follows the conventions of CZML (the CZML Guide of AnalyticalGraphicsInc/czml-writer). The packet `document`
with the clock comes first. The ids do not change between runs and versions (`satellite/s-03-17`, `station/Madrid`,
`link/s-03-17~s-04-17`). The positions are Earth-fixed samples, which are interpolated with a polynomial of degree 5.
The ends of a link are references to the positions of its nodes. A value that changes has intervals for the whole run,
because a viewer would otherwise fill gaps with its own default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.printable import one_line
from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.metrics import pair_routes
from leowarp.results.run import Run
from leowarp.scenario.schema import Access

DEGREE = 5
SAMPLE_S = 60
"""The interval between samples of positions. The error of the interpolation is far below a metre."""
MULTIPLIER = 10
"""The number of seconds of the run that the viewer shows per second of real time."""

_SATELLITE, _STATION, _LINK = [170, 187, 208, 255], [255, 255, 255, 255], [108, 176, 255, 255]


def czml(run: Run) -> str:
    """Return the run as the JSON text of a CZML document.

    Raises ScenarioError if the plan has no constellation, because the nodes then have no positions.
    """
    sky = ephemeris_of(run.plan)
    if sky is None or run.plan.constellation is None:
        raise ScenarioError(
            f"cannot export {run.path} as CZML: its plan has no constellation, so nothing of it has a place",
            hint="the run to look at: leowarp view " + str(run.path),
        )
    tables = run.tables
    end_ns = int(tables.virtual_ns or run.plan.run.duration_ns)
    begin = datetime.fromisoformat(run.plan.constellation.epoch).replace(tzinfo=UTC)
    # Times are rounded to microseconds, the smallest unit of Python's datetime. The error is negligible: a satellite
    # moves 8 mm in one microsecond.
    clock = _Clock(begin + timedelta(microseconds=run.plan.run.start_ns / 1000), end_ns)
    pairs = {(flow.source, flow.destination) for flow in run.plan.flows}
    used: dict[tuple[str, str], list[tuple[int, int]]] = {}
    # Pairs are sorted, so that equal runs give identical documents. Paths in both directions are included, because with
    # `routing.reverse = "own"` ACKs use other links than data.
    for pair in sorted(pairs | {(b, a) for a, b in pairs}):
        routes = pair_routes(tables, pair)
        starts = [*(int(t) for t in routes["t_ns"]), end_ns]
        for row, path in enumerate(routes["path"]):
            for link in _links(run, path):
                used.setdefault(link, []).append((starts[row], starts[row + 1]))
    packets: list[dict[str, Any]] = [_document(run, clock)]
    packets += _satellites(sky, clock)
    packets += _stations(sky, clock)
    places = {name: f"satellite/{name}" for name in sky.names}
    places |= {name: f"station/{name}" for name in sky.stations.names}
    packets += [_link(places, link, spans, clock) for link, spans in sorted(used.items())]
    return json.dumps(packets, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class _Clock:
    """Converts times of the run to the format of CZML (ISO 8601, UTC)."""

    def __init__(self, begin: datetime, end_ns: int) -> None:
        self.begin, self.end_ns = begin, end_ns
        self.whole = self.span(0, end_ns)

    def at(self, t_ns: int) -> str:
        """Return an instant of the run as text, with microseconds."""
        text = (self.begin + timedelta(microseconds=t_ns / 1000)).isoformat(timespec="microseconds")
        return text.replace("+00:00", "Z")

    def span(self, from_ns: int, until_ns: int) -> str:
        """Return a time span of the run in CZML's notation (begin/end)."""
        return f"{self.at(from_ns)}/{self.at(until_ns)}"


def _document(run: Run, clock: _Clock) -> dict[str, Any]:
    """Return the CZML packet `document`. This packet must come first, and contains the viewer's clock."""
    return {
        "id": "document",
        "name": one_line(str(run.plan.name)),
        "version": "1.0",
        "clock": {
            "interval": clock.whole, "currentTime": clock.at(0), "multiplier": MULTIPLIER, "range": "LOOP_STOP",
            "step": "SYSTEM_CLOCK_MULTIPLIER",
        },
    }  # fmt: skip


def _satellites(sky: Ephemeris, clock: _Clock) -> Iterable[dict[str, Any]]:
    """Yield one packet per satellite, with its positions in ECEF (`FIXED`) in whole metres."""
    # There are samples before and after the run as well, so that every polynomial within the run has enough samples on
    # both sides.
    count = -(-clock.end_ns // (SAMPLE_S * 1_000_000_000)) + DEGREE + 1
    offsets_s = (np.arange(count + 1) - DEGREE // 2) * SAMPLE_S
    positions_m = np.stack([sky.positions_ecef_m(int(t) * 1_000_000_000) for t in offsets_s])
    for number, name in enumerate(sky.names):
        # Positions are whole metres. An error of half a metre is far below a pixel, and decimals would only make the
        # file longer.
        samples = np.column_stack([offsets_s, np.rint(positions_m[:, number])]).astype("int64")
        yield {
            "id": f"satellite/{name}",
            "name": one_line(name),
            "availability": clock.whole,
            "position": {
                "epoch": clock.at(0), "referenceFrame": "FIXED", "interpolationAlgorithm": "LAGRANGE",
                "interpolationDegree": DEGREE, "cartesian": samples.ravel().tolist(),
            },
            "point": {"pixelSize": 3, "color": {"rgba": _SATELLITE}},
        }  # fmt: skip


def _stations(sky: Ephemeris, clock: _Clock) -> Iterable[dict[str, Any]]:
    """Yield one packet per station, with its name as the label."""
    for name, position_m in zip(sky.stations.names, sky.stations.positions_ecef_m, strict=True):
        yield {
            "id": f"station/{name}",
            "name": one_line(name),
            "availability": clock.whole,
            "position": {"referenceFrame": "FIXED", "cartesian": [round(float(x), 3) for x in position_m]},
            "point": {"pixelSize": 9, "color": {"rgba": _STATION}},
            "label": {"text": one_line(name), "font": "13px sans-serif", "pixelOffset": {"cartesian2": [0, -16]}},
        }


def _links(run: Run, path: tuple[str, ...] | None) -> Iterable[tuple[str, str]]:
    """Return the links of a path whose nodes both have a position. The node with the smaller name comes first."""
    nodes = list(path or ())
    # The hosts of an access link have no position, but the terminal, the gateway and the point of presence have one.
    if isinstance(run.plan.medium, Access):
        stations = {"dish": ["terminal"], "server": ["gateway", "pop"]}
        nodes = [place for node in nodes for place in stations.get(node, [node])]
        if path is not None and path[0] == "server":
            nodes[:2] = nodes[:2][::-1]
    return ((min(link), max(link)) for link in pairwise(nodes))


def _link(places: dict[str, str], link: tuple[str, str], spans: list[tuple[int, int]], clock: _Clock) -> dict[str, Any]:
    """Return a link as a straight line between two moving nodes. A viewer shows it only while a path uses it. `arcType`
    is NONE, because a viewer would otherwise draw the line along the ground."""
    ends = [places[name] for name in link]
    return {
        "id": f"link/{link[0]}~{link[1]}",
        "name": one_line(f"{link[0]} to {link[1]}"),
        "availability": clock.whole,
        "polyline": {
            "positions": {"references": [f"{_escaped(end)}#position" for end in ends]},
            "arcType": "NONE",
            "width": 3,
            "material": {"solidColor": {"color": {"rgba": _LINK}}},
            "show": [
                {"interval": clock.span(begin, end), "boolean": shown} for begin, end, shown in _covered(spans, clock)
            ],
        },
    }


def _covered(spans: list[tuple[int, int]], clock: _Clock) -> Iterable[tuple[int, int, bool]]:
    """Return consecutive time spans that cover the run: begin, end, and whether the link is used. Adjacent spans of use
    are merged."""
    joined: list[list[int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        # An empty span is skipped: its path was replaced at the instant at which it began.
        elif begin < end:
            joined.append([begin, end])
    edges_ns = [0, *(edge for span in joined for edge in span), clock.end_ns]
    # Between the edges, the link is by turns unused and used.
    return ((a, b, number % 2 == 1) for number, (a, b) in enumerate(pairwise(edges_ns)) if a < b)


def _escaped(identifier: str) -> str:
    # In a reference, `#` ends the id.
    return identifier.replace("\\", "\\\\").replace("#", "\\#")
