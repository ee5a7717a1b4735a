# SPDX-License-Identifier: Apache-2.0
"""The actions of the network at route changes, in addition to the change itself (docs/concepts/cures.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leowarp.base import units
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import flag, quantity, share, word
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Cures:
    """When a node's route to a host changes to another link, packets may be reordered. These keys select what nodes do
    against this reordering.

    hold_buffer_bytes: The size in bytes of frames, including the link's overhead.
    """

    move_queue: str = word(
        "Packets that wait at the abandoned link at a route change: they stay there (off), or the node forwards them "
        "over the new link before newer packets. kept: the queue is in the node's memory; lost: the queue is lost with "
        "a link that goes down.",
        ("off", "kept", "lost"),
        "off",
    )
    hold: bool = flag(
        "At a route change a node delays new packets until the packets that it sent by the old path will have arrived. "
        "The time is computed from the delays of both paths and from the node's queue.",
        False,
    )
    hold_buffer_bytes: int = quantity(
        units.BYTES, "hold, end_marker: size of the hold buffer of each link direction.", "2 MB", low="1600 B",
        high="1 GB",
    )  # fmt: skip
    hold_full: str = word(
        "hold, end_marker: a full buffer drops the packet that arrives (drop), or sends its oldest one early (send).",
        ("drop", "send"),
        "drop",
    )
    end_marker: bool = flag(
        "At a route change a node sends a marker as the last packet over the old link. The node where the paths meet "
        "delays packets of the new path until the marker arrives.",
        False,
    )
    end_marker_wait_ns: int = quantity(
        units.TIME, "end_marker: longest time that a packet waits for the marker.", "100 ms", low="1 us", high="199 ms"
    )
    duplicate_ns: int | None = quantity(
        units.TIME,
        "Time after a route change during which a node sends packets over the new link and copies of them over the old "
        "one. The receiving station accepts the first of each two.",
        "off", low="1 ms", high="10 s", none="off",
    )  # fmt: skip
    resequence: str = word(
        "The sending station numbers packets, and the receiving one puts them in order (RFC 9550): each flow by "
        "itself, or all packets between two hosts.",
        ("off", "flow", "aggregate"),
        "off",
    )
    resequence_kind: str = word(
        "resequence: whether an early packet always waits for its turn (basic), or only if it came by the new path of "
        "a recent route change (advanced).",
        ("basic", "advanced"),
        "basic",
    )
    # TCP_RTO_MIN is 200 ms (include/net/tcp.h). If a station waited 200 ms for a lost packet, the sender would time
    # out. The default must therefore be shorter.
    resequence_delay_ns: int = quantity(
        units.TIME, "resequence: longest time that a packet waits for earlier ones.", "50 ms", low="1 us",
        high="199 ms",
    )  # fmt: skip
    notify: bool = flag(
        "At a route change the node sends a notice (ICMP) to each host whose packets now take another path. It "
        "contains the delays of both paths and the time for which packets may arrive late.",
        False,
    )
    notify_delay_ns: int = quantity(
        units.TIME, "notify: delay from the change to the departure of notices. A negative delay sends them before the "
        "change, which is known because the constellation's motion is computed.",
        "0 s", low="-10 s", high="10 s",
    )  # fmt: skip
    notify_loss_ratio: float = share("notify: share of notices that are lost, in addition to losses on links.", "0 %")
    notify_false_interval_ns: int | None = quantity(
        units.TIME, "notify: mean time between false notices to a host, at random instants.", "never", low="1 ms",
        high="1 d", none="never",
    )  # fmt: skip

    def on(self) -> dict[str, bool]:
        """Return whether each cure is on, by its key. The order matters, because a message names the first cure that is
        on. Cures with more requirements come first."""
        return {
            "hold": self.hold,
            "end_marker": self.end_marker,
            "duplicate": self.duplicate_ns is not None,
            "move_queue": self.move_queue != "off",
            "resequence": self.resequence != "off",
            "notify": self.notify,
        }

    def idle(self) -> tuple[str, ...]:
        """Return the keys that have no effect because all cures that use them are off."""
        on = self.on()
        return tuple(key for keys, cures in _NEEDS if not any(on[cure] for cure in cures) for key in keys)


RTO_MIN = "net.ipv4.tcp_rto_min_us"
"""The sysctl of a host's minimum retransmission timeout. Unset, the timeout is 200 ms."""

