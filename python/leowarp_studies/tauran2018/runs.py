# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: its own sessions, sessions with other TCPs, sessions with one changed assumption, and runs
that only show window growth.

Each group is a separate study file (a scenario, parameters and seeds).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leowarp.scenario.names.examples import example_file
from leowarp.study.parts import Part

SCENARIO, GROWTH_SCENARIO = "mobile-tcp.toml", "mobile.toml"

SNRS_DB = (7, 8, 9, 10, 11, 12, 13)
"""The SNRs of the study: 7 to 13 dB."""
FEW_SNRS_DB = (7, 10, 13)
"""The SNRs in dB of the runs with other TCPs, and of a quick reproduction."""

SEEDS, QUICK_SEEDS = 5, 2
PROFILE_SEEDS, ASSUMPTION_SEEDS = 3, 2
DURATION_S, GROWTH_S = 600, 60

ALGORITHMS = ("reno", "cubic", "hybla")
BY_ACKS = {"reno": "reno_by_acks", "cubic": "cubic_by_acks"}
"""Linux's algorithms with one change: the window grows with each ACK instead of with each acknowledged segment. ns-2's
Reno also grows its window with each ACK. The changed algorithms are kernel modules, which come with leowarp as
examples."""

LABELS = {
    "reno": "NewReno", "cubic": "CUBIC", "hybla": "Hybla", "reno_by_acks": "Reno by ACKs",
    "cubic_by_acks": "CUBIC by ACKs",
}  # fmt: skip

ON, OFF, ADAPTIVE = "on", "off", "adaptive"
"""The settings of delayed ACKs. `ON` sends an ACK after every second segment or after 40 ms. `OFF` does not delay ACKs.
`ADAPTIVE` is Linux's default."""

STUDY_PROFILE = "newreno"
OTHER_TCPS = (
    (STUDY_PROFILE, ADAPTIVE), ("classic", OFF), ("classic", ON), ("linux", OFF), ("linux", ON), ("linux", ADAPTIVE),
)  # fmt: skip
"""The combinations of TCP profile and delayed ACKs in the group `profiles`."""

PROFILE_TEXT = {
    "newreno": "as the study's NewReno: three duplicate ACKs, no SACK; nothing is taken back",
    "classic": "the same with SACK",
    "linux": "Linux 6.12: SACK, RACK; DSACK and timestamps take reductions back",
}

RTO_FLOOR = {"net.ipv4.tcp_rto_min_us": "1000"}
"""The sysctl that sets the minimum of the variation term in the RTO. This minimum is the clock's granularity (RFC 6298,
2.3) instead of Linux's 200 ms. With this sysctl, the RTO is SRTT plus four times RTTVAR, as in the study."""

DEEP = "20000 pkts"
"""The queue of the group `growth`, which is long enough never to overflow."""

ASSUMPTION_SNR_DB = 10


@dataclass(frozen=True)
class Assumption:
    """An assumption: a value that the study does not give.

    name, label: The name in runs, and the label in figures.
    key: The dotted scenario key.
    default: The value in all runs that do not test this assumption.
    others: Further values, which are tested one at a time.
    why: The reason for the default. design/lms-harq.md has more.
    """

    name: str
    label: str
    key: str
    default: Any
    others: tuple[Any, ...]
    why: str


