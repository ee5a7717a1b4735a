# SPDX-License-Identifier: Apache-2.0
"""The claims about page loads (6.13 to 6.19)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from leowarp.study import Claim, Outcome
from leowarp.study.statistics import Middle, middle
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.evidence import Frames
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, STARLINK, STILL
from leowarp_studies.programs.senders import BBR
from leowarp_studies.programs.ways import BY_NAME, WAYS

TENTH = 1.1
QUARTER = 0.25
TWICE = 2.0
HTTP1, HTTP2, HTTP2_BBR = "http1-cubic", "http2-cubic", "http2-bbr"
HTTP3 = ("http3-ngtcp2", "http3-aioquic")
FIXED3 = "http3-aioquic"
"""The name of the HTTP/3 stack with the loss thresholds of RFC 9002."""


def loads(frames: Frames, path: str, condition: str, way: str) -> pd.DataFrame:
    """Return the page loads with one protocol and stack over a path, one row per sample."""
    frame: pd.DataFrame = frames["pages"]
    return frame[(frame["path"] == path) & (frame["condition"] == condition) & (frame["way"] == way)]


def load(frames: Frames, path: str, condition: str, way: str) -> Middle:
    """Return the median page load time over samples, in ns."""
    return middle(loads(frames, path, condition, way)["load_ns"])


def longer(frames: Frames, path: str, way: str, column: str = "load_ns") -> Middle:
    """Divide load times over the changing path by load times over the unchanging path, with the same protocol and
    stack. Return the median ratio over samples."""
    both = loads(frames, path, MOVING, way).merge(loads(frames, path, STILL, way), on="sample", suffixes=("", "_still"))
    return middle(both[column] / both[f"{column}_still"])


def _loads_by_way(frames: Frames, path: str, condition: str) -> dict[str, float]:
    found = {way.name: load(frames, path, condition, way.name) for way in WAYS}
    return {name: value.median for name, value in found.items() if value.known}


def _ratios(frames: Frames, path: str, column: str = "load_ns") -> dict[str, float]:
    found = {way.name: longer(frames, path, way.name, column) for way in WAYS}
    return {name: value.median for name, value in found.items() if value.known}


def _said(values: Mapping[str, float], scale: float, digits: int) -> str:
    return ", ".join(
        f"{BY_NAME[name].label} " + (f"{value * scale:.{digits}f}" if math.isfinite(value) else "never")
        for name, value in values.items()
    )


def _labelled(parts: Mapping[str, bool]) -> dict[str, bool]:
    return {BY_NAME[name].label if name in BY_NAME else name: good for name, good in parts.items()}


# Implements claim 6.13 of programs (claim 6.6; a page takes a few round trips).
def a_change_hardly_delays_a_page(frames: Frames) -> Outcome:
    """Divide page load times with a route change during the load by page load times without a route change. The result
    is the median ratio over the route changes.

    Returns: Numbers: `longer_ratio` by protocol and stack.
    """
    ratios = _ratios(frames, CHANGES)
    return ev.outcome(
        _labelled({name: value <= TENTH for name, value in ratios.items()}),
        f"load time over that of the frozen path: {_said(ratios, 1, 3)}",
        {"longer_ratio": ratios},
    )


# Implements claim 6.14 of programs (RFC 9113, 1: each object costs an HTTP/1.1 connection one round trip).
def http2_is_faster_than_http1(frames: Frames) -> Outcome:
    """Compare the median load times of pages over HTTP/1.1 and over HTTP/2. All loads use CUBIC on frozen paths.

    Returns: Numbers: `load_ns` by protocol and stack.
    """
    found = _loads_by_way(frames, CHANGES, STILL)
    parts = {"HTTP/2 before HTTP/1.1": found[HTTP2] < found[HTTP1]} if {HTTP1, HTTP2} <= found.keys() else {}
    return ev.outcome(parts, f"median load time, s: {_said(found, 1e-9, 2)}", {"load_ns": found})


# Implements claim 6.15 of programs (RFC 9001: the handshake of one round trip includes TLS).
def http3_is_as_fast_as_http2(frames: Frames) -> Outcome:
    """Compare the median page load times of HTTP/3 with those of HTTP/2 over CUBIC. The paths do not change.

    Returns: Numbers: `load_ns` by path, protocol and stack.
    """
    parts: dict[str, bool] = {}
    numbers, said = {}, []
    for path, word in ((CHANGES, "frozen path"), (STARLINK, "no reconfiguration")):
        found = _loads_by_way(frames, path, STILL)
        shown = {name: found[name] for name in (HTTP2, *HTTP3) if name in found}
        numbers[path] = shown
        said.append(f"{word}: {_said(shown, 1e-9, 2)}")
        if HTTP2 in shown:
            reference = shown[HTTP2]
            parts |= {f"{BY_NAME[name].label}, {word}": abs(value / reference - 1) <= QUARTER
                      for name, value in shown.items() if name in HTTP3}  # fmt: skip
    return ev.outcome(parts, f"median load time, s: {'; '.join(said)}", {"load_ns": numbers})


# Implements claim 6.16 of programs (RFC 9000, 2.2: a lost packet only delays its own streams).
def a_loss_holds_up_its_own_stream(frames: Frames) -> Outcome:
    """Divide the objects' mean arrival time with a reconfiguration by the mean without a reconfiguration. Compare this
    ratio of HTTP/3 with that of HTTP/2 over CUBIC.

    Returns: Numbers: `longer_ratio` by protocol and stack.
    """
    found = _ratios(frames, STARLINK, "object_mean_ns")
    shown = {name: found[name] for name in (HTTP2, *HTTP3) if name in found}
    reference = shown.get(HTTP2)
    parts = {name: value < reference for name, value in shown.items() if reference is not None and name in HTTP3}
    return ev.outcome(
        _labelled(parts), f"mean time of an object over that without: {_said(shown, 1, 3)}", {"longer_ratio": shown}
    )


# Implements claim 6.17 of programs (losses around reconfigurations do not indicate congestion).
def a_reconfiguration_delays_a_page(frames: Frames) -> Outcome:
    """Test how much longer a page load takes if a reconfiguration happens during the load. With HTTP/2, this increase
    is compared between BBR and CUBIC.

    Returns: Numbers: `longer_ratio` by protocol and stack.
    """
    found = _ratios(frames, STARLINK)
    parts = _labelled({name: value >= TENTH for name, value in found.items() if BY_NAME[name].sender != BBR})
    if {HTTP2_BBR, HTTP2} <= found.keys():
        parts["HTTP/2, BBR less than CUBIC"] = found[HTTP2_BBR] < found[HTTP2]
    return ev.outcome(
        parts, f"load time over that without a reconfiguration: {_said(found, 1, 3)}", {"longer_ratio": found}
    )


# Implements claim 6.18 of programs (a late packet halves one of six windows).
def six_windows_are_better_than_one(frames: Frames) -> Outcome:
    """Compare the median load times of HTTP/1.1 and HTTP/2. The path is the mobile channel without resequencing, and
    the TCP is CUBIC.

    Returns: Numbers: `load_ns` by protocol and stack.
    """
    found = _loads_by_way(frames, MOBILE, MOVING)
    both = {HTTP1, HTTP2} <= found.keys()
    parts = {"HTTP/1.1 before HTTP/2": found[HTTP1] < found[HTTP2]} if both else {}
    return ev.outcome(parts, f"median load time, s: {_said(found, 1e-9, 2)}", {"load_ns": found})


# Implements claim 6.19 of programs (6.10 and 6.11).
def fixed_thresholds_make_pages_slow(frames: Frames) -> Outcome:
    """Compare the median load time of HTTP/3 by aioquic over the mobile channel with two other medians. These are
    HTTP/2 with CUBIC, and HTTP/3 by aioquic with resequencing on the channel.

    Returns: Numbers: `load_ns` by protocol and stack, `resequenced_load_ns`.
    """
    found, ordered = _loads_by_way(frames, MOBILE, MOVING), _loads_by_way(frames, MOBILE, STILL)
    parts = {}
    if {FIXED3, HTTP2} <= found.keys():
        parts["twice as long as HTTP/2"] = found[FIXED3] >= TWICE * found[HTTP2]
    if FIXED3 in found and FIXED3 in ordered:
        parts["half of it resequenced"] = ordered[FIXED3] <= found[FIXED3] / TWICE
    shown = {name: found[name] for name in (HTTP2, FIXED3) if name in found}
    again = {FIXED3: ordered[FIXED3]} if FIXED3 in ordered else {}
    return ev.outcome(
        parts,
        f"median load time, s: {_said(shown, 1e-9, 2)}; resequenced: {_said(again, 1e-9, 2)}",
        {"load_ns": shown, "resequenced_load_ns": again},
        is_known=len(parts) == 2,
    )


_LOADS = "Load time: from the client's first packet to the last byte of the last object"

CLAIMS = (
    Claim(
        "6.13",
        "A route change in the middle of a page load makes it at most a tenth longer, by HTTP/1.1, HTTP/2 and HTTP/3.",
        "claim 6.6; a page takes a few round trips",
        f"{_LOADS}, over that of the same way on the frozen path; median over four changes; each way is a part.",
        ("pages",),
        a_change_hardly_delays_a_page,
    ),
    Claim(
        "6.14",
        "Over the frozen paths HTTP/2 loads the page in less time than HTTP/1.1.",
        "RFC 9113, 1: each object costs an HTTP/1.1 connection one round trip",
        f"{_LOADS}; medians over the frozen paths; both with CUBIC.",
        ("pages",),
        http2_is_faster_than_http1,
    ),
    Claim(
        "6.15",
        "Where nothing changes HTTP/3 loads the page in the time of HTTP/2 with CUBIC in the clear, within a quarter.",
        "RFC 9001: the handshake of one round trip includes TLS",
        "Medians over the frozen paths, and over the profile starlink without reconfigurations; each stack and path is "
        "a part.",
        ("pages",),
        http3_is_as_fast_as_http2,
    ),
    Claim(
        "6.16",
        "A reconfiguration of the profile starlink on the way delays objects less by HTTP/3 than by HTTP/2 with CUBIC.",
        "RFC 9000, 2.2: a lost packet only delays its own streams",
        "Mean over objects of the time from the load's start to the object's last byte, over that of the same seed "
        "without reconfigurations; medians over seeds; each stack is a part.",
        ("pages",),
        a_loss_holds_up_its_own_stream,
    ),
    Claim(
        "6.17",
        "A reconfiguration of the profile starlink on the way makes a page load a tenth longer at least; with BBR the "
        "load becomes less longer than with CUBIC.",
        "losses around reconfigurations do not indicate congestion",
        f"{_LOADS}, over that of the same seed without; medians over seeds; each way with CUBIC is a part, and BBR "
        "against CUBIC by HTTP/2.",
        ("pages",),
        a_reconfiguration_delays_a_page,
    ),
    Claim(
        "6.18",
        "Over the mobile channel without resequencing HTTP/1.1 over six connections loads the page in less time than "
        "HTTP/2 over one, both with CUBIC.",
        "a late packet halves one of six windows",
        f"{_LOADS}; medians over seeds.",
        ("pages",),
        six_windows_are_better_than_one,
    ),
    Claim(
        "6.19",
        "Over the mobile channel without resequencing HTTP/3 by aioquic takes at least twice as long for the page as "
        "HTTP/2 with CUBIC; resequenced at most half of that.",
        "6.10 and 6.11",
        f"{_LOADS}; medians over seeds; the two are parts.",
        ("pages",),
        fixed_thresholds_make_pages_slow,
    ),
)
