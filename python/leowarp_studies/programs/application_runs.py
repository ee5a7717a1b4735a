# SPDX-License-Identifier: Apache-2.0
"""The runs with page loads and films, over the paths and with the control conditions of `runs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from leowarp.study.parts import Part
from leowarp_studies.cures.changes import BEFORE_S, PAIRS
from leowarp_studies.programs import runs, ways
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, RECONFIGURATION_S, STARLINK, STILL, One

PAGES = {path: f"page-{path}" for path in (CHANGES, STARLINK, MOBILE)}
VIDEOS = {path: f"video-{path}" for path in (CHANGES, STARLINK, MOBILE)}
"""The groups of runs, by path."""
SCENARIOS = {CHANGES: "one-change.toml", STARLINK: "starlink-tcp.toml", MOBILE: "mobile.toml"}
PAGE_START_S = {CHANGES: BEFORE_S - 1.0, STARLINK: RECONFIGURATION_S - 0.6, MOBILE: 1.0}
"""The time in s at which the page load starts, for each path. A page load takes about 1.5 s over the paths with route
changes. A page load over the access link takes less time, because the round trip is half as long. The start is chosen
so that the path changes in the middle of the page load."""
PATIENCE_S = {CHANGES: 25, STARLINK: 25, MOBILE: 180}
"""The time in s after which a page load counts as failed. During this time, the path does not change again."""
VIDEO_START_S = {CHANGES: 24.0, STARLINK: 8.0, MOBILE: 1.0}
"""The time in s at which a film starts. The route change comes 6 s after the start. Reconfigurations come 4 s and 19 s
after the start."""
VIDEO_SEEDS = (1, 2)
VIDEO_KEYS: dict[str, dict[str, Any]] = {
    CHANGES: {f"{section}.{key}": value for section in ("isl", "ground")
              for key, value in (("rate", "10 Mbit/s"), ("queue", "75 pkts"))},
    STARLINK: {"access.capacity": "10 Mbit/s", "access.queue": "200 pkts"},
    MOBILE: {},
}  # fmt: skip
"""The scenario keys for films. Films last longer than transfers, so they run at half the link rate. A full queue drains
in the same time as in the runs of transfers."""
LADDERS_KBPS = {
    CHANGES: "1000,2000,4000,6000,8000",
    STARLINK: "1000,2000,4000,6000,8000",
    MOBILE: "250,500,1000,2000,4000,6000,8000",
}
"""The bit rates of the film, by path. The highest bit rate still fits the path's 10 Mbit/s. For the mobile channel,
every stack reached more than the lowest bit rate."""


def parts(senders: Sequence[str], programs: Path) -> tuple[Part, ...]:
    """Return all groups of page loads and films, with the parameters of `runs.parts`."""
    here, everybody = ways.names_there(frozenset(senders)), tuple(ways.BY_NAME)
    found = []
    for kind, groups, maker in (("page loads", PAGES, _pages), ("DASH", VIDEOS, _videos)):
        for path, group in groups.items():
            ones, whole = list(maker(path, here, programs)), len(list(maker(path, everybody, programs)))
            found.append(runs.part(group, SCENARIOS[path], f"{kind}: {_WHY[path]}", ones, whole))
    return tuple(found)


_WHY = {
    CHANGES: "a route change on the way, and the path frozen",
    STARLINK: "a reconfiguration on the way, and none",
    MOBILE: "without resequencing, and with it",
}


def _samples(path: str, condition: str, seeds: Sequence[int]) -> Iterator[tuple[str, tuple[str, str], dict[str, Any]]]:
    """Yield the samples of a path. A sample is a tuple of a name, the stations of server and client, and scenario keys.
    A quick study uses only the first sample."""
    if path == CHANGES:
        for change in runs.looked_at():
            ends = (change.pair.source, change.pair.destination)
            yield runs.sample_of(change), ends, runs.links() | runs.at(change, condition)
    else:
        for seed in seeds:
            keys = runs.starlink(seed, condition) if path == STARLINK else runs.mobile(seed, condition)
            yield f"seed-{seed}", ("server", "dish" if path == STARLINK else "mobile"), keys


def _pages(path: str, names: Sequence[str], programs: Path) -> Iterator[One]:
    start_s = PAGE_START_S[path]
    for condition in (MOVING, STILL):
        for place, (sample, ends, base) in enumerate(_samples(path, condition, runs.SEEDS)):
            for name in (one for one in ways.LOADED if one in names):
                keys = base | _lasting(start_s + PATIENCE_S[path]) | {"tcp.sysctl": ways.sysctl(name)}
                keys["flows"] = [ways.page_flow(name, ends, start_s, PATIENCE_S[path], programs)]
                yield One(sample, condition, name, keys, place == 0 and (condition == MOVING or path == CHANGES))


def _videos(path: str, names: Sequence[str], programs: Path) -> Iterator[One]:
    start_s = VIDEO_START_S[path]
    for condition in (MOVING, STILL):
        for place, (sample, ends, base) in enumerate(_samples(path, condition, VIDEO_SEEDS)):
            if path == CHANGES and not any(sample.startswith(f"{pair.name}-") for pair in PAIRS[::2]):
                continue
            for player in ways.PLAYERS:
                for name in (one for one in player.ways if one in names):
                    keys = base | VIDEO_KEYS[path] | _lasting(start_s + ways.PLAY_S) | {"tcp.sysctl": ways.sysctl(name)}
                    keys["flows"] = [ways.video_flow(name, player, LADDERS_KBPS[path], ends, start_s, programs)]
                    yield One(sample, condition, f"{player.name}-{name}", keys, place == 0 and condition == MOVING)


def _lasting(end_s: float) -> dict[str, str]:
    """Return the scenario keys that allow a run to be somewhat longer than its program. The run stops when the program
    ends."""
    return {"run.duration": f"{end_s + 10:g} s"}
