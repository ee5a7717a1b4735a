# SPDX-License-Identifier: Apache-2.0
"""Samples the flows that ``[traffic]`` describes. It is done once, when the plan is made, with random streams that
depend on the run's seed.

Arrivals, pairs, sizes and congestion controls have separate random streams. If the mix of congestion controls changes,
arrivals, pairs and sizes stay the same. Uniform numbers are converted with closed formulas, which are equal in every
version of numpy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leowarp.base import plainfiles, units
from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.scenario.names.cities import CITIES
from leowarp.scenario.network.hosts import Flow
from leowarp.scenario.text.counts import MOST_FLOWS
from leowarp.scenario.workload.flows import fields_of_other_kinds
from leowarp.scenario.workload.traffic import Traffic

if TYPE_CHECKING:
    from leowarp.scenario.network.links import Ground, Network, Station
    from leowarp.scenario.schema import Run

_TCP_HEADER_BYTES = 32
"""A segment as long as the MTU has headers of this length: IPv4 (20 bytes), TCP (20) and TCP's timestamps (12)."""


def arrivals(
    traffic: Traffic, stations: Sequence[Station], run: Run, ground: Ground, network: Network
) -> tuple[Flow, ...]:
    """Return the arriving flows, sorted by start time.

    stations: The stations with coordinates, which include every city.
    Returns: The TCP flows with a size, which last until all bytes are sent or the run ends.
    Raises ScenarioError if more flows than `MOST_FLOWS` or none arrive, or if a city's share of the load exceeds the
    rate of its access link. Raises ScenarioError if two cities have the same coordinates, or if the file of sizes is
    malformed.
    """
    stop_ns = run.duration_ns if traffic.stop_ns is None else traffic.stop_ns
    if not traffic.start_ns < stop_ns <= run.duration_ns:
        raise ScenarioError(
            f'traffic.stop: flows cannot arrive from "{units.TIME.format(traffic.start_ns)}" to '
            f'"{units.TIME.format(stop_ns)}" in a run of "{units.TIME.format(run.duration_ns)}"',
            "start before stop, both within the run",
        )
    expected = traffic.arrival_rate_flows_per_s * (stop_ns - traffic.start_ns) / 1e9
    if expected > MOST_FLOWS:
        raise ScenarioError(
            f"traffic.arrival_rate: {expected:.0f} flows are expected, and at most {MOST_FLOWS} are possible: a plan "
            "writes out each of them",
            f'write arrival_rate = "{MOST_FLOWS * 0.9e9 / (stop_ns - traffic.start_ns):.6g} flows/s" or less',
        )
    pairs, shares = _gravity(traffic, stations)
    listed_bytes = _listed_bytes(traffic)
    _check_load(traffic, pairs, shares, listed_bytes, ground, network)
    start_ns = _poisson_ns(traffic, stop_ns, run.seed)
    if not 0 < len(start_ns) <= MOST_FLOWS:
        raise ScenarioError(
            f"traffic.arrival_rate: {len(start_ns)} flows arrive with seed {run.seed}, of {expected:.3g} expected",
            f"1 to {MOST_FLOWS} are possible: change arrival_rate, or the seed",
        )
    number = len(start_ns)
    chosen = _weighted(shares, stream(run.seed, "traffic.pairs").random(number))
    sizes_bytes = _sizes_bytes(traffic, listed_bytes, stream(run.seed, "traffic.sizes").random(number))
    mix = dict(sorted(traffic.congestion_controls.items())) or {"cubic": 1}
    weights = np.array(list(mix.values()), dtype=np.float64)
    controls = _weighted(weights / weights.sum(), stream(run.seed, "traffic.congestion_controls").random(number))
    names = list(mix)
    # Keys that belong to other kinds of flow are None, as for a flow in a text. Otherwise, a plan would differ from the
    # same plan loaded from its text.
    without: dict[str, Any] = dict.fromkeys(fields_of_other_kinds("tcp"))
    return tuple(
        Flow(
            source=pairs[pair][0], destination=pairs[pair][1], congestion_control=names[control], size_bytes=size,
            start_ns=start, stop_ns=run.duration_ns, **without,
        )
        for pair, control, size, start in zip(
            chosen.tolist(), controls.tolist(), sizes_bytes.tolist(), start_ns.tolist(), strict=True
        )
    )  # fmt: skip