# design/lms-harq.md has the reasons for the defaults, and how results depend on them.
ASSUMPTIONS = (
    # The default of 60 km/h is the speed of a car on a road between trees. At 60 km/h, the car moves by 1 m in the 60
    # ms of three retransmissions, so all three may meet the same fade.
    Assumption("speed", "terminal speed", "mobile.speed", "60 km/h", ("3 km/h", "30 km/h", "120 km/h"),
               "a car; how many looks at the fading three retransmissions get hangs on it"),
    # Perez-Fontan's tables are measurements in the S band. At 2.2 GHz, the multipath fading changes over half a
    # wavelength, which is 7 cm.
    Assumption("carrier", "carrier", "mobile.carrier", "2.2 GHz", ("1.5 GHz", "4 GHz"),
               "the tables are of S band; the multipath's pace hangs on it"),
    # Before the first transmission, the sender does not know the state of the channel. A probability of one half is a
    # compromise between a short delay and few symbols (design/lms-harq.md).
    Assumption("first_target", "first transmission decodes with", "mobile.first_target", "50 %", ("10 %", "90 %"),
               "which bits the first transmission has: in adaptive HARQ, those that decode with this probability"),
    # In a Monte Carlo simulation of the code at low rates, half of the codewords are decoded with 1.13 to 1.14 times
    # the data bits, and nine in ten with 1.16 to 1.17 times.
    Assumption("threshold", "decoding threshold", "mobile.threshold", "115 %", ("105 %", "125 %"),
               "typical of the turbo code at low rate (own Monte Carlo)"),
    # The default `received` is the only one that was chosen after losses had been computed. The authors' abstracts
    # (arXiv 1411.3625, 1501.01471) describe the model `received`. At 13 dB, only the losses of the model `received` lie
    # between those of the two extreme models.
    Assumption("rule", "bits of a retransmission", "mobile.rule", "received", ("predicted", "statistics", "equal"),
               "the paper's own rule is not public"),
    # The default size fills one codeword. ns-2's TCP has by default 1000 bytes of data and 40 bytes of headers. Without
    # MTU discovery, a path carries packets of 576 bytes (RFC 1122, 3.3.3).
    Assumption("packet", "IP packet", "network.mtu", "1115 B", ("1040 B", "576 B"),
               "one codeword; smaller ones share a codeword's fate with the next"),
    # The bandwidth-delay product is 807 packets of 1,115 bytes (40 Mbit/s x 180 ms).
    Assumption("queue", "queue before the link", "mobile.queue", "500 pkts", ("50 pkts", "5000 pkts"),
               "about half of the path's bandwidth-delay product"),
    # The choice of the satellite determines how often the route changes, and therefore how often packets overtake each
    # other for reasons other than HARQ.
    Assumption("satellite", "last satellite", "mobile.last_satellite", "kept", ("highest", "shortest"),
               "ns-2's terminals keep a satellite while they see it"),
    # The study does not give the time of its runs. Other start times show how much the results depend on the 600 s that
    # leowarp chose.
    Assumption("start", "time of the constellation", "run.start", "0 s", ("20 min", "40 min"),
               "other routes, delays and route changes"),
)  # fmt: skip
"""The assumptions. Runs change one assumption at a time, from its default to a value in `others`."""

BASE = "base"
"""The name of the setting in which all assumptions have their defaults."""


def parts() -> tuple[Part, ...]:
    """Return all groups of runs. The first groups are those of the reproduced study itself."""
    return (
        # Only the run directories of seed 1 are stored, so seed 1 is a separate group. The directories of all five
        # seeds would need five times the space.
        _sessions("first", "figures 3 to 5 and 7, table 1: seed 1, whole run directories", 1, 1, keep=True),
        _sessions("main", "the same, further seeds", 2, SEEDS - 1, keep=False),
        _growth("growth", "figure 6: no loss, no HARQ", ALGORITHMS[:2], (ON, OFF, ADAPTIVE)),
        _profiles(),
        _by_acks(),
        _growth("growth_by_acks", "figure 6 with windows that grow by ACKs", tuple(BY_ACKS.values()), (ON, OFF)),
        _assumptions(),
        _rto_floor(),
        _capacity(),
    )


def snr_text(snr_db: float) -> str:
    """Return an SNR in the form of a scenario value."""
    return f"{snr_db:g} dB"


def setting(assumption: Assumption, value: Any) -> str:
    """Return the name of the runs in which the assumption has the value `value`.

    >>> setting(ASSUMPTIONS[0], "3 km/h")
    'speed-3-km-h'
    """
    return f"{assumption.name}-{re.sub('[^A-Za-z0-9.]+', '-', str(value)).strip('-')}"


