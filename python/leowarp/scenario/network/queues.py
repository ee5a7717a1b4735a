# SPDX-License-Identifier: Apache-2.0
"""The queues before a link's serialiser: the keys of their sections, and the parameters of each queueing discipline
(Linux 6.12, net/sched). The module also has the rates of links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.scenario.text.decoding import Section, decode
from leowarp.scenario.text.key import Key, flag, quantity, queue, table, word
from leowarp.scenario.text.problems import Problems


def _time(doc: str, low: str = "1 us") -> Key:
    """Return the declaration of a parameter that is a time in ns. The agent converts it to us for the kernel."""
    return Key("quantity", doc, quantity=units.TIME, low=low, high="100 s")


def _size(doc: str, low: str, high: str = "4 GB") -> Key:
    """Return the declaration of a parameter in bytes."""
    return Key("quantity", doc, quantity=units.BYTES, low=low, high=high)


def _number(doc: str, low: int, high: int) -> Key:
    """Return the declaration of a parameter without a unit."""
    return Key("count", doc, low=low, high=high)


# A parameter that the scenario does not give is not sent to the kernel, so the kernel's default applies
# (docs/concepts/links.md, other queues).
_TARGET = _time("Target delay of the queue.")
# Names are those of tc(8), without units; `ce_threshold` marks packets by their delay alone, whatever the control law
# does.
_CODEL = {
    "target": _TARGET,
    "interval": _time("Time for which the delay must exceed `target` before the queue drops or marks packets."),
    "ce_threshold": _time("Delay above which the queue marks every packet that can be marked.", "0 s"),
}
_PIE = {
    "target": _TARGET,
    "tupdate": _time("Time between two computations of the drop probability.", "1 ms"),
    "alpha": _number("Weight of the delay's distance from `target`, in sixteenths.", 0, 32),
    "beta": _number("Weight of the delay's trend, in sixteenths.", 0, 32),
}
_FLOWS = {
    "flows": _number("Number of queues that flows are hashed into.", 1, 65536),
    "quantum": _size("Bytes that one of these queues may send before the next one sends.", "256 B", "1 MB"),
}
_MEMORY = {"memory_limit": _size("Largest memory that waiting packets may occupy.", "64 kB")}

PARAMETERS: Mapping[str, Mapping[str, Key]] = {
    "fifo": {},
    "codel": _CODEL,
    "fq_codel": _CODEL | _FLOWS | _MEMORY,
    "pie": _PIE,
    "fq_pie": _PIE | _FLOWS,
    "cake": {
        "rtt": _time("Round-trip time from which target and interval are computed."),
        "flow_mode": Key("word", "How it tells flows apart.", words=(
            "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate",
        )),
        "ack_filter": Key("word", "Whether the queue drops ACKs that a later ACK makes unnecessary.", words=(
            "no", "ack-filter", "ack-filter-aggressive",
        )),
    } | _MEMORY,
    "red": {
        "min": _size("Mean queue length below which no packet is dropped or marked.", "1 B", "1 GB"),
        "max": _size("Mean queue length from which all packets are dropped or marked.", "1 B", "1 GB"),
        "probability": Key("quantity", "Probability at `max`.", quantity=units.PROBABILITY, low="1 ppm", high="100 %"),
        "adaptive": Key("flag", "`probability` is adapted (Adaptive RED)."),
    },
}  # fmt: skip
"""The parameters of each queueing discipline, as a scenario writes them."""

DISCIPLINES = tuple(PARAMETERS)

MARKS_ALWAYS = ("cake",)
"""These disciplines mark every ECN-capable packet. They have no switch for ECN."""


@dataclass(frozen=True, kw_only=True)
class QueueKeys:
    """The keys of every section whose links have a queue.

    queue_pkts, queue_bytes: The limit of each direction, in packets or in bytes. A scenario sets at most one of these
        two limits. If neither `queue_pkts` nor `queue_bytes` is set, the queue is unlimited.
    queue_parameters: The parameters as integers, for example ``{"target_ns": 5000000}``. An integer is a number of ns,
        bytes or ppm, an index in a list of words, or 0 or 1 for a flag. If a parameter is missing, the kernel's default
        applies.
    """

    GOVERNS: ClassVar[Mapping[str, tuple[str, ...]]] = {"queue_discipline": ("queue_parameters",)}

    queue_pkts: int | None = queue(
        "Largest number of packets or bytes that wait in each direction of a link.", "500 pkts"
    )
    queue_bytes: int | None = None
    queue_discipline: str = word(
        "Queue in front of the serialiser of each direction: a plain queue, or one of the kernel's active queue "
        "management disciplines.",
        DISCIPLINES,
        "fifo",
    )
    ecn: bool = flag(
        "Whether the queue marks packets instead of dropping them, if they can be marked (cake always does).", False
    )
    queue_parameters: Mapping[str, int] = table(
        "Parameters of the discipline, by name (see below). A parameter that is not given has the kernel's default or "
        "follows from `queue`."
    )


@dataclass(frozen=True, kw_only=True)
class RateKeys(QueueKeys):
    """The scenario keys of a link whose rate is constant, and equal in both directions.

    Background traffic is modelled as a rate, without packets. It occupies its share of the link's serialiser
    continuously, like a fluid. To send a packet of length L, the link needs the time L / (rate - background). The
    background traffic fills no queue, loses no packets and does not react to congestion.
    """

    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    background_bps: int = quantity(
        units.RATE, "Capacity that traffic outside of the run takes from each link, in each direction. It is a rate "
        "without packets; the run's packets are sent at the remaining rate.",
        "0 bit/s", low="0 bit/s", high="1000 Gbit/s",
    )  # fmt: skip

    @property
    def left_bps(self) -> int | None:
        """The rate that remains for the run's packets. None means unshaped."""
        return None if self.rate_bps is None else self.rate_bps - self.background_bps


