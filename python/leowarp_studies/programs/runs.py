# SPDX-License-Identifier: Apache-2.0
"""The runs of the study, with every sender over the same paths. Each run has a control, in which the path does not
change.

Transfers have a fixed size. A stack therefore exits at the end of its transfer, and reports its counts. Rates are only
10 to 20 Mbit/s, because a QUIC stack needs about 10 us per system call. A full queue drains in the same time as in
leowarp's other studies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp.study.parts import Part
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures.changes import BEFORE_S, PAIRS, Change
from leowarp_studies.programs.senders import CUBIC, KERNEL, SENDERS, Transfer

CHANGES, STARLINK, MOBILE, SHARE = "changes", "starlink", "mobile", "share"
"""The groups of runs."""
MOVING, STILL = "moving", "still"
"""The conditions. `MOVING` is the unmodified path, and `STILL` is the control. The control has no route changes and no
reconfigurations, and its link keeps the order."""

RATE_BPS = 20_000_000
QUEUE_PKTS = 150
"""The queue in packets. This is about the bandwidth-delay product from Madrid to Tokyo: 152 packets of 1514 bytes (92
ms x 20 Mbit/s)."""
STARLINK_RATE = "20 Mbit/s"
STARLINK_QUEUE = "400 pkts"
"""The queue for the rate of `STARLINK_RATE`. A packet waits at most as long as in the profile, which has 250 Mbit/s and
a queue of 5000 packets."""
MOBILE_RATE = "10 Mbit/s"
RECONFIGURATION_S = 12
"""The first reconfiguration happens at this time in s, on the profile's clock."""
NEVER = {"access.period": "1 h", "access.phase": "30 min"}
"""The scenario keys for a slot that is longer than any run. No reconfiguration occurs, because the slot at the run's
start lasts another half hour."""
FULL_PACKETS = {"mobile.data_bits": 12_000, "mobile.codeword_bits": 72_000}
"""The keys with which a codeword carries an IP packet of 1500 bytes. The code rate is still 1/6. The channel's default
of 1,115 bytes could not carry QUIC's minimum of 1,200 (RFC 9000, 14)."""

TRANSFERS = {
    CHANGES: Transfer("Madrid", "Tokyo", 25.0, 20_000_000),
    STARLINK: Transfer("server", "dish", 8.0, 20_000_000),
    MOBILE: Transfer("server", "mobile", 1.0, 6_000_000),
    SHARE: Transfer("Madrid", "Tokyo", 25.0, 20_000_000),
}
LATER_S = {CHANGES: 40, STARLINK: 52, MOBILE: 599, SHARE: 50}
"""For each group, the time limit of a transfer in s, counted from the transfer's start. A run ends with its
transfer."""
SEEDS = (1, 2, 3)
QUICK_SEEDS = (1,)


@dataclass(frozen=True)
class One:
    """A run of the study.

    sample: The name of the change or seed, which is the same for all senders.
    condition: The condition, `MOVING` or `STILL`.
    keys: The keys of the scenario, including its flows.
    """

    sample: str
    condition: str
    sender: str
    keys: Mapping[str, Any]
    in_quick: bool

    @property
    def name(self) -> str:
        """Return the name of the run's scenario, which identifies the run in the rows of the results."""
        return f"{self.sample}.{self.condition}.{self.sender}"


def parts_of(name: str) -> tuple[str, str, str]:
    """Return the sample, condition and sender in a scenario's name.

    >>> parts_of("seed-1.still.quic-go")
    ('seed-1', 'still', 'quic-go')
    """
    sample, condition, sender = name.split(".")
    return sample, condition, sender


def made_runs(rows: Mapping[str, pd.DataFrame], folder: Path, group: str) -> Iterator[tuple[str, Path]]:
    """Yield the name and directory of each successful run of a group, in the order of the rows.

    rows: The rows of the study engine, by group.
    """
    good = rows[group][rows[group]["status"] == "ok"]
    for row in good.to_dict("records"):
        yield row["name"], folder / group / "runs" / row["run_id"]


def looked_at() -> tuple[Change, ...]:
    """Return the route changes at which the sending station switches to another satellite. On a saturated path, the
    queue is at this station.

    The result has one such change for each pair of cities of the study `cures`: the pair's first one.
    """
    found: dict[str, Change] = {}
    for change in route_changes.changes(each=5):
        if change.node_place == 0:
            found.setdefault(change.pair.name, change)
    return tuple(found.values())


def parts(senders: Sequence[str], programs: Path) -> tuple[Part, ...]:
    """Return all groups.

    senders: The available senders.
    programs: The build directory, as in `Transfer.flow`.
    """
    makers: dict[str, tuple[str, str, Callable[[Sequence[str], Path], Iterator[One]]]] = {
        CHANGES: ("one-change.toml", "a route change that leaves a queue behind, and the path frozen", _changes),
        STARLINK: ("starlink-tcp.toml", "a reconfiguration of the profile starlink, and none", _starlink),
        MOBILE: ("mobile.toml", "the mobile channel without resequencing, and with it", _mobile),
        SHARE: ("one-change.toml", "beside the kernel's CUBIC, path frozen", _share),
    }
    everybody = [sender.name for sender in SENDERS]
    return tuple(
        part(name, scenario, why, list(maker(senders, programs)), len(list(maker(everybody, programs))))
        for name, (scenario, why, maker) in makers.items()
    )


