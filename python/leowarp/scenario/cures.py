# SPDX-License-Identifier: Apache-2.0
"""What the network does about route changes, besides obeying them (docs/concepts/cures.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leowarp import units
from leowarp.scenario.decoding import Section, value_of
from leowarp.scenario.key import flag, quantity, word
from leowarp.scenario.links import Ground, Isl, Network, Routing
from leowarp.scenario.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Cures:
    """What a node does when its entry for a host changes from one link to another, so that packets arrive in order.

    Attributes
    ----------
    move_queue : str
        ``off``; ``kept``: what waits at the link before goes over the new one; ``lost``: so too, but for what waits at
        a link that goes down.
    hold, hold_buffer_bytes, hold_full : bool, int, str
        New packets are held back until they would arrive behind the last of before; in frames with the link's
        overhead, for each direction of a link.
    resequence, resequence_delay_ns : str, int
        ``off``, ``flow`` or ``aggregate``: stations number packets and put them in order, in streams of one flow or of
        all between two hosts; a packet waits so long for those before it.
    """

    move_queue: str = word(
        "At a route change what waits at the abandoned link stays there (off), or the node forwards it anew, before "
        "anything newer: its queue is in the node's memory (kept), or lost with a link that goes down (lost).",
        ("off", "kept", "lost"),
        "off",
    )
    hold: bool = flag(
        "At a route change a node holds new packets back until those that left before, by the old way, will have "
        "arrived first: computed from the delays of both ways and its own queue.",
        False,
    )
    hold_buffer_bytes: int = quantity(
        units.BYTES, "hold: what may be held back at each direction of a link.", "2 MB", low="1600 B", high="1 GB"
    )
    hold_full: str = word(
        "hold: a full buffer refuses the packet that comes (drop), or sends its oldest before their time (send).",
        ("drop", "send"),
        "drop",
    )
    resequence: str = word(
        "The station that sends numbers packets, the one that receives puts them in order (RFC 9550): each flow by "
        "itself, or all from host to host.",
        ("off", "flow", "aggregate"),
        "off",
    )
    # TCP_RTO_MIN is 200 ms (include/net/tcp.h): who waits as long for a packet that is lost has its sender time out.
    resequence_delay_ns: int = quantity(
        units.TIME, "resequence: how long a packet waits for those before it, at most.", "50 ms", low="1 us",
        high="199 ms",
    )  # fmt: skip

    def idle(self) -> tuple[str, ...]:
        """Keys without effect beside the others."""
        held = () if self.hold else ("hold_buffer", "hold_full")
        return held if self.resequence != "off" else (*held, "resequence_delay")


def check_cures(tables: Mapping[str, Section], memory_bytes: int, problems: Problems) -> None:
    """What the cures ask of the rest of a scenario.

    Parameters
    ----------
    tables : dict of str to Section
        All sections, decoded and completed.
    memory_bytes : int
        The guest's.
    problems : Problems
        Gets each rule that is broken.
    """
    section = tables["cures"]
    moves = value_of(section, Cures, "move_queue") != "off"
    holds = value_of(section, Cures, "hold")
    for key in ("hold_buffer", "hold_full"):
        if section.gave(key) and not holds:
            problems.add(section.where(key), f"cures.{key}", "has no effect without hold", "write hold = true, too")
    orders = value_of(section, Cures, "resequence") != "off"
    if section.gave("resequence_delay") and not orders:
        hint = 'write resequence = "flow", too'
        problems.add(section.where("resequence_delay"), "cures.resequence_delay", "has no effect alone", hint)
    if orders:
        _check_stations(tables, problems)
    if moves or holds or orders:
        _check_links(tables, "hold" if holds else "move_queue" if moves else "resequence", problems)
    if not moves and not holds:
        return
    cure = "hold" if holds else "move_queue"
    in_flight = value_of(tables["routing"], Routing, "in_flight")
    if in_flight == "source":
        rule = 'cannot be with routing.in_flight = "source": packets keep the path that they left with'
        problems.add(section.where(cure), f"cures.{cure}", rule, 'write in_flight = "drain"')
    elif in_flight == "drop" and holds:
        rule = 'cannot be with routing.in_flight = "drop": what left by the old way is lost, and nothing is to wait for'
        problems.add(section.where("hold"), "cures.hold", rule, 'write in_flight = "drain", or take hold out')
    # Of a packet with few bytes the kernel's memory is twice to twelve times as much.
    buffer_bytes = value_of(section, Cures, "hold_buffer_bytes")
    if holds and buffer_bytes > memory_bytes // 4:
        rule = f"{units.BYTES.format(buffer_bytes)} is more than a quarter of the guest's memory"
        hint = f"at most {units.BYTES.format(memory_bytes // 4)}, or a larger guest.memory"
        problems.add(section.where("hold_buffer"), "cures.hold_buffer", rule, hint)


def _check_stations(tables: Mapping[str, Section], problems: Problems) -> None:
    """Stations number and order packets on links that take time."""
    origin = tables["cures"].where("resequence")
    if value_of(tables["network"], Network, "endpoints") == "satellites":
        rule = 'cannot be with network.endpoints = "satellites": ground links without delay and rate number nothing'
        problems.add(origin, "cures.resequence", rule, 'write endpoints = "stations"')
    ground = tables["ground"]
    if value_of(ground, Ground, "delay") == "zero" and value_of(ground, Ground, "rate_bps") is None:
        rule = 'cannot be with ground links of delay = "zero" and rate = "unshaped": nothing arrives over them'
        problems.add(origin, "cures.resequence", rule, "give them a rate or a delay")


def _check_links(tables: Mapping[str, Section], cure: str, problems: Problems) -> None:
    """A queue that can be read back is a FIFO of leolink, and its neighbours are known."""
    origin, key = tables["cures"].where(cure), f"cures.{cure}"
    network = tables["network"]
    if value_of(network, Network, "link_model") != "leolink":
        problems.add(origin, key, 'needs network.link_model = "leolink": netem gives nothing back', "take one out")
    if value_of(network, Network, "neighbours") != "static":
        problems.add(origin, key, 'needs network.neighbours = "static"', 'write neighbours = "static"')
    for name, schema in (("isl", Isl), ("ground", Ground)):
        discipline = value_of(tables[name], schema, "queue_discipline")
        if discipline != "fifo":
            rule = f'needs {name}.queue_discipline = "fifo": {discipline} has an order of its own'
            problems.add(origin, key, rule, f'write queue_discipline = "fifo" into [{name}]')
