# SPDX-License-Identifier: Apache-2.0
"""The section `[mobile]`: the fading radio link from the last satellite to a moving terminal, repaired by hybrid ARQ.

The source of each value is in design/lms-harq.md, and the model in docs/concepts/mobile-channel.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from leowarp.base import units
from leowarp.scenario.media.constellation import FollowsConstellation
from leowarp.scenario.media.medium_section import Idle
from leowarp.scenario.network.links import (
    ACQUISITION_KEYS,
    GAP_KEYS,
    LARGEST_MTU_BYTES,
    SMALLEST_MTU_BYTES,
    UPDATE_KEYS,
    Station,
    latitude,
    longitude,
)
from leowarp.scenario.network.queues import QueueKeys
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import InputFile, count, file, flag, keys, overhead, quantity, queue, text, time, word
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Mobile(QueueKeys, FollowsConstellation):
    """A path from the host `server` over a satellite to the moving host `mobile`. The last hop of the path fades.

    speed_m_per_s, carrier_hz: The terminal's speed v and the carrier frequency, which determine the half width v /
        lambda of the Doppler spectrum. At 0 m/s, the fading does not change during the run.
    data_bits, codeword_bits: `data_bits` divided by `codeword_bits` is the mother code's rate.
    first_delay_ns, retransmission_delay_ns, retransmissions: A packet with n retransmissions takes `first_delay_ns` + n
        `retransmission_delay_ns`.
    """

    NAME: ClassVar = "mobile"
    STATIONS: ClassVar = ("mobile", "server")
    FOLLOWS: ClassVar = ("delays", "tauran-study")

    fading: bool = flag(
        "Whether the last hop fades. If false, it is in line of sight, and each packet is decoded at once if `snr` "
        "allows it.",
        True,
    )
    # Line of sight is the reference level of the fading, 0 dB. If your Es/N0 is per coded bit, add 3 dB (QPSK).
    snr_db: float = quantity(
        units.LEVEL, "Energy of a symbol over noise density (Es/N0) at line of sight.", "10 dB", low="-60 dB",
        high="60 dB",
    )  # fmt: skip
    environment: str = text("Surroundings of the terminal, by a name in the table.", "intermediate-tree-shadowed")
    elevation_deg: float = quantity(
        units.ANGLE, "Elevation of the satellite; the table has values for some angles only.", "40 deg", low="0 deg",
        high="90 deg",
    )  # fmt: skip
    environments: InputFile | None = file(  # noqa: RUF009
        "A table of environments of your own, TOML or JSON."
    )
    # Assumption: the terminal is a car on a road between trees. From 10 km/h on, losses hardly depend on speed. At
    # walking speed, all transmissions of a packet meet the same fade (design/lms-harq.md).
    speed_m_per_s: float = quantity(
        units.SPEED, "Speed of the terminal; 0 m/s: a frozen channel with one random value for the whole run.",
        "60 km/h", low="0 m/s",
        high="1000 km/h",
    )  # fmt: skip
    # The default lies in the band in which the tables of environments were measured.
    carrier_hz: float = quantity(units.FREQUENCY, "Of the radio link.", "2.2 GHz", low="100 MHz", high="1000 GHz")
    correlation_m: float | None = quantity(
        units.LENGTH, "Correlation distance of the direct signal.", "table", low="0.001 m", high="1000 km",
        none="table",
    )  # fmt: skip
    transition_m: float | None = quantity(
        units.LENGTH, "Length of the slope between two states.", "table", low="0 m", high="1000 km", none="table"
    )
    # The published share of a state is its share of the Markov chain's steps. It equals the state's share of the path
    # only if all steps have the same length. With a separate length per state, deep shadow would cover 19 % of the path
    # instead of 25 %.
    frames: str = word(
        "Step of the Markov chain of states: one length for all (common), or each state's shortest stay (by-state).",
        ("common", "by-state"),
        "common",
    )
    frame_m: float | None = quantity(
        units.LENGTH, "Length of the common step; it replaces the mean of the table's shortest stays.", "table",
        low="0.001 m", high="1000 km", none="table",
    )  # fmt: skip
    samples_per_wavelength: int = count("Samples of the fading per wavelength.", 16, 4, 1000)

    harq: str = word(
        "Bits that a retransmission sends: bits that were not sent before (incremental, type II), or the first bits "
        "again (chase, type I with combining).",
        ("incremental", "chase"),
        "incremental",
    )
    modulation: str = word("Of the radio link.", ("bpsk", "qpsk", "8psk", "16qam"), "qpsk")
    # The values are from tauran2018: a CCSDS turbo code, 53,520 bits for 8,920 of data, 40 Mbit/s without errors, at
    # most 3 retransmissions.
    data_bits: int = count("Data bits in a codeword, which is one IP packet: a multiple of 8.", 8920, 8, 1_000_000)
    codeword_bits: int = count(
        "Bits of the codeword that the mother code produces from the data.", 53520, 8, 10_000_000
    )
    rate_bps: int = quantity(
        units.RATE, "Data bits per second on the last hop while no codeword needs a retransmission.", "40 Mbit/s",
        low="10 kbit/s", high="10 Gbit/s",
    )  # fmt: skip
    retransmissions: int = count("Largest number of retransmissions of a codeword; then the packet is lost.", 3, 0, 255)
    # tauran2018 does not say whether retransmissions take capacity. The flows in tauran2018 stay far below 40 Mbit/s.
    retransmissions_take_capacity: bool = flag(
        "Whether retransmissions reduce the capacity of the last hop: `rate` times the share of first transmissions in "
        "all bits sent, in steps of 100 ms, as if every codeword were used.",
        False,
    )
    # The delays are from tauran2018, which states 10 ms without a retransmission and 70 ms with three retransmissions.
    # Delays in equal steps are our interpretation.
    first_delay_ns: int = time(
        "Time from the start of a transmission to its decoding, propagation included.", "10 ms", "10 s"
    )
    retransmission_delay_ns: int = time(
        "Time from the start of a transmission to the start of the next one.", "20 ms", "10 s"
    )
    threshold_kind: str = word(
        "Condition for decoding: a fixed multiple of the data bits, or a multiple that depends on the code rate of the "
        "bits sent so far.",
        ("constant", "by-rate"),
        "constant",
    )
    # The threshold comes from a Monte Carlo simulation of the study's turbo code at low rates. Half of the codewords
    # decode at 1.13 to 1.14 bits of mutual information per data bit, and 90 % at 1.16 to 1.17.
    threshold_ratio: float = quantity(
        units.RATIO,
        "Mutual information that decoding needs, divided by the data bits.",
        "115 %",
        low="100 %",
        high="1000 %",
    )
    # The rule `received` follows the authors' abstracts (arXiv 1411.3625, 1501.01471). At 13 dB, the values of `rule`
    # give numbers of losses that differ by a factor of ten (design/lms-harq.md).
    rule: str = word(
        "Number of bits of a retransmission: the bits that are missing at the power just received; at the power that "
        "follows such a power with probability `target` (predicted); or at the power at any time (statistics); or "
        "equal parts of the codeword.",
        ("received", "predicted", "statistics", "equal"),
        "received",
    )
    # When the sender sizes the first transmission, it does not know the channel. A target of one half is a compromise
    # between short delays and few symbols.
    first_target_ratio: float = quantity(
        units.RATIO, "Probability of decoding that determines the size of the first transmission.", "50 %", low="0.1 %",
        high="99.9 %",
    )  # fmt: skip
    target_ratio: float = quantity(
        units.RATIO, "Probability of decoding that determines the size of later transmissions, with the rules "
        "predicted and statistics.", "50 %", low="0.1 %",
        high="99.9 %",
    )  # fmt: skip
    # A packet that cannot be decoded after the last transmission is lost. Saving bits in the last transmission would
    # therefore have no benefit.
    last_sends_rest: bool = flag("Whether the last transmission sends all remaining bits of the codeword.", True)
    first_bits: int | None = count(
        "Bits of the first transmission; rule: by `first_target`, or an equal part.", "rule", 8, 10_000_000, none="rule"
    )

    resequencing: bool = flag(
        "Whether the link delivers packets in the order in which it sent them. A lost packet delays the packets behind "
        "it until the link gives it up.",
        True,
    )
    return_delay_ns: int = time(
        "One-way delay from the terminal to the satellite; this direction loses no packets.", "10 ms", "10 s"
    )
    return_rate_bps: int | None = quantity(
        units.RATE, "Rate from the terminal to the satellite.", "none", low="10 kbit/s", high="10 Gbit/s", none="none"
    )
    delays: str = word(
        "Source of the delay between server and last satellite: `forward_delay`, or the routes over the scenario's "
        "[constellation].",
        ("constant", "constellation"),
        "constant",
    )
    forward_delay_ns: int = time(
        'delays = "constant": one-way delay between server and last satellite, in each direction.', "80 ms", "10 s"
    )
    last_satellite: str = word(
        'delays = "constellation": choice of the last satellite among those that the terminal sees. kept: the current '
        "one until the terminal no longer sees it, then the highest; highest: always the highest; shortest: the one on "
        "the shortest route.",
        ("kept", "highest", "shortest"),
        "kept",
    )
    # By default, the gateway is in Frankfurt and the terminal is in Lima. All pairs from six cities of the gazetteer
    # were compared. This pair's delay is nearest to the 70 to 90 ms of tauran2018.
    gateway_latitude_deg: float = latitude(
        'delays = "constellation": position of the gateway, which is next to the server.', "50.11 deg"
    )
    gateway_longitude_deg: float = longitude("The same: its longitude.", "8.68 deg")
    terminal_latitude_deg: float = latitude(
        'delays = "constellation": position of the terminal; routes treat it as fixed.', "-12.05 deg"
    )
    terminal_longitude_deg: float = longitude("The same: its longitude.", "-77.04 deg")
    queue_pkts: int | None = queue("Largest number of packets that wait in each direction of the last hop.", "500 pkts")
    queue_bytes: int | None = None
    # A codeword carries one IP packet and nothing else.
    overhead_bytes: int = overhead("the last hop", default="0 B")

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        """Return the keys without effect. A channel may be over a constellation, whose links are not built. The keys of
        these links, for example rate and queue, then have no effect."""
        routed: Idle = {
            "isl": ("rate", "overhead", "loss", *ACQUISITION_KEYS, *keys(QueueKeys)),
            "ground": ("rate", "overhead", "loss", *GAP_KEYS, *keys(QueueKeys)),
            "routing": ("in_flight", "leaving_links", "reverse", "update", *UPDATE_KEYS),
        }
        return {**super().idle(follows=follows), **(routed if follows else {})}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Check keys against each other."""
        data, code = (section.value(name) for name in ("data_bits", "codeword_bits"))
        # A codeword carries one IP packet, which consists of whole bytes.
        if data % 8:
            section.refuse(problems, "data_bits", f"{data} is no multiple of 8", "write 8920")
        if data > code:
            rule = f"{data} is more than the codeword has ({code})"
            section.refuse(problems, "data_bits", rule, "write codeword_bits too")
        first = section.value("first_bits")
        # A transmitted bit carries at most one bit of information. A first transmission with fewer bits than the data
        # can therefore never be decoded.
        if first is not None and not data <= first <= code:
            rule = f"{first} is not between data_bits ({data}) and codeword_bits ({code})"
            section.refuse(problems, "first_bits", rule, 'write first_bits = "rule"')
        if section.value("frame_m") is not None and section.value("frames") != "common":
            section.refuse(problems, "frame", 'has no effect with frames = "by-state"', "take one out")
        driven = section.value("delays") == "constellation"
        for key in ("forward_delay",) if driven else _GEOMETRY:
            attribute, _ = keys(Mobile)[key]
            if section.value(attribute) != getattr(Mobile, attribute):
                rule = f'has no effect with delays = "{"constellation" if driven else "constant"}"'
                section.refuse(problems, key, rule, "take it out")
        # If packets may overtake, leolink can hold at most LEOLINK_WAITING_MAX = 65,536 waiting packets
        # (guest/links/leolink.h). With overtaking, the queue therefore needs a limit in packets. This limit may be at
        # most 65,536.
        in_packets = section.values.get("queue_pkts", Mobile.queue_pkts)
        if not section.value("resequencing") and (in_packets is None or in_packets > _OVERTAKING_QUEUE_PKTS):
            rule = "where packets overtake each other the queue has a limit in packets"
            section.refuse(problems, "queue", rule, f'write queue = "500 pkts", at most {_OVERTAKING_QUEUE_PKTS}')

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Return the default MTU, with which a packet fills a codeword. For a channel over a constellation, the result
        also contains `ROUTED_DEFAULTS`."""
        # Length of the packet that fills a codeword's data bits, within the limits of the key `mtu`.
        packet_bytes = sections["mobile"].value("data_bits") // 8
        mtu_bytes = min(max(packet_bytes, SMALLEST_MTU_BYTES), LARGEST_MTU_BYTES)
        defaults: dict[str, Mapping[str, object]] = {"network": {"mtu": f"{mtu_bytes} B"}}
        sky = sections.get("constellation")
        if sky is None:
            return defaults
        # Links between satellites are left out for a file of elements, because its satellites may be unevenly spaced
        # and then form no grid.
        without = ("isl",) if sky.values.get("tle") is not None else ()
        return defaults | {name: texts for name, texts in ROUTED_DEFAULTS.items() if name not in without}

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Return the terminal and the gateway, under the names of the medium's stations. Routes are computed for a
        terminal that does not move, whatever `speed_m_per_s` is."""
        return tuple(self.place(key, name) for key, name in zip(("terminal", "gateway"), self.STATIONS, strict=True))


ROUTED_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "isl": {"rule": "plus-grid", "seam": False, "polar_cutoff": "60 deg"},
    "ground": {"rule": "min-elevation", "min_elevation": "8.2 deg"},
    "routing": {"interval": "10 s", "link_interval": "1 s"},
}
"""The defaults of other sections for a channel whose delays come from routes. `tauran2018` used ns-2. The links, the
elevation mask and the update interval are therefore from ns-2's model of Iridium (tcl/ex/sat-iridium.tcl). The
satellites move, so the delays also change between two route updates, in steps of some 30 us."""

_GEOMETRY = ("last_satellite", "gateway_latitude", "gateway_longitude", "terminal_latitude", "terminal_longitude")

_OVERTAKING_QUEUE_PKTS = 65_536
"""At most this number of packets wait at a link that does not keep their order (design/interfaces.md, section 13)."""