def part(name: str, scenario: str, why: str, ones: Sequence[One], whole: int) -> Part:
    """Return a group of runs over the path of an example scenario.

    ones: The runs that can be made on this machine.
    whole: The number of runs if no stack is missing.
    """
    content = {
        "name": name,
        "scenario": scenario,
        "set": {"run.ends": "flows", "observe.queues": "none"},
        "together": [_together(ones)],
        "keep": {"runs": "all"},
    }
    return Part(name, why, content, whole, _quick({one.name for one in ones if one.in_quick}))


def _quick(names: set[str]) -> Callable[[Mapping[str, Any], int], bool]:
    """Return the filter that selects the runs of a quick study."""
    return lambda values, seed: values["name"] in names


def _together(ones: Sequence[One]) -> dict[str, Any]:
    """Return the scenario keys that vary together. For each key, the result has the list of its values in all runs."""
    return {"name": [one.name for one in ones]} | {key: [one.keys[key] for one in ones] for key in ones[0].keys}


def _lasting(group: str) -> dict[str, str]:
    return {"run.duration": f"{TRANSFERS[group].start_s + LATER_S[group]:g} s"}


def links() -> dict[str, Any]:
    """Return the scenario keys for the study's links. Compared with the example scenario, the rate is lower, and the
    queues are shorter."""
    return {f"{section}.{key}": value for section in ("isl", "ground")
            for key, value in (("rate", f"{RATE_BPS} bit/s"), ("queue", f"{QUEUE_PKTS} pkts"))}  # fmt: skip


def at(change: Change, condition: str) -> dict[str, Any]:
    """Return the keys of a scenario whose path changes at `change`."""
    stations = [{"name": change.pair.source}, {"name": change.pair.destination}]
    # Routes are computed at the run's start and every 30 s. In the control condition, the interval is longer than the
    # run, so that the first routes remain.
    interval = "30 s" if condition == MOVING else "3600 s"
    start = {"run.start": f"{change.at_s - BEFORE_S} s"}
    return {"constellation.preset": change.pair.preset, "stations": stations, "routing.interval": interval} | start


def _between(change: Change, transfer: Transfer) -> Transfer:
    return Transfer(change.pair.source, change.pair.destination, transfer.start_s, transfer.size_bytes)


def _changes(senders: Sequence[str], programs: Path) -> Iterator[One]:
    for change in looked_at():
        transfer = _between(change, TRANSFERS[CHANGES])
        for condition in (MOVING, STILL):
            for sender in senders:
                keys = links() | _lasting(CHANGES) | at(change, condition)
                keys["flows"] = [transfer.flow(sender, programs)]
                yield One(sample_of(change), condition, sender, keys, change.pair == PAIRS[0])


def _share(senders: Sequence[str], programs: Path) -> Iterator[One]:
    for change in looked_at()[:2]:
        transfer = _between(change, TRANSFERS[SHARE])
        for sender in senders:
            keys = links() | _lasting(SHARE) | at(change, STILL)
            keys["flows"] = [transfer.flow(sender, programs), transfer.flow(CUBIC, programs)]
            yield One(sample_of(change), STILL, sender, keys, change.pair == PAIRS[0] and sender not in KERNEL)


def sample_of(change: Change) -> str:
    """Return the name of the sample that contains the runs around a route change."""
    return f"{change.pair.name}-{change.at_s}"


def starlink(seed: int, condition: str) -> dict[str, Any]:
    """Return the scenario keys of the access link."""
    keys = {"run.seed": seed, "access.capacity": STARLINK_RATE, "access.queue": STARLINK_QUEUE}
    return keys | {"access.period": "15 s", "access.phase": "12 s"} | (NEVER if condition == STILL else {})


def mobile(seed: int, condition: str) -> dict[str, Any]:
    """Return the scenario keys of the mobile channel."""
    keys = {"run.seed": seed, "mobile.rate": MOBILE_RATE, "mobile.resequencing": condition == STILL}
    return keys | FULL_PACKETS


def _starlink(senders: Sequence[str], programs: Path) -> Iterator[One]:
    for seed in SEEDS:
        for condition in (MOVING, STILL):
            for sender in senders:
                keys = starlink(seed, condition) | _lasting(STARLINK)
                keys["flows"] = [TRANSFERS[STARLINK].flow(sender, programs)]
                yield One(f"seed-{seed}", condition, sender, keys, seed in QUICK_SEEDS and condition == MOVING)


def _mobile(senders: Sequence[str], programs: Path) -> Iterator[One]:
    for seed in SEEDS:
        for condition in (MOVING, STILL):
            for sender in senders:
                keys = mobile(seed, condition) | _lasting(MOBILE)
                keys["flows"] = [TRANSFERS[MOBILE].flow(sender, programs)]
                yield One(f"seed-{seed}", condition, sender, keys, seed in QUICK_SEEDS and condition == MOVING)