# The keys in the first tuple have an effect only if one of the cures in the second tuple is on.
_NEEDS = (
    (("hold_buffer", "hold_full"), ("hold", "end_marker")),
    (("end_marker_wait",), ("end_marker",)),
    (("resequence_kind", "resequence_delay"), ("resequence",)),
    (("notify_delay", "notify_loss", "notify_false_interval"), ("notify",)),
)
# For each cure, the TOML text that switches it on. Hints quote this text.
_WRITTEN = {
    "hold": "hold = true",
    "end_marker": "end_marker = true",
    "resequence": 'resequence = "flow"',
    "notify": "notify = true",
}

# Pairs of cures that cannot be combined, with the reason.
_APART = (
    ("duplicate", "move_queue", "what was moved off the old link would be copied back to it"),
    ("duplicate", "hold", "copies go by the old path at once, and what is held back comes later than they do"),
    ("duplicate", "end_marker", "copies go over the old link behind the marker, which is to be the last"),
    ("resequence", "end_marker", "both put in order what the paths mix, and the second finds nothing to do"),
)


def is_any_on(section: Section) -> bool:
    """Return whether ``[cures]`` switches any cure on."""
    return any(Cures(**section.values).on().values())


def check_cures(tables: Mapping[str, Section], problems: Problems) -> None:
    """Check that the rest of a scenario fulfils the requirements of the cures."""
    section = tables["cures"]
    on = Cures(**section.values).on()
    for keys, cures in _NEEDS:
        if any(on[cure] for cure in cures):
            continue
        rule = f"has no effect without {' or '.join(cures)}"
        hint = f"write {' or '.join(_WRITTEN[cure] for cure in cures)}, too"
        for key in filter(section.gave, keys):
            section.refuse(problems, key, rule, hint)
    for one, other, why in _APART:
        if on[one] and on[other]:
            section.refuse(problems, one, f"cannot be with {other}: {why}", "take one of them out")
    first = next((cure for cure, is_on in on.items() if is_on), None)
    if first is None:
        return
    _check_links(tables, first, problems)
    if on["resequence"] or on["duplicate"]:
        _check_stations(tables, "resequence" if on["resequence"] else "duplicate", problems)
    _check_in_flight(tables, on, problems)
    if on["notify"]:
        _check_lead(tables, problems)
    # The kernel's memory for a small packet is two to twelve times as large as the packet.
    buffer_bytes, memory_bytes = section.value("hold_buffer_bytes"), tables["guest"].value("memory_bytes")
    if (on["hold"] or on["end_marker"]) and buffer_bytes > memory_bytes // 4:
        rule = f"{units.BYTES.format(buffer_bytes)} is more than a quarter of the guest's memory"
        hint = f"at most {units.BYTES.format(memory_bytes // 4)}, or a larger guest.memory"
        section.refuse(problems, "hold_buffer", rule, hint)


def check_waits(section: Section, hosts: Iterable[Section], problems: Problems) -> None:
    """Check that the network delays every packet by less than each host's minimum retransmission timeout. The check
    applies if a sysctl sets this timeout.

    hosts: The section `[tcp]`, and the sections of single hosts that override it.
    """
    on = Cures(**section.values).on()
    least_us = [str(host.values.get("sysctl", {}).get(RTO_MIN)) for host in hosts]
    # A value that is not a number is ignored here, because Linux rejects it when the run begins.
    least_ns = min((1000 * int(text) for text in least_us if text.isdecimal()), default=None)
    if least_ns is None:
        return
    for cure, key in (("resequence", "resequence_delay"), ("end_marker", "end_marker_wait")):
        wait_ns = section.value(f"{key}_ns")
        if on[cure] and wait_ns >= least_ns:
            rule = f"{units.TIME.format(wait_ns)} is not below the least retransmission timeout of a host, "
            rule += f"{units.TIME.format(least_ns)} ({RTO_MIN}): its sender would time out meanwhile"
            section.refuse(problems, key, rule, "write a shorter one, or a longer timeout")