SMALLEST_LEFT_BPS = 8000
"""Background traffic must leave at least this rate, in bit/s. It is also the smallest rate of a link."""


def check_background(section: Section, problems: Problems) -> None:
    """Check that background traffic leaves some of a link's rate."""
    rate_bps, background_bps = section.value("rate_bps"), section.value("background_bps")
    if background_bps == 0:
        return
    load = units.RATE.format(background_bps)
    if rate_bps is None:
        hint = f'give it a rate: {section.name}.rate = "1 Gbit/s"'
        section.refuse(problems, "background", f"{load} of a link that is unshaped", hint)
    elif rate_bps - background_bps < SMALLEST_LEFT_BPS:
        rule = f"{load} of a link that carries {units.RATE.format(rate_bps)} leave nothing for the run's packets"
        section.refuse(problems, "background", rule, f"write less than {section.name}.rate, or a higher rate")


def complete_queue(section: Section, netem: bool, problems: Problems) -> None:
    """Replace the texts in a section's queue parameters by numbers.

    netem: Whether links use netem, which excludes all other queueing disciplines.
    """
    # If the discipline in the text is wrong, the parameters are checked as if they belonged to the default discipline.
    kind = section.value("queue_discipline")
    if netem and kind != "fifo":
        rule = f"netem has a plain queue of its own, not {kind}"
        section.refuse(problems, "queue_discipline", rule, 'write queue_discipline = "fifo", or link_model = "leolink"')
    _complete_ecn(section, kind, problems)
    node = section.nodes.get("queue_parameters")
    # Parameters that are not a table have been reported already.
    if node is None or "queue_parameters" not in section.values:
        return
    parameters = {}
    for name, child in node.value.items():
        key = f"{section.name}.queue_parameters.{name}"
        declared = PARAMETERS[kind].get(name)
        if declared is None:
            problems.add(child.origin, key, f"{kind} has no such parameter", _parameter_hint(name, kind))
            continue
        try:
            value = decode(child.value, declared, child.origin)
        except ScenarioError as error:
            problems.add(child.origin, key, error.message, error.hint)
            continue
        # A word becomes its index in the list. This index is the kernel's number for the word (CAKE_FLOW_*, CAKE_ACK_*,
        # include/uapi/linux/pkt_sched.h).
        parameters[name + declared.suffix] = declared.words.index(value) if declared.kind == "word" else int(value)
    section.values["queue_parameters"] = dict(sorted(parameters.items()))
    least, most = parameters.get("min_bytes"), parameters.get("max_bytes")
    if least is not None and most is not None and least >= most:
        rule = f"min ({units.BYTES.format(least)}) is not below max ({units.BYTES.format(most)})"
        problems.add(node.origin, f"{section.name}.queue_parameters", rule, "red drops more and more between the two")


def parameters_as_written(kind: str, parameters: Mapping[str, int]) -> dict[str, str | int | bool]:
    """Return a discipline's parameters as a scenario writes them.

    parameters: The parameters as in a plan. The keys are names with unit suffix.

    >>> parameters_as_written("fq_codel", {"target_ns": 5_000_000, "flows": 1024})
    {'flows': 1024, 'target': '5 ms'}
    """
    written: dict[str, str | int | bool] = {}
    for name, declared in PARAMETERS[kind].items():
        value = parameters.get(name + declared.suffix)
        if value is None:
            continue
        if declared.quantity is not None:
            written[name] = declared.quantity.format(value)
        elif declared.kind == "word":
            written[name] = declared.words[value]
        else:
            written[name] = bool(value) if declared.kind == "flag" else value
    return dict(sorted(written.items()))


def _complete_ecn(section: Section, kind: str, problems: Problems) -> None:
    """Decide whether the discipline marks packets. cake always does, and a fifo never does. For other disciplines, the
    key `ecn` decides."""
    marks = section.values.get("ecn")
    if kind in MARKS_ALWAYS:
        if marks is False:
            rule = f"is false, and {kind} marks whatever can be marked"
            section.refuse(problems, "ecn", rule, 'write ecn = true, or have hosts without it: [tcp] ecn = "off"')
        section.values["ecn"] = True
    elif kind == "fifo" and marks:
        rule = "a fifo marks nothing, it only drops"
        hint = 'write queue_discipline = "fq_codel" (or codel, pie, fq_pie, cake, red) too'
        section.refuse(problems, "ecn", rule, hint)


def _parameter_hint(name: str, kind: str) -> str:
    """Return a hint about an unknown parameter. The hint suggests the most similar name, and names the disciplines that
    have this parameter."""
    known = PARAMETERS[kind]
    if not known:
        return 'write queue_discipline = "fq_codel" too, or take the parameters out'
    others = [other for other, theirs in PARAMETERS.items() if name in theirs]
    elsewhere = f"{name} is one of {', '.join(others)}; " if others else ""
    return one_of(name, known, f"{elsewhere}{kind} has:")
