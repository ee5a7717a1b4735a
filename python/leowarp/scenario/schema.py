# SPDX-License-Identifier: Apache-2.0
"""The plan as a tree of frozen dataclasses. Every scenario key is declared exactly once, as a field of one
section.

A field has the name of its TOML key plus the suffix of its unit: ``altitude = "1200 km"`` is ``altitude_m``. The
loader, the writer and the reference page all read these declarations. Each group of related sections has its own
module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import units
from leowarp.scenario.media.access import Access
from leowarp.scenario.media.chain import Chain
from leowarp.scenario.media.constellation import Constellation, FollowsConstellation, Shell
from leowarp.scenario.media.jittered import Jittered
from leowarp.scenario.media.measured import Measured
from leowarp.scenario.media.medium import Medium
from leowarp.scenario.media.mobile import Mobile
from leowarp.scenario.network.cures import Cures
from leowarp.scenario.network.hosts import CONGESTION_CONTROLS, PROFILES, Flow, Host, Tcp
from leowarp.scenario.network.links import Ground, Isl, Network, Routing, Station
from leowarp.scenario.text.key import InputFile, count, files, flag, keys, quantity, sysctl, text, time, word
from leowarp.scenario.write import SCHEMA_VERSION, plan_text


@dataclass(frozen=True, kw_only=True)
class Run:
    """The length and start of the run, and the seed of all random numbers."""

    duration_ns: int = quantity(units.TIME, "How long the run lasts.", low="1 ms", high="30 d", default="1000 s")
    ends: str = word(
        "End of the run: `duration`, or `linger` after the last flow with a size or a number of packets (`duration` at "
        "the latest).",
        ("duration", "flows"),
        "duration",
    )
    linger_ns: int = time('ends = "flows": time from the end of the last flow to the end of the run.', "1 s", "1 h")
    start_ns: int = time("Time of the constellation's clock when the run's clock is 0.", "0 s", "3650 d")
    # The limit 2^63 - 1 is the largest integer in TOML.
    seed: int = count("Seed of all random choices; each component has a random stream of its own.", 1, 0, 2**63 - 1)


@dataclass(frozen=True, kw_only=True)
class Observe:
    """The data that a run records, and their sampling intervals."""

    # The default of 50 ms corresponds to the 20 Hz of Frederiksen et al. A maximum that occurs between two samples is
    # missed.
    sockets_ns: int | None = quantity(
        units.TIME, "Interval of the TCP_INFO samples.", "50 ms", low="1 ms", high="1 h", none="none"
    )
    counters_ns: int | None = quantity(
        units.TIME, "Interval of the kernel's TCP counters; none: only at the end.", "1 s", low="1 ms", high="1 h",
        none="none",
    )  # fmt: skip
    queues_ns: int | None = quantity(
        units.TIME, "Interval of the queue samples.", "50 ms", low="1 ms", high="1 h", none="none"
    )
    truth: bool = flag(
        "Whether both ends of each flow are captured and matched. Without the capture, there are no packets, bins, "
        "drops of flows, echoes and no reordering.",
        True,
    )
    capture: str = word(
        "Capture method: taps of the guest kernel, or packet sockets as in tcpdump. The reader of packet sockets takes "
        "CPU turns from the programs, and so shifts a packet's time now and then.",
        ("taps", "sockets"),
        "taps",
    )
    packets: str = word(
        "Packets that are stored individually: none, those around route changes, or all. Late, lost and retransmitted "
        "ones are always stored.",
        ("none", "changes", "all"),
        "changes",
    )
    packets_before_ns: int = time("Time before a route change at which storing starts.", "1 s", "1 h")
    packets_after_ns: int = time("Time after a route change at which storing ends.", "3 s", "1 h")
    reordering_threshold_pkts: int = quantity(
        units.PACKETS,
        "RFC 5236's thresholds of displacement and buffer (DT, BT). A route change displaces packets by a queue and "
        "more.",
        "1000 pkts", low="1 pkts", high="1000000 pkts",
    )  # fmt: skip
    # The borders of the windows are half a window away from whole multiples of the window's width. Route changes occur
    # at whole multiples of the route interval. If a window ended at a route change, late packets and the packets that
    # overtook them would be in different windows.
    reordering_window_ns: int | None = quantity(
        units.TIME,
        "Width of the windows in which reordering is also measured; their edges lie half a window off its multiples.",
        "10 s", low="1 ms", high="30 d", none="none",
    )  # fmt: skip
    pcap: str = word("Hosts for which a pcapng file is written.", ("none", "source", "destination", "both"), "none")
    # 128 bytes contain all headers and TCP options. To decrypt data, complete frames would be needed.
    pcap_snap_bytes: int = quantity(
        units.BYTES, "Bytes of each frame that a pcapng file stores.", "128 B", low="64 B", high="65535 B"
    )


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The guest kernel.

    kernel_named_in: The file that names `kernel`. Two plans that differ only in this value are equal.
    """

    memory_bytes: int = quantity(units.BYTES, "The guest's memory.", "1 GiB", low="128 MiB", high="256 GiB")
    kernel: str = text(
        "A name of `leowarp kernel list`, or the path of a kernel tree or binary of your own, with a slash in it.",
        "default",
    )
    cc_modules: tuple[InputFile, ...] = files(
        "Congestion controls of your own, as C files beside the scenario. Each is compiled against the guest kernel "
        "and loaded before the run as a module with the file's name. Flows may then name any congestion control."
    )
    sysctl: Mapping[str, str] = sysctl(
        "Sysctls of the guest as a whole, which Linux does not have per network namespace."
    )
    # The file that names the guest's kernel. The value is None if the user named the kernel on the command line or in a
    # call (guest/building/trust.py).
    kernel_named_in: Path | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A scenario with every default written out. A plan contains everything that determines a run.

    Two plans are equal if their files have the same names and contents. The files' locations are not compared. For
    media other than a constellation, the defaults of `isl`, `ground`, `routing` and `cures` have no effect. For
    `jittered`, this is also true of `network`. A mobile channel with routes over a constellation is the exception: it
    uses the four sections.

    Attributes
    ----------
    name : str
        The name of the run and of its directory.
    medium : Constellation, Measured, Chain, Jittered, Access or Mobile
        The medium that carries the packets. If it follows a constellation, it has the attribute `constellation`.
    stations, flows, hosts : tuple
        The order is that of the scenario's text. Each station has one host. All media except a constellation have two
        stations without coordinates (A and B, dish and server, or mobile and server).
    dishes : dict
        The stations of a constellation with their own access link, ``[stations.access]``, in the order of stations.
    modules : dict
        The parameters of each kernel module, as the kernel reads them, with times in ns. Every module of the user and
        every handover-aware congestion control of a flow has an entry. An entry may have no parameters.
    sysctl : dict
        The sysctls of the whole guest, sorted by name. `hosts[i].sysctl` has the sysctls of each host.
    """

    # Fields without a default are required, because every plan needs a medium, stations and flows.
    name: str
    run: Run = dataclasses.field(default_factory=Run)
    medium: Medium
    stations: tuple[Station, ...]
    isl: Isl = dataclasses.field(default_factory=Isl)
    ground: Ground = dataclasses.field(default_factory=Ground)
    routing: Routing = dataclasses.field(default_factory=Routing)
    cures: Cures = dataclasses.field(default_factory=Cures)
    network: Network = dataclasses.field(default_factory=Network)
    flows: tuple[Flow, ...]
    tcp: Tcp = dataclasses.field(default_factory=Tcp)
    hosts: tuple[Host, ...] = ()
    dishes: Mapping[str, Access] = dataclasses.field(default_factory=dict)
    modules: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    sysctl: Mapping[str, str] = dataclasses.field(default_factory=dict)
    observe: Observe = dataclasses.field(default_factory=Observe)
    guest: Guest = dataclasses.field(default_factory=Guest)

    @property
    def constellation(self) -> Constellation | None:
        """The constellation that is the medium, or that the medium follows. None means that there are no satellites."""
        if isinstance(self.medium, Constellation):
            return self.medium
        return self.medium.constellation if isinstance(self.medium, FollowsConstellation) else None

    def to_toml(self) -> str:
        """Return the plan as a scenario text. Loading this text gives the same plan."""
        return plan_text(self)

    def named_by_caller(self) -> Plan:
        """Return a copy of this plan as if the caller had named all its code. The caller thus permits the code to run.

        Returns
        -------
        Plan
            A plan that equals this one, but without the information who named the code. This information does not
            affect results
                (`guest/building/trust.py`).
        """
        own = tuple(dataclasses.replace(file, named_in=None) for file in self.guest.cc_modules)
        guest = dataclasses.replace(self.guest, cc_modules=own, kernel_named_in=None)
        flows = tuple(dataclasses.replace(flow, named_in=None) for flow in self.flows)
        return dataclasses.replace(self, guest=guest, flows=flows)

    def inputs(self) -> list[Path]:
        """Return the files that are copied into the run directory (`00-inputs/`).

        Returns
        -------
        list of Path
            The files that the sections of the plan name. The order of the sections is: the constellation that the
            medium follows, the medium, the stations, the guest. The files of each section are in the order of its keys.
        """
        # If the constellation is itself the medium, its files are listed once, as those of the medium.
        sky = () if self.constellation in (None, self.medium) else (self.constellation,)
        files: list[InputFile] = []
        for part in (*sky, self.medium, *self.stations, self.guest):
            section: type = type(part)
            for attribute, declared in keys(section).values():
                value = getattr(part, attribute)
                if declared.kind == "file" and value is not None:
                    files.append(value)
                elif declared.kind == "files":
                    files += value
        return [entry.path for entry in files]