def _gravity(traffic: Traffic, stations: Sequence[Station]) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Return the ordered pairs of cities, and the share of flows of each: P_i P_j / d_ij^k, normalised."""
    by_name = {station.name: station for station in stations}
    lon_rad, lat_rad = (
        np.radians([getattr(by_name[name], attribute) for name in traffic.cities])
        for attribute in ("longitude_deg", "latitude_deg")
    )
    unit = np.stack([np.cos(lat_rad) * np.cos(lon_rad), np.cos(lat_rad) * np.sin(lon_rad), np.sin(lat_rad)], axis=1)
    # The angle at the Earth's centre. The angle is computed from the chord between two cities, because the cosine is
    # inexact for places close together.
    chord = np.linalg.norm(unit[:, None, :] - unit[None, :, :], axis=-1)
    angle_rad = 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))
    people = np.array([CITIES[name] for name in traffic.cities], dtype=np.float64)
    count = len(traffic.cities)
    source, destination = np.nonzero(~np.eye(count, dtype=bool))
    apart_rad = angle_rad[source, destination]
    if not apart_rad.all():
        at = int(np.flatnonzero(apart_rad == 0)[0])
        names = " and ".join(traffic.cities[place] for place in (source[at], destination[at]))
        raise ScenarioError(f"traffic.cities: {names} are at one place", "give the stations coordinates of their own")
    weight = people[source] * people[destination] / apart_rad**traffic.distance_exponent
    pairs = [(traffic.cities[a], traffic.cities[b]) for a, b in zip(source.tolist(), destination.tolist(), strict=True)]
    return pairs, weight / weight.sum()


def _check_load(
    traffic: Traffic,
    pairs: Sequence[tuple[str, str]],
    shares: NDArray[np.float64],
    listed_bytes: NDArray[np.int64],
    ground: Ground,
    network: Network,
) -> None:
    """Check that the average load that a city sends or receives fits its access link. The load includes headers and the
    link's overhead.

    At a higher load, the queue of the link only grows, whatever the congestion controls do.
    """
    if ground.left_bps is None or network.endpoints == "satellites":
        return
    mean_bytes = float(listed_bytes.mean()) if len(listed_bytes) else float(traffic.mean_size_bytes)
    on_link = (network.mtu_bytes + ground.overhead_bytes) / (
        network.mtu_bytes - network.ip_header_bytes - _TCP_HEADER_BYTES
    )
    load_bps = traffic.arrival_rate_flows_per_s * mean_bytes * 8 * on_link
    for end, verb in ((0, "sends"), (1, "receives")):
        share: dict[str, float] = {}
        for pair, one in zip(pairs, shares.tolist(), strict=True):
            share[pair[end]] = share.get(pair[end], 0.0) + one
        name = max(share, key=lambda city: share[city])
        if share[name] * load_bps > ground.left_bps:
            fits = traffic.arrival_rate_flows_per_s * ground.left_bps / (share[name] * load_bps)
            raise ScenarioError(
                f"traffic.arrival_rate: {name} {verb} {share[name] * load_bps / 1e6:.4g} Mbit/s on average "
                f"({share[name] * 100:.3g} % of all flows), and its access link (ground.rate) has "
                f"{units.RATE.format(ground.left_bps)} for them",
                f'write arrival_rate = "{fits * 0.99:.4g} flows/s" or less, smaller sizes, or a higher ground.rate',
            )


def _poisson_ns(traffic: Traffic, stop_ns: int, seed: int) -> NDArray[np.int64]:
    """Return the arrival times of a Poisson process between start and stop, ns, ascending. The function returns at most
    `MOST_FLOWS` + 1 times."""
    draws = stream(seed, "traffic.arrivals").random(MOST_FLOWS + 1)
    # Exponential gaps between arrivals, by inversion: -ln(1 - u) / rate, where u is below 1.
    gap_s = -np.log1p(-draws) / traffic.arrival_rate_flows_per_s
    at_ns = traffic.start_ns + np.rint(np.cumsum(gap_s) * 1e9)
    return np.asarray(at_ns[at_ns < stop_ns].astype(np.int64))


def _weighted(shares: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.intp]:
    """Choose random indexes of `shares`. An index is chosen with the probability that `shares` contains at this index.
    The `draws` are uniform numbers between 0 and 1."""
    return np.minimum(np.searchsorted(np.cumsum(shares), draws, side="right"), len(shares) - 1)


def _sizes_bytes(traffic: Traffic, listed_bytes: NDArray[np.int64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Convert uniform random numbers to flow sizes in whole bytes. A size is at least 1."""
    mean_bytes = traffic.mean_size_bytes
    if traffic.sizes == "file":
        return listed_bytes[(draws * len(listed_bytes)).astype(np.intp)]
    if traffic.sizes == "fixed":
        return np.full(len(draws), mean_bytes, dtype=np.int64)
    if traffic.sizes == "pareto":
        # Distribution F(x) = 1 - (m/x)^a, whose mean is m a / (a - 1)
        exponent = mean_bytes / (mean_bytes - traffic.smallest_size_bytes)
        size_bytes = traffic.smallest_size_bytes * (1.0 - draws) ** (-1.0 / exponent)
    else:
        from scipy.special import ndtri

        # the mean of ln x is ln(median); the mean of x is median * exp(sigma^2 / 2)
        sigma = math.sqrt(2.0 * math.log(mean_bytes / traffic.median_size_bytes))
        size_bytes = traffic.median_size_bytes * np.exp(sigma * ndtri(draws))
    return np.maximum(np.rint(size_bytes), 1.0).astype(np.int64)


def _listed_bytes(traffic: Traffic) -> NDArray[np.int64]:
    """Return the sizes in the file, one per line. The array is empty if sizes come from a distribution."""
    if traffic.sizes != "file" or traffic.size_file is None:
        return np.empty(0, dtype=np.int64)
    content = plainfiles.read(traffic.size_file.path, plainfiles.MOST_INPUT_BYTES)
    sizes: list[int] = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 12 and int(text) > 0):
            raise ScenarioError(
                f"{traffic.size_file.path}:{number}: {text[:40]!r} is not a size, a whole number of bytes from 1 on",
                "write one size a line, without a unit",
            )
        sizes.append(int(text))
    if not sizes:
        raise ScenarioError(f"{traffic.size_file.path}: has no sizes", "write one size in bytes a line")
    return np.array(sizes, dtype=np.int64)
