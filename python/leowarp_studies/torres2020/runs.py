# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: its transfers and probes, the fourth algorithm of figure 8, and runs that show the effects of
TCP mechanisms.

Each group is a separate study file (a scenario, parameters and seeds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leowarp.study.parts import Part
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS

SCENARIO = "jittered-transfer.toml"
"""The two example scenarios. `SCENARIO` has a transfer, and `PROBE_SCENARIO` sends ICMP echo requests."""
PROBE_SCENARIO = "jittered-probe.toml"

ALGORITHMS = ("bic", "highspeed", "westwood")
"""The algorithms that are run with all three distributions."""

FOURTH = "yeah"
"""The algorithm that figure 8 shows for the normal distribution only."""

SEEDS = 30
"""The number of seeds of the transfers."""
QUICK_SEEDS = 3
"""The number of seeds of a quick reproduction."""
MECHANISM_SEEDS = 3
"""The number of seeds of the transfers with other TCPs. The transfers with other TCPs explain the results, but do not
affect the verdict."""
QUICK_STEP = 8
"""A quick reproduction uses every eighth jitter."""

NAMED_US = (0, 75, 858.5, 1000, 1247.5, 10_000)
"""The jitters in us that the study's text names. The text names the smallest and the largest jitter, and the jitters of
figures 2, 3 and 4. It also names the jitters at which westwood and the other algorithms collapse (figure 8)."""

JITTERS_US = (
    # Below a tenth of a ms, jitter is less than the packet spacing of 0.121 ms, but it already reorders TCP's bursts.
    *(12.5 * step for step in range(9)),  # 0 to 0.1 ms, where westwood collapses
    *range(125, 501, 25),  # to 0.5 ms
    *(550, 600, 650, 700, 750, 800, 858.5, 900, 950, 1000),  # to 1 ms, where all TCPs except westwood collapse
    *(1100, 1247.5, 1400, 1500, 1600, 1800, 2000),  # to 2 ms
    *(2250, 2500, 2750, 3000, 3250, 3500, 3750, 4000, 4500, 5000),  # to 5 ms
    *(5500, 6000, 6500, 7000, 7500, 8000, 8500, 9000, 9500, 10_000),  # to 10 ms
)
"""The 62 jitters from 0 to 10 ms. The study gives the number of jitters and six values, and leowarp chose the other
values. The jitters are closer together where throughput collapses in the study. They are also closer together at small
jitters, where E_r changes fast, because it is a logarithm."""

QUICK_US = tuple(jitter for place, jitter in enumerate(JITTERS_US) if place % QUICK_STEP == 0 or jitter in NAMED_US)
"""Every eighth jitter, and the jitters that the study names."""

MECHANISM_US = (0, 75, 300, 600, 858.5, 1247.5, 1800, 3750, 7500, 10_000)
QUICK_MECHANISM_US = (0, 75, 300, 858.5, 1800, 10_000)
"""The jitters, in us, that are used in runs with other TCPs."""

EARLY_RACK_US = (0, 75, 300, 600, 858.5, 1000, 1247.5, 1500, 1800, 2500, 3750, 5000, 7500, 10_000)
QUICK_EARLY_RACK_US = (0, 75, 300, 858.5, 1247.5, 1800, 10_000)
"""The jitters in us for RACK of earlier years. The jitters of the other TCPs are included. Further jitters are around
RACK's first window of 1 ms."""

SHAPE_US = 1247.5
"""The jitter of figures 2 and 3, in us."""
BEYOND_US = 10_000
"""A jitter in us. With this jitter, two of the three distributions displace packets by more than the threshold of 200
packets."""

SHAPED, UNSHAPED = "100 Mbit/s", "unshaped"
"""The rates of the path. If the rate is `UNSHAPED`, only netem delays packets."""

PROFILES = ("linux", "dupthresh", "norack", "classic", "rack-draft", "rack-4.14")
"""The names of TCPs, each of which distinguishes loss from reordering in a different way (see `PROFILE_TEXT`). The
study's own transfers use the TCP `linux`."""
EARLY_RACK = ("rack-draft", "rack-4.14")
"""The TCPs with RACK as it was in the years of the study (docs/concepts/loss-detection.md)."""

PROFILE_TEXT = {
    "linux": "Linux 6.12: RACK, which waits a window of time and widens it; DSACK and timestamps undo",
    "dupthresh": "as linux without RACK: 3 duplicate ACKs, raised as reordering is seen, to 300 at most",
    "norack": "as linux without RACK: 3 duplicate ACKs, never more; DSACK and timestamps undo",
    "classic": "3 duplicate ACKs, never more; neither DSACK nor timestamps, so only F-RTO undoes",
    "rack-draft": "RACK of the drafts of 2016: a window of 1 ms until reordering was seen; 3 duplicate ACKs, raised as "
    "reordering is seen, to 300 at most; DSACK and timestamps undo",
    "rack-4.14": "as rack-draft, but the window is a quarter of the minimum RTT while no packet is marked lost",
}

GUEST_MEMORY = "128 MiB"
"""The memory of every run's guest. The size of the memory does not affect packets."""

BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304"}
"""Linux's default limits of socket buffers, which the study did not change."""

PROFILE_TCP: dict[str, dict[str, Any]] = {
    "linux": {"profile": "linux"},
    "dupthresh": {"profile": "linux", "sysctl": {"net.ipv4.tcp_recovery": "0"}},
    "norack": {"profile": "norack"},
    "classic": {"profile": "classic"},
    "rack-draft": {"profile": "linux", "loss_detection": "rack-draft"},
    "rack-4.14": {"profile": "linux", "loss_detection": "rack-4.14"},
}
"""The scenario keys of `[tcp]` for each TCP in `PROFILES`."""


def parts() -> tuple[Part, ...]:
    """Return all groups of runs. The study's own groups come first.

    Returns: The groups. The group `transfers` has the study's 16,740 runs.
    """
    four = (*ALGORITHMS, FOURTH)
    return (
        _transfers("transfers", "the study's runs, figures 6 to 8", DISTRIBUTIONS, ALGORITHMS),
        _transfers("yeah", "figure 8's fourth algorithm", ("normal",), (FOURTH,)),
        _probes("probes", "MD and E_r: figures 4 and 5", JITTERS_US, QUICK_US),
        _shapes(),
        _beyond(),
        _mechanisms("mechanisms-normal", ("normal",), four),
        _mechanisms("mechanisms-bic", ("uniform", "exponential"), ("bic",)),
        _early_rack("early-rack-normal", ("normal",), four),
        _early_rack("early-rack-bic", ("uniform", "exponential"), ("bic",)),
    )


def _transfers(name: str, why: str, distributions: Sequence[str], algorithms: Sequence[str]) -> Part:
    """Return a group of the study's transfers on default Linux, with all jitters.

    name, why: The name of the group, and the reason why the group exists.
    distributions, algorithms: The distributions and algorithms. Each combination runs with all `JITTERS_US` and all
        seeds.
    """
    content = _content(name, SCENARIO, distributions, JITTERS_US, SEEDS)
    content["parameters"] |= _algorithms(algorithms)
    count = len(distributions) * len(algorithms) * len(JITTERS_US) * SEEDS
    return Part(name, why, content, count, _quick(QUICK_US, QUICK_SEEDS))


def _mechanisms(name: str, distributions: Sequence[str], algorithms: Sequence[str]) -> Part:
    """Return a group of transfers with variants of Linux 6.12's TCP. The group has fewer values of jitter than the
    study's own transfers."""
    names = tuple(profile for profile in PROFILES if profile not in EARLY_RACK)
    content = _on_profiles(name, distributions, algorithms, MECHANISM_US, names)
    # TCPs with leowarp's own loss detection are in separate groups, because they set a key that Linux's TCPs do not
    # set.
    runs = len(distributions) * len(algorithms) * len(MECHANISM_US) * MECHANISM_SEEDS * len(names)
    return Part(name, "what makes this kernel differ", content, runs, _quick(QUICK_MECHANISM_US, 1))


def _early_rack(name: str, distributions: Sequence[str], algorithms: Sequence[str]) -> Part:
    """Return a group of transfers with TCP variants that use RACK as it was in the years of the study."""
    content = _on_profiles(name, distributions, algorithms, EARLY_RACK_US, EARLY_RACK)
    (together,) = content["together"]
    together["tcp.loss_detection"] = {
        "label": "tcp_loss_detection",
        "values": [PROFILE_TCP[profile]["loss_detection"] for profile in EARLY_RACK],
    }
    runs = len(distributions) * len(algorithms) * len(EARLY_RACK_US) * MECHANISM_SEEDS * len(EARLY_RACK)
    return Part(name, "RACK of 2016 to 2018", content, runs, _quick(QUICK_EARLY_RACK_US, 1))


def _on_profiles(
    name: str, distributions: Sequence[str], algorithms: Sequence[str], jitters_us: Sequence[float],
    profiles: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the content of a study file with transfers over several TCPs, whose packets are stored."""
    content = _content(name, SCENARIO, distributions, jitters_us, MECHANISM_SEEDS)
    content["parameters"] |= _algorithms(algorithms)
    # Only the runs about mechanisms store every packet, because only packets show the mechanisms.
    content["set"] |= {"observe.sockets": "100 ms", "observe.truth": True}
    # `profile_of` derives the profile's name from the results.
    settings = [PROFILE_TCP[profile] for profile in profiles]
    content["together"] = [
        {
            "tcp.profile": {"label": "tcp_profile", "values": [each["profile"] for each in settings]},
            "tcp.sysctl": {"label": "tcp_sysctl", "values": [BUFFERS | each.get("sysctl", {}) for each in settings]},
        }
    ]
    return content


def _probes(name: str, why: str, jitters_us: Sequence[float], quick_us: tuple[float, ...]) -> Part:
    """Return a group of probes at the jitters `jitters_us`, with one seed."""
    content = _content(name, PROBE_SCENARIO, DISTRIBUTIONS, jitters_us, 1)
    return Part(name, why, content, len(DISTRIBUTIONS) * len(jitters_us), _quick(quick_us, 1))


def _quick(jitters_us: Sequence[float], seeds: int) -> Callable[[Mapping[str, Any], int], bool]:
    """Return a filter that selects the runs of a quick reproduction: some jitters and the first seeds."""
    jitters = {_text(jitter_us) for jitter_us in jitters_us}
    return lambda values, seed: seed <= seeds and values["jittered.jitter"] in jitters


def _shapes() -> Part:
    """Return a group of probes with and without the shaper. The run directories of this group are stored. Without the
    shaper, only netem delays packets."""
    plain = _probes("shapes", "figures 2 and 3: whole run directories", (SHAPE_US,), (SHAPE_US,))
    plain.content["parameters"]["jittered.rate"] = {"label": "rate", "values": [SHAPED, UNSHAPED]}
    return replace(plain, content=plain.content | {"keep": {"runs": "all"}}, runs=2 * plain.runs)


def _beyond() -> Part:
    """Return a group of probes in which some packets are displaced beyond the threshold. The run directories are
    stored."""
    part = _probes("beyond", "equations (3) and (4) beyond the threshold", (BEYOND_US,), (BEYOND_US,))
    return replace(part, content=part.content | {"keep": {"runs": "all"}})


def _content(
    name: str, scenario: str, distributions: Sequence[str], jitters_us: Sequence[float], seeds: int
) -> dict[str, Any]:
    """Return the content of a study file that varies distributions, jitters and seeds."""
    return {
        "name": name,
        "scenario": scenario,
        # A run needs 60 MiB. More memory would take more time, because a kernel uses 1.5 % of its memory, and 15 ms per
        # GiB, for bookkeeping.
        "set": {"guest.memory": GUEST_MEMORY},
        # Each label becomes the name of a column in the results. `results` reads these columns.
        "parameters": {
            "jittered.distribution": {"label": "distribution", "values": list(distributions)},
            "jittered.jitter": {"label": "jitter", "values": [_text(jitter_us) for jitter_us in jitters_us]},
        },
        "seeds": {"first": 1, "count": seeds},
    }


def _algorithms(names: Sequence[str]) -> dict[str, Any]:
    """Return the parameter that varies the congestion control."""
    return {"flows.0.congestion_control": {"label": "congestion_control", "values": list(names)}}


def _text(jitter_us: float) -> str:
    """Return a jitter in the form of a scenario value.

    >>> _text(858.5), _text(10_000)
    ('858.5 us', '10000 us')
    """
    return f"{jitter_us:g} us"


def profile_of(profile: str, sysctl: Mapping[str, str], loss_detection: str = "kernel") -> str:
    """Return the name (in `PROFILES`) of the TCP with these scenario keys.

    >>> profile_of("linux", {"net.ipv4.tcp_recovery": "0"}), profile_of("linux", {}, "rack-4.14")
    ('dupthresh', 'rack-4.14')
    """
    own = {key: value for key, value in sysctl.items() if key not in BUFFERS}
    given = {"profile": profile, **({"sysctl": own} if own else {})}
    if loss_detection != "kernel":
        given["loss_detection"] = loss_detection
    return next(name for name, keys in PROFILE_TCP.items() if keys == given)