def _check_in_flight(tables: Mapping[str, Section], on: Mapping[str, bool], problems: Problems) -> None:
    """Check that all nodes switch at the same time. Also check that packets on the old path do not stay on it
    (`source`) and are not dropped."""
    section = tables["cures"]
    in_flight = tables["routing"].value("in_flight")
    lost = {
        "hold": "nothing is to wait for",
        "end_marker": "the marker would be too",
        "duplicate": "copies would be too",
    }
    kind = section.value("resequence_kind") if on["resequence"] else "basic"
    if tables["routing"].value("update") != "atomic":
        cure = next(cure for cure, is_on in on.items() if is_on)
        rule = 'cannot be with routing.update = "staggered": cures reckon with nodes that all switch at once'
        section.refuse(problems, cure, rule, 'write update = "atomic"')
    for cure, is_on in on.items():
        if is_on and in_flight == "source" and (cure != "resequence" or kind == "advanced"):
            key = "resequence_kind" if cure == "resequence" else cure
            rule = 'cannot be with routing.in_flight = "source": packets keep the path that they left with'
            section.refuse(problems, key, rule, 'write in_flight = "drain"')
            return
        if is_on and in_flight == "drop" and cure in lost:
            rule = f'cannot be with routing.in_flight = "drop": what left by the old path is lost, and {lost[cure]}'
            section.refuse(problems, cure, rule, f'write in_flight = "drain", or take {cure} out')
            return


def _check_lead(tables: Mapping[str, Section], problems: Problems) -> None:
    """Check that an early notice comes less than a route interval before its route change."""
    section = tables["cures"]
    lead_ns = -section.value("notify_delay_ns")
    interval_ns = tables["routing"].value("interval_ns")
    if lead_ns >= interval_ns:
        rule = f"{units.TIME.format(lead_ns)} before a change is not within the route interval before it, "
        rule += units.TIME.format(interval_ns)
        section.refuse(problems, "notify_delay", rule, "write a shorter lead than routing.interval")


def _check_stations(tables: Mapping[str, Section], cure: str, problems: Problems) -> None:
    """Check that ground links have a delay or a rate, if stations restore the order of packets."""
    cures = tables["cures"]
    if tables["network"].value("endpoints") == "satellites":
        rule = 'cannot be with network.endpoints = "satellites": ground links without delay and rate number nothing'
        cures.refuse(problems, cure, rule, 'write endpoints = "stations"')
    ground = tables["ground"]
    if ground.value("delay") == "zero" and ground.value("rate_bps") is None:
        rule = 'cannot be with ground links of delay = "zero" and rate = "unshaped": nothing arrives over them'
        cures.refuse(problems, cure, rule, "give them a rate or a delay")


def _check_links(tables: Mapping[str, Section], cure: str, problems: Problems) -> None:
    """Check that the links allow a cure to move packets out of a queue. This needs leolink, a FIFO and static
    neighbours."""
    cures, network = tables["cures"], tables["network"]
    if network.value("link_model") != "leolink":
        cures.refuse(problems, cure, 'needs network.link_model = "leolink": netem gives nothing back', "take one out")
    if network.value("neighbours") != "static":
        cures.refuse(problems, cure, 'needs network.neighbours = "static"', 'write neighbours = "static"')
    for name in ("isl", "ground"):
        discipline = tables[name].value("queue_discipline")
        if discipline != "fifo":
            rule = f'needs {name}.queue_discipline = "fifo": {discipline} has an order of its own'
            cures.refuse(problems, cure, rule, f'write queue_discipline = "fifo" into [{name}]')