def _sessions(name: str, why: str, first: int, seeds: int, *, keep: bool) -> Part:
    """Return a group with sessions for each combination of SNR, resequencing (on or off) and delayed ACKs (on or off).
    The seeds are consecutive numbers from `first` on."""
    content = _content(name, SNRS_DB, ALGORITHMS, first, seeds)
    content["parameters"]["tcp.delayed_ack"] = {"label": "delayed_ack", "values": [ON, OFF]}
    if keep:
        content["keep"] = {"runs": "all"}
    # The number of runs contains two factors of 2: resequencing and delayed ACKs are each on or off.
    count = len(SNRS_DB) * len(ALGORITHMS) * 2 * 2 * seeds
    return Part(name, why, content, count, _few(QUICK_SEEDS, FEW_SNRS_DB))


def _growth(name: str, why: str, algorithms: Sequence[str], delayed_acks: Sequence[str]) -> Part:
    """Return a group of runs that show how the window of one flow grows. The link has no loss and a constant delay.
    There is no constellation."""
    # Without fading, the SNR has no effect. One seed is enough, because nothing in the group `growth` is random.
    content = _content(name, (13,), algorithms, 1, 1)
    content["parameters"] |= {
        "mobile.resequencing": {"label": "resequencing", "values": [True]},
        "tcp.delayed_ack": {"label": "delayed_ack", "values": list(delayed_acks)},
    }
    content["scenario"] = GROWTH_SCENARIO
    content["set"] |= {
        "tcp.profile": STUDY_PROFILE,
        "observe.packets": "none",
        "mobile.fading": False,
        # The queue of the sessions holds 500 packets. With a queue of this length, a drop would end slow start, during
        # which growth is measured.
        "mobile.queue": DEEP,
        "run.duration": f"{GROWTH_S} s",
        # The window is sampled more often than in the sessions, because slow start doubles it every 180 ms.
        "observe.sockets": "10 ms",
    }
    content["keep"] = {"runs": "all"}
    return Part(name, why, content, len(algorithms) * len(delayed_acks),
                # Claims compare delayed ACKs with no delayed ACKs. Linux's default appears only in the figure, so a
                # quick reproduction leaves it out.
                lambda values, seed: values["tcp.delayed_ack"] != ADAPTIVE)  # fmt: skip


def _profiles() -> Part:
    """Return a group of sessions with other TCPs. The group has fewer SNRs and seeds than the main group. The TCP
    profile and the delayed-ACK setting vary together, because not all combinations are useful.
    """
    content = _content("profiles", FEW_SNRS_DB, ALGORITHMS, 1, PROFILE_SEEDS)
    content["together"] = [
        {
            "tcp.profile": {"label": "profile", "values": [profile for profile, _ in OTHER_TCPS]},
            "tcp.delayed_ack": {"label": "delayed_ack", "values": [delayed for _, delayed in OTHER_TCPS]},
        }
    ]
    runs = len(FEW_SNRS_DB) * len(ALGORITHMS) * 2 * len(OTHER_TCPS) * PROFILE_SEEDS
    return Part(
        "profiles", "what SACK, RACK and Linux's own delayed ACKs change", content, runs, _few(1, (ASSUMPTION_SNR_DB,))
    )


def _by_acks() -> Part:
    """Return a group of runs of NewReno and CUBIC whose windows grow per ACK. The group has only a few SNRs."""
    content = _content("by_acks", FEW_SNRS_DB, tuple(BY_ACKS.values()), 1, SEEDS)
    content["parameters"]["tcp.delayed_ack"] = {"label": "delayed_ack", "values": [ON, OFF]}
    return Part("by_acks", "NewReno and CUBIC with windows that grow by ACKs", content,
                len(BY_ACKS) * len(FEW_SNRS_DB) * 2 * 2 * SEEDS, _few(QUICK_SEEDS, (ASSUMPTION_SNR_DB,)))  # fmt: skip


