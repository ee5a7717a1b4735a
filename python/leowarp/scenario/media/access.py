# SPDX-License-Identifier: Apache-2.0
"""The section `[access]`, which describes a terminal's link to a satellite network with a profile.

A key without a direction applies to the downlink (gateway to terminal) or to both directions. A key that ends in `_up`
applies to the uplink. The name of each value's source is beside the value. docs/guides/access-links.md describes the
sources in full.
*Study*: G. Huston, A transport protocol's view of Starlink, APNIC, 17 May 2024. *LeoCC*: the example of
SpaceNetLab/LeoCC at 867e673.
*LENS*: the pings of clarkzjw/LEONetEM at 780a063. *Calibrated*: chosen so that the profile's statistics match the
published ones (design/starlink-profile.md). *Assumption*: no source gives this value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from leowarp.base import units
from leowarp.scenario.media.access_rules import ORDERED, check_base, check_quantiles, keys_without_effect
from leowarp.scenario.media.constellation import FollowsConstellation
from leowarp.scenario.names.presets import Preset
from leowarp.scenario.network.links import Station, latitude, longitude
from leowarp.scenario.network.queues import QueueKeys
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import count, instant, keys, names, overhead, quantity, queue, share, text, time, word
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Access(QueueKeys, FollowsConstellation):
    """A model of a satellite network's access link, between the hosts `dish` and `server`.

    The profile reproduces published statistics. It does not model the radio. Capacity, delay and loss do not depend on
    each other. Only reconfigurations affect capacity, delay and loss together (docs/limitations.md, access links).
    """

    NAME: ClassVar = "access"
    STATIONS: ClassVar = ("dish", "server")
    FOLLOWS: ClassVar = ("geometry", "starlink-shell1")
    GOVERNS: ClassVar = {**QueueKeys.GOVERNS, "preset": ("residual_loss", "residual_loss_up", "preset_file")}

    profile: str = word(
        "Satellite network whose access links are modelled. oneweb fills the keys that are not given with other values "
        "than the defaults below.",
        ("starlink", "oneweb"), "starlink",
    )  # fmt: skip
    preset: str = word(
        "Hour of the day; it fills the keys that are not given. A name that ends in .toml is a file of your own, as "
        "`leowarp fit` writes it; the keys of its `[access]` are filled in.",
        ("peak", "off-peak"),
        "peak",
    )
    preset_file: str | None = text(
        "The file that `preset` named, and its sha256. Plans record it; it changes nothing.", "none"
    )
    geometry: str = word(
        "Source of the delays: the profile alone, or the profile and the scenario's [constellation].",
        ("profile", "constellation"),
        "profile",
    )
    clock: str = instant("Wall-clock time at which the run's clock is 0.", "2024-05-17T12:00:00Z")
    # The default of 15 s is from the study. The seconds 12, 27, 42 and 57 of the minute are from Pan and others' public
    # documentation of the schedule, confirmed in LENS.
    period_ns: int = quantity(units.TIME, "Time between two reconfigurations.", "15 s", low="1 s", high="1 h")
    phase_ns: int = time(
        "Time of a reconfiguration, counted from 0:00 of the wall clock; the others lie whole `period`s before and "
        "after.", "12 s", "1 h",
    )  # fmt: skip
    # The study pinged the first hop behind the ground station, so there is no further delay to a server.
    server_delay_ns: int = time(
        "One-way delay between gateway and server, in addition to all other delays.", "0 s", "10 s"
    )

    # The limits of a slot's RTT are read off figure 3 of the study: the smallest and the largest minimum RTT.
    base_rtt_min_ns: int = time("Smallest RTT that a slot can have, without jitter and waiting.", "20 ms", "10 s")
    base_rtt_max_ns: int = time("Largest RTT that a slot can have, without jitter and waiting.", "35 ms", "10 s")
    # The minimum is an assumption. The study says that the RTT "changes regularly", by several ms. The bases of two
    # successive slots must therefore differ.
    base_step_min_ns: int = time("Smallest difference between the RTTs of two successive slots.", "3 ms", "1 s")

    # The quantiles have no default, because only a range was published. In recordings of dishes, base round trips are
    # skewed (docs/validation.md).
    base_rtts: tuple[str, ...] = names(
        "Quantiles of the slots' RTTs, without jitter and waiting, evenly spaced from the smallest to the largest. "
        '`["20 ms", "22 ms", "35 ms"]` has its median at 22 ms. They replace `base_rtt_min`, `base_rtt_max` and '
        "`base_step_min`."
    )
    base_kept_ratio: float = quantity(
        units.RATIO, "Probability that the RTT of a slot stays the same after a reconfiguration.", "0 %", low="0 %",
        high="99 %",
    )  # fmt: skip

    # The study gives the number of frames per second.
    frames_per_s: int = count(
        "Frames of the radio link per second; jitter changes only at frame boundaries.", 750, 1, 10_000
    )
    # If the delay had a sawtooth within each frame, the mean difference of RTTs would change by only 0.4 %. A sawtooth
    # would give the delay table 15 to 118 times as many rows (design/starlink-profile.md, the model of a frame).
    frame_steps: int = count(
        "Number of steps in which the waiting time for the next frame falls within a frame; 0: always half a frame.",
        0,
        0,
        16,
    )
    # LeoCC measured a mean of 2.2 ms and a standard deviation of 1.2 ms above each slot's minimum delay. The
    # correlation is 0.70 after 10 ms, 0.46 after 20 ms and 0.34 after 30 ms. Steps of 28 ms match these values.
    jitter_ns: int = time(
        "Mean delay above the base on the downlink (Erlang distribution of order 3).", "2.2 ms", "1 s"
    )
    jitter_step_ns: int = quantity(
        units.TIME, "Mean duration of one value of `jitter` (geometric distribution, whole frames).",
        "28 ms", low="1 ms",
        high="10 s",
    )  # fmt: skip
    # The default is calibrated. With the default, RTTs measured 10 ms apart differ by 6.3 ms on average, and RTTs
    # measured one round trip apart by 7.2 ms. With any step from 3 to 9 ms, both mean differences are within 15 % of
    # the study's 6.7 ms.
    jitter_up_ns: int = time(
        "Mean delay above the base on the uplink: waiting for a grant (uniform from 0).", "10.5 ms", "1 s"
    )
    jitter_up_step_ns: int = quantity(
        units.TIME, "Mean duration of one value of `jitter_up` (uniform from half of it to one and a half, whole "
        "frames).",
        "6 ms", low="1 ms", high="10 s",
    )  # fmt: skip

    # The default is "uniform", which matches the differences of successive pings in the study. In recordings of dishes,
    # the distribution of jitter has a longer tail (docs/validation.md).
    jitter_up_shape: str = word(
        "Distribution of `jitter_up`: uniform from 0 to twice the mean, or exponential and so without an upper bound.",
        ("uniform", "exponential"),
        "uniform",
    )  # fmt: skip
    # The default is 0 %, because the study gives one distribution for all slots. In recordings of five dishes, this
    # standard deviation is 32 to 65 % (docs/validation.md).
    jitter_spread_ratio: float = share(
        "Variation of both directions' jitter from slot to slot: standard deviation of the logarithm of "
        "its mean, cut at two standard deviations.",
        "0 %",
    )

    # The default is "hold". A probe that is sent at the beginning of a hold waits until the hold ends. This wait alone
    # explains the published rise of RTTs. If RTTs had a spike of 30 to 50 ms in addition to the hold, they would rise
    # by 70 to 90 ms.
    handover: str = word(
        "Effect of a reconfiguration: hold: packets wait and none is sent; spike: packets are sent with an additional "
        "delay that decreases to 0.",
        ("hold", "spike"),
        "hold",
    )
    # The study says 35 to 50 ms in its comments.
    handover_min_ns: int = time("Shortest duration of that effect.", "35 ms", "1 s")
    handover_max_ns: int = time("Longest duration of that effect (uniform between the two).", "50 ms", "1 s")
    # The profile's study says "an additional 30 ms to 50 ms".
    spike_min_ns: int = time(
        'handover = "spike": smallest additional delay at the start of the reconfiguration.', "30 ms", "1 s"
    )
    spike_max_ns: int = time(
        'handover = "spike": largest additional delay at the start of the reconfiguration (uniform between the two).',
        "50 ms",
        "1 s",
    )

    # This default was calibrated together with the other defaults for outages. With the calibrated values, 1.5 % of
    # pings sent once per second are lost (the study: 1 to 2 %). In a flood of pings, 15 in a row are lost on average
    # (LENS: 17).
    outage_share_ratio: float = share("Share of the reconfigurations near which packets are lost in an outage.", "70 %")
    outage_again_ratio: float = quantity(
        units.RATIO, "Probability that one more outage follows near the same reconfiguration.", "50 %",
        low="0 %", high="95 %",
    )  # fmt: skip
    outage_min_ns: int = quantity(
        units.TIME, "Shortest outage. During an outage all packets whose transmission starts are lost, in both "
        "directions.", "5 ms", low="1 us",
        high="10 s",
    )  # fmt: skip
    outage_max_ns: int = quantity(
        units.TIME, "Longest outage (the logarithm is uniform between the two).", "800 ms", low="1 us", high="10 s"
    )
    # LENS: 327 of 337 lost pings lie within 1 s of a reconfiguration.
    outage_reach_ns: int = quantity(
        units.TIME, "Largest distance of an outage from its reconfiguration, before or after it.", "1 s", low="1 ms",
        high="10 s",
    )  # fmt: skip
    # By default, stalls are off (0 s), because no article about Starlink reports stalls. OneWeb's recording has 2.4
    # stalls of 41 ms per second (docs/guides/access-links.md, the profile oneweb).
    stall_every_ns: int = time(
        "Mean time between stalls. In a stall the packets of one random direction wait, as with handover = "
        '"hold"; 0 s: no stalls.', "0 s", "1 h",
    )  # fmt: skip
    stalls: tuple[str, ...] = names(
        "Quantiles of the durations of stalls, evenly spaced from the shortest to the longest."
    )
    # The residual loss ratio is None until the preset sets it.
    residual_loss_ratio: float | None = share(
        "Share of all other packets that are lost at random on the downlink.", None
    )
    residual_loss_up_ratio: float | None = share(
        "Share of all other packets that are lost at random on the uplink.", None
    )
    # The default is 0 s, because no article gives the length of a burst. TCP's throughput depends on the length of a
    # burst (docs/validation.md).
    loss_burst_ns: int = time(
        "Duration of one burst of residual loss; all packets sent during it are lost. 0 s: packets are lost one at a "
        "time.", "0 s", "1 s",
    )  # fmt: skip

    # The study says "some 250 Mbps".
    capacity_bps: int | None = quantity(
        units.RATE, "Median capacity of the downlink; schedule: sampled by the hour of `clock` and the seed.",
        "250 Mbit/s",
        low="100 kbit/s", high="100 Gbit/s", none="schedule",
    )  # fmt: skip
    # The uplink's median capacity is read off figure 2 of the study.
    capacity_up_bps: int | None = quantity(
        units.RATE, "Median capacity of the uplink; schedule: sampled as for the downlink.",
        "15 Mbit/s", low="100 kbit/s", high="100 Gbit/s",
        none="schedule",
    )  # fmt: skip
    # LeoCC: the mean capacity of a slot varies by 19 % between slots.
    capacity_spread_ratio: float = share(
        "Variation of capacity from slot to slot: standard deviation of its logarithm, cut at two standard deviations.",
        "20 %",
    )
    # According to LeoCC, the capacity within a slot, averaged over 100 ms, varies by 15 %. After 100 ms, about half of
    # the variance of capacity has decayed. The cause is scheduling, which is jitter in this profile. After 500 ms, a
    # tenth of the variance of a slot's capacity remains. How the remaining variance is divided between wander and
    # modulation is an assumption.
    wander_ratio: float = share("Variation of capacity within a slot: standard deviation of its logarithm.", "8 %")
    wander_time_ns: int = quantity(
        units.TIME, "Time after which the autocorrelation of `capacity_wander` is 1/e.", "5 s", low="100 ms", high="1 h"
    )
    modulation_ratio: float = quantity(
        units.RATIO, "Relative step between three modulations: capacity is this much higher, unchanged, or this much "
        "lower.", "12 %",
        low="0 %", high="90 %",
    )  # fmt: skip
    modulation_time_ns: int = quantity(
        units.TIME, "Mean duration of one modulation (exponential).", "500 ms", low="10 ms", high="1 h"
    )

    # The values are the minimum, median and maximum of speed tests every four hours, August 2023 to March 2024, from
    # the study's figure 2 and text.
    schedule_min_bps: int = quantity(
        units.RATE, 'capacity = "schedule": smallest downlink rate of the tests of some months.', "10 Mbit/s",
        low="100 kbit/s", high="100 Gbit/s",
    )  # fmt: skip
    schedule_median_bps: int = quantity(
        units.RATE,
        'capacity = "schedule": median downlink rate of these tests.',
        "120 Mbit/s",
        low="100 kbit/s",
        high="100 Gbit/s",
    )
    schedule_max_bps: int = quantity(
        units.RATE, "The same: the largest.", "370 Mbit/s", low="100 kbit/s", high="100 Gbit/s"
    )
    schedule_up_min_bps: int = quantity(
        units.RATE, 'capacity_up = "schedule": least.', "5 Mbit/s", low="100 kbit/s", high="100 Gbit/s"
    )
    schedule_up_median_bps: int = quantity(
        units.RATE, "The same: median.", "15 Mbit/s", low="100 kbit/s", high="100 Gbit/s"
    )
    schedule_up_max_bps: int = quantity(units.RATE, "The same: best.", "50 Mbit/s", low="100 kbit/s", high="100 Gbit/s")
    # Assumption: the busy hour is 20:00 in eastern Australia (where the study was made), which is 10:00 UTC.
    busy_hour_ns: int = time(
        'capacity = "schedule": time of day of `clock` at which capacity is lowest.', "10 h", "24 h"
    )
    busy_ratio: float = share('capacity = "schedule": share of the tests\' variance that the hour explains.', "15 %")

    # The limit is an assumption. At 250 Mbit/s, 5000 packets take 0.24 s. During a handover of 50 ms, less than half of
    # this number queues up. LeoReplayer's authors recommend 50,000 packets, so that nothing is dropped.
    queue_pkts: int | None = queue("Largest number of packets that wait at the gateway for the terminal.", "5000 pkts")
    queue_bytes: int | None = None
    # LeoReplayer's authors recommend a limit of 500 packets for the uplink: 0.4 s at 15 Mbit/s.
    queue_up_pkts: int | None = quantity(
        units.PACKETS, 'Largest number of packets that wait at the terminal, as a number of packets or "unlimited".',
        "500 pkts",
        low="1 pkts", high="1000000000 pkts", none="unlimited",
    )  # fmt: skip
    overhead_bytes: int = overhead()

    # Terminal, gateway and point of presence are in Canberra, Wagga Wagga and Sydney. Assumption: all three are in
    # eastern Australia, where the study was made.
    terminal_latitude_deg: float = latitude('geometry = "constellation": position of the terminal.', "-35.28 deg")
    terminal_longitude_deg: float = longitude("The same: its longitude.", "149.13 deg")
    gateway_latitude_deg: float = latitude(
        'geometry = "constellation": position of the gateway\'s antennas.', "-35.11 deg"
    )
    gateway_longitude_deg: float = longitude("The same: their longitude.", "147.37 deg")
    pop_latitude_deg: float = latitude(
        'geometry = "constellation": position of the point of presence, which fibre joins to the gateway.', "-33.87 deg"
    )
    pop_longitude_deg: float = longitude("The same: its longitude.", "151.21 deg")
    # The study and SpaceX's filings with the FCC give this angle of 25 deg.
    min_elevation_deg: float = quantity(
        units.ANGLE, 'geometry = "constellation": smallest elevation at which terminal and gateway use a satellite.',
        "25 deg",
        low="0 deg", high="90 deg",
    )  # fmt: skip
    # Assumption: the rule by which the operator chooses a satellite is not published.
    scheduler: str = word(
        'geometry = "constellation": choice among the satellites that both see during the whole slot. weighted: a '
        "random one; the probability grows with its elevation above `min_elevation` at the terminal; highest: the one "
        "with the highest elevation.",
        ("weighted", "highest"),
        "weighted",
    )
    # The default of 5.5 ms is calibrated. With this default, the shortest round trips that follow from slant ranges are
    # a little above 20 ms.
    processing_delay_ns: int = time(
        'geometry = "constellation": one-way delay in addition to propagation.', "5.5 ms", "1 s"
    )

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in the preset's values, and check keys against each other."""
        known = keys(Access)
        section.fill_in(ACCESS_PRESETS[section.value("preset")].keys)
        for least, most in ORDERED:
            low, high = (section.value(known[key][0]) for key in (least, most))
            if low > high:
                origin = section.where(least if section.gave(least) else most)
                problems.add(origin, f"access.{least}", f"is above {most}", f"write {most} too, or {least} below it")
        check_base(section, problems)
        check_quantiles(section, problems)
        # An outage lies between `outage_reach` before its reconfiguration and `outage_reach` after it.
        if section.value("outage_max_ns") > 2 * section.value("outage_reach_ns"):
            rule = "does not fit between outage_reach before and outage_reach after a reconfiguration"
            problems.add(section.where("outage_max"), "access.outage_max", rule, "at most twice outage_reach")
        # The longest hold must be shorter than the time between two reconfigurations.
        if section.value("handover_max_ns") >= section.value("period_ns"):
            problems.add(section.where("handover_max"), "access.handover_max", "is not below period", "write less")
        for when, idle in keys_without_effect(section).items():
            for key in idle:
                attribute, _ = known[key]
                # The text of a plan contains every key. A key without effect is therefore a mistake only if its value
                # is not the default.
                if section.value(attribute) != getattr(Access, attribute):
                    problems.add(section.where(key), f"access.{key}", f"has no effect with {when}", "take it out")

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Return the defaults that differ from a constellation's."""
        # A reconfiguration occurs every 15 s. At 250 Mbit/s, stored windows of whole seconds would then contain a
        # quarter of all packets. The packets in flight and in the queue during 100 ms are some 10 MB, and Linux uses
        # about half of a socket's buffer for data.
        return {
            "run": {"duration": "60 s"},
            "tcp": {"buffer_max": "64 MiB"},
            "observe": {"packets_before": "100 ms", "packets_after": "400 ms"},
        }

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Return the terminal, the gateway and the point of presence, in this order."""
        return tuple(self.place(key, key) for key in ("terminal", "gateway", "pop"))


PROFILE_FILES: Mapping[str, Path] = {"oneweb": Path(__file__).with_name("oneweb.toml")}
"""A dict from the name of a profile to its file of values and sources. The default profile has no file."""

ACCESS_PRESETS: Mapping[str, Preset] = {
    "peak": Preset(
        {"residual_loss": "0.01 %", "residual_loss_up": "0.01 %"},
        "Huston 2024 reports no loss outside of handovers. With about 0.01 %, CUBIC gets the 45 Mbit/s of some 250 "
        "that the article reports at peak hours.",
    ),
    "off-peak": Preset(
        {"residual_loss": "0.001 %", "residual_loss_up": "0.001 %"},
        "Chosen in the same way as at peak hours, from CUBIC's 200 Mbit/s off-peak.",
    ),
}
"""The values of the keys that each preset fills in."""