def _assumptions() -> Part:
    """Return a group of sessions at one SNR. Each session changes one assumption."""
    content = _content("assumptions", (ASSUMPTION_SNR_DB,), ALGORITHMS[:2], 1, ASSUMPTION_SEEDS)
    content["parameters"]["tcp.delayed_ack"] = {"label": "delayed_ack", "values": [ON, OFF]}
    # One table varies the keys of all assumptions together, with one row per setting. Each row changes one assumption
    # and keeps the default values of all others.
    settings = [(each, value) for each in ASSUMPTIONS for value in each.others]
    # The scenario's name varies together with the other keys. The scenario's name becomes the column `name`, by which
    # figures identify the setting.
    together: dict[str, Any] = {"name": [setting(each, value) for each, value in settings]}
    for mine in ASSUMPTIONS:
        together[mine.key] = [value if each is mine else mine.default for each, value in settings]
    content["together"] = [together]
    runs = len(settings) * 2 * 2 * 2 * ASSUMPTION_SEEDS
    return Part("assumptions", "what hangs on what the study does not say", content, runs,
                lambda values, seed: seed == 1 and values["flows.0.congestion_control"] == "reno"
                and values["tcp.delayed_ack"] == OFF)  # fmt: skip


def _rto_floor() -> Part:
    """Return a group of sessions with resequencing, but without Linux's minimum of the RTO. The sessions show whether
    the RTO follows the variation of the RTT if no minimum limits the RTO."""
    content = _content("rto_floor", FEW_SNRS_DB, ALGORITHMS[:2], 1, SEEDS)
    content["set"] |= {"tcp.sysctl": RTO_FLOOR}
    content["parameters"] |= {
        "mobile.resequencing": {"label": "resequencing", "values": [True]},
        "tcp.delayed_ack": {"label": "delayed_ack", "values": [ON, OFF]},
    }
    return Part("rto_floor", "claim 4.11 with an RTO of SRTT and four times RTTVAR", content,
                2 * 2 * len(FEW_SNRS_DB) * SEEDS, _few(1, FEW_SNRS_DB))  # fmt: skip


def _capacity() -> Part:
    """Return a group of sessions. On the link, HARQ retransmissions reduce the capacity for new codewords."""
    content = _content("capacity", FEW_SNRS_DB, ALGORITHMS, 1, PROFILE_SEEDS)
    content["set"] |= {"mobile.retransmissions_take_capacity": True}
    content["parameters"]["tcp.delayed_ack"] = {"label": "delayed_ack", "values": [ON, OFF]}
    count = len(ALGORITHMS) * len(FEW_SNRS_DB) * 2 * 2 * PROFILE_SEEDS
    return Part("capacity", "the study's sessions where HARQ's retransmissions take capacity", content, count,
                _few(1, (FEW_SNRS_DB[0], FEW_SNRS_DB[-1])))  # fmt: skip


def _few(seeds: int, snrs_db: Sequence[float]) -> Callable[[Mapping[str, Any], int], bool]:
    """Return a filter that selects the runs of a quick reproduction: some SNRs and the first seeds."""
    wanted = {snr_text(snr_db) for snr_db in snrs_db}
    return lambda values, seed: seed <= seeds and values["mobile.snr"] in wanted


def _content(
    name: str, snrs_db: Sequence[float], algorithms: Sequence[str], first_seed: int, seeds: int
) -> dict[str, Any]:
    """Return the content of a study file with all combinations of algorithm, resequencing (on and off), SNR and seed.

    An algorithm whose window grows per ACK is a kernel module, which is compiled for the guest.
    """
    # The kernel modules are examples that are shipped with leowarp. leowarp compiles a module when a run needs it.
    modules = [str(example_file(f"{control}.c")) for control in algorithms if control in BY_ACKS.values()]
    return {
        "name": name,
        "scenario": SCENARIO,
        "set": {"guest.cc_modules": modules} if modules else {},
        "parameters": {
            "flows.0.congestion_control": {"label": "congestion_control", "values": list(algorithms)},
            "mobile.resequencing": {"label": "resequencing", "values": [False, True]},
            "mobile.snr": {"label": "snr", "values": [snr_text(snr_db) for snr_db in snrs_db]},
        },
        "seeds": {"first": first_seed, "count": seeds},
    }
