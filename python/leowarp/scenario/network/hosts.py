# SPDX-License-Identifier: Apache-2.0
"""`[[flows]]` and `[tcp]`: the behaviour of the hosts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import units
from leowarp.scenario.text.key import command, count, flag, quantity, sysctl, text, variables, word

CONGESTION_CONTROLS = (
    "reno", "cubic", "bbr", "bbr_handover", "bic", "cdg", "cubic_handover", "dctcp", "highspeed", "htcp", "hybla",
    "illinois", "lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""The congestion controls that are built into the default guest kernel."""

DELACK_MODULE = "delack"
"""The guest kernel's module that delays acknowledgements. The keys of the hosts determine its parameters."""

LOSS_DETECTION_MODULE = "loss_detection"
"""The guest kernel's module with the methods of `LOSS_DETECTIONS` and their parameters."""

LOSS_DETECTIONS = ("kernel", "ncr-careful", "ncr-aggressive", "door", "rr", "pr", "notified", "rack-draft", "rack-4.14")
"""Values of `tcp.loss_detection`; the guest identifies them by their index in this list
(guest/tcp/loss_detection.h)."""

OWN_SCOREBOARD = ("ncr-careful", "ncr-aggressive", "rr", "pr", "rack-draft", "rack-4.14")
"""Methods that replace the kernel's decision on which packets are lost; the other methods modify it."""

PROFILES = ("linux", "norack", "classic", "newreno")
"""Values of `tcp.profile`; `scenario.profiles` has the sysctls of each."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One transfer, probe or pair of programs between two stations.

    name: A label for the user; the guest does not know it. Flows of ``[traffic]`` and connections of programs have no
        name.
    kind: ``tcp``, ``ping``, ``udp`` or ``program``; keys that a kind does not have (`flows.FLOW_KEYS`) are None.
    source, destination: Names of stations. Data flows only from source to destination.
    congestion_control: As named in the guest's /proc/sys/net/ipv4/tcp_available_congestion_control.
    protocol, subflow_of: Rules in `workload.mptcp`; a subflow's protocol is ``mptcp``, too.
    start_ns, stop_ns: Times on the run's clock; in a plan, the default of `stop_ns` is the run's end.
    size_bytes: Payload to transfer; None: the flow sends until `stop_ns`.
    rate_bps: Payload in bit/s that the application offers; None: as much as TCP accepts.
    interval_ns, packet_rate_pkts_per_s: Pace of probes; at least one of the two is None. Both are None for a flood,
        whose pace depends only on replies.
    packets: Maximum number of probes; None: probes are sent until `stop_ns`.
    payload_bytes: Payload of a probe's packet, without the headers of IP and ICMP or UDP (28 bytes).
    client, server: Command lines of a program, which may contain ``{server}``, ``{port}``, ``{run_dir}`` and
        ``{applications}``.
    client_at, client_after_ns: The end at which the client runs, ``source`` or ``destination``, with the server at the
        other end; and the time from the server's start to the client's start.
    expect_exit: Expected exit code of the client; None: the client is still running when the flow stops.
    named_in: The file that names the programs; not part of the plan's identity.
    """

    name: str | None = text(
        "What tables, figures and pages call the flow, and what `--flow` and `--set flows.NAME.size=...` take in place "
        "of its number. A letter first, then letters, digits, blanks, dots, dashes and underscores; each name once.",
        "none",
    )
    kind: str = word(
        "Bulk TCP, ICMP echo, constant-rate UDP, or programs of your own.", ("tcp", "ping", "udp", "program"), "tcp"
    )
    source: str = text("Station that sends.", required=True)
    destination: str = text("Station that receives.", required=True)
    congestion_control: str | None = text(
        "tcp: one that the guest kernel has (any name with a kernel of your own).", "cubic"
    )
    protocol: str | None = word(
        "tcp: Multipath TCP is for connections over several stations; the kernel 6.12+net has it.",
        ("tcp", "mptcp"),
        "tcp",
    )
    subflow_of: str | None = text(
        "tcp: name of the flow of Multipath TCP of which this is a further subflow, from another station or to another "
        "one. That station is then a further interface of the flow's host. Times, size, rate and congestion control "
        "are those of the flow.",
        "none",
    )
    start_ns: int = quantity(units.TIME, "When it starts, on the run's clock.", "0 s", low="0 s", high="30 d")
    stop_ns: int = quantity(units.TIME, "When it stops, on the run's clock.", "end", low="0 s", high="30 d", none="end")
    size_bytes: int | None = quantity(
        units.BYTES, "tcp: bytes to transfer; the completion time is then recorded.", "unlimited", low="1 B",
        high="1000000 GB", none="unlimited",
    )  # fmt: skip
    rate_bps: int | None = quantity(
        units.RATE, "Payload that the application offers per second; udp needs it.", "unlimited", low="1 bit/s",
        high="1000 Gbit/s", none="unlimited",
    )  # fmt: skip
    interval_ns: int | None = quantity(
        units.TIME,
        "ping: time between two probes; of a flood (default 10 ms) the longest time, and with none only a reply, or a "
        "second without one, sends the next.",
        "1 s", low="100 us", high="1 h", none="none",
    )  # fmt: skip
    flood: bool | None = flag("ping: the next probe leaves as soon as the one before is answered (ping -f).", False)
    packet_rate_pkts_per_s: float | None = quantity(
        units.PACKET_RATE, "ping, udp: probes per second, in place of `interval` or `rate`.", "none",
        low="0.0001 pkts/s", high="10000000 pkts/s", none="none",
    )  # fmt: skip
    packets: int | None = count("ping, udp: how many probes at most.", "unlimited", 1, 10**12, none="unlimited")
    replies: bool | None = flag("ping: the destination answers.", True)
    # 56 bytes are ping's own default. 1472 bytes fill a packet of 1500 with headers of IPv4 (20) and ICMP or UDP (8).
    payload_bytes: int | None = quantity(
        units.BYTES, "ping, udp: payload of a packet (default of udp: 1200 B).", "56 B", low="16 B", high="1472 B"
    )
    client: str | None = command(
        "program: command line of the client, without a shell; {server} is the server's address, {port} the port, "
        "{run_dir} where it may write, {applications} the programs that come with leowarp."
    )
    server: str | None = command("program: command line of the server.", none="none")
    client_at: str | None = word(
        "program: the end of the flow at which the client runs; data counts from source to destination.",
        ("source", "destination"),
        "source",
    )
    client_after_ns: int | None = quantity(
        units.TIME, "program: the client starts this long after the server.", "500 ms", low="0 s", high="1 h"
    )
    port: int | None = count(
        "program: what {port} stands for; connections that use it at either end belong to this flow.", 5201, 1, 65535
    )
    environment: Mapping[str, str] | None = variables("program: environment variables beside the guest's few.")
    directory: str | None = text(
        "program: working directory, read-only, an absolute path; none: the one that it may write to.", "none"
    )
    rootfs: str | None = text(
        "program: an absolute path of a directory that is the programs' root; none: this machine's own.", "none"
    )
    storage_bytes: int | None = quantity(
        units.BYTES, "program: what each may write, and what it may print.", "64 MiB", low="64 KiB", high="16 GiB"
    )
    expect_exit: int | None = count(
        "program: exit code of the client; any other fails the run. stopped: it runs until the flow's stop.",
        0, 0, 255, none="stopped",
    )  # fmt: skip
    # The file that names the program decides whether the program may run (guest/building/trust.py).
    named_in: Path | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_mptcp(self) -> bool:
        """Whether the flow is a connection of Multipath TCP or one of its further subflows."""
        return self.protocol == "mptcp"

    @property
    def paced_pkts_per_s(self) -> float:
        """Nominal packets per second of a ping or UDP flow; 0 if its pace depends only on replies."""
        if self.packet_rate_pkts_per_s is not None:
            return self.packet_rate_pkts_per_s
        return 1e9 / self.interval_ns if self.interval_ns else (self.rate_bps or 0) / 8 / (self.payload_bytes or 1)


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """TCP of a host: a profile, buffers, and any sysctls on top.

    profile: A key of `profiles.PROFILE_SYSCTLS`.
    buffer_max_bytes: Third number of tcp_rmem and tcp_wmem. The largest value of all hosts is also the guest's
        net.core.rmem_max and wmem_max.
    sack, dsack, rack, timestamps: Switches of TCP; None: as in the profile.
    loss_detection: One of `LOSS_DETECTIONS`. A module of the guest implements it. The module reads the choice from bits
        of net.ipv4.tcp_recovery.
    door_freeze_ns, door_undo_ns: Parameters of TCP-DOOR; None: the smoothed round-trip time.
    rr_percentile_ratio, pr_alpha_ratio, pr_beta_ratio: Parameters of RR-TCP and TCP-PR.
    recovery, reordering, max_reordering: The sysctls ``tcp_*`` of these names; None: as in the profile.
    delayed_ack, delayed_ack_timer_ns: Implemented by a module of the guest (``on``) or by its routes (``off``), because
        Linux 6.12 has no sysctl for it.
    sysctl: Sysctls that override all other keys.
    """

    profile: str = word(
        "linux: 6.12's defaults; norack: no RACK, duplicate-ACK threshold 3; classic: norack without timestamps and "
        "DSACK, so that only F-RTO undoes; newreno: classic without SACK and F-RTO.",
        PROFILES,
        "linux",
    )
    # The default is more than the default path can hold: at 100 Mbit/s, 16 MiB last 1.3 s.
    buffer_max_bytes: int = quantity(
        units.BYTES, "Largest send and receive buffer (tcp_wmem, tcp_rmem).", "16 MiB", low="64 KiB", high="1 GiB"
    )
    # With "internal", only BBR and sockets that ask for it are paced; sch_fq paces each socket that has a rate.
    pacing: str = word(
        "Who spaces packets of a socket that has a pacing rate: TCP itself, or sch_fq on the host's wire, under which "
        "every congestion control is paced.",
        ("internal", "fq"),
        "internal",
    )
    # By default, Linux only accepts ECN and does not request it (Documentation/networking/ip-sysctl.rst, tcp_ecn = 2).
    # Every profile has the same default.
    ecn: str = word(
        "Explicit congestion notification: answered (passive), asked for on every connection (on), or never "
        "(net.ipv4.tcp_ecn 2, 1, 0).",
        ("passive", "on", "off"),
        "passive",
    )
    # Linux acknowledges almost every segment while the window grows (tcp_grow_window, net/ipv4/tcp_input.c), so a
    # comparison with a simulator's delayed ACKs needs "on" (docs/concepts/delayed-acks.md).
    delayed_ack: str = word(
        "When a receiver acknowledges. adaptive: as Linux does, the first segments one by one, then every second, or "
        "after a timer that adapts from 40 to 200 ms; on: every second full segment from the first on, or after "
        "`delayed_ack_timer` (RFC 1122); off: each segment. Segments out of order are acknowledged at once.",
        ("adaptive", "on", "off"),
        "adaptive",
    )
    # 40 ms is TCP_DELACK_MIN of Linux 6.12 (include/net/tcp.h) for HZ = 1000.
    delayed_ack_timer_ns: int = quantity(
        units.TIME,
        'delayed_ack = "on": the longest time that a segment waits for its acknowledgement, in whole ms; the same of '
        "all hosts. Of more than 40 ms the kernel waits a round-trip time at most.",
        "40 ms", low="1 ms", high="100 ms",
    )  # fmt: skip
    sack: bool | None = flag("Selective acknowledgements (net.ipv4.tcp_sack).", "profile", none="profile")
    dsack: bool | None = flag("Duplicate SACK (net.ipv4.tcp_dsack).", "profile", none="profile")
    rack: bool | None = flag(
        "Losses are found by RACK (net.ipv4.tcp_recovery 1 or 0); off, the threshold of duplicate ACKs still grows as "
        "reordering is seen: norack fixes it.",
        "profile",
        none="profile",
    )
    # The bits are those of tcp_rack.c and tcp_input.c, Linux 6.12: TCP_RACK_LOSS_DETECTION, _STATIC_REO_WND,
    # _NO_DUPTHRESH.
    recovery: int | None = count(
        "How losses are found (net.ipv4.tcp_recovery), a sum: 1 RACK; 2 its reordering window stays a quarter of the "
        "least RTT instead of growing with DSACKs; 4 the window holds also once as many duplicate ACKs have come as "
        "`reordering` says. In place of `rack`.",
        "profile", 0, 7, none="profile",
    )  # fmt: skip
    reordering: int | None = count(
        "Duplicate ACKs by which a packet is taken for lost, before reordering was seen (net.ipv4.tcp_reordering).",
        "profile", 1, 1_000_000, none="profile",
    )  # fmt: skip
    max_reordering: int | None = count(
        "What that number grows to at most, as reordering is seen (net.ipv4.tcp_max_reordering).",
        "profile", 1, 1_000_000, none="profile",
    )  # fmt: skip
    # The methods are described in docs/concepts/loss-detection.md.
    loss_detection: str = word(
        "How a sender takes packets for lost, under any congestion control. kernel: as recovery says; ncr-careful, "
        "ncr-aggressive: after duplicate ACKs of a whole window (RFC 4653); door: as the kernel, without response "
        "around packets out of order (TCP-DOOR); rr: after as many duplicate ACKs as reordering has taught (RR-TCP); "
        "pr: by time alone (TCP-PR); notified: as the kernel, but not while a notice of a route change says so; "
        "rack-draft: by RACK as first described, with a window of 1 ms until reordering is seen, beside duplicate "
        "ACKs; rack-4.14: the same as Linux 4.11 to 4.14 had it, with 1 ms in a recovery alone.",
        LOSS_DETECTIONS,
        "kernel",
    )
    door_freeze_ns: int | None = quantity(
        units.TIME, "door: how long there is no response after packets out of order (T1). rtt: the smoothed RTT.",
        "rtt", low="0 s", high="10 s", none="rtt",
    )  # fmt: skip
    door_undo_ns: int | None = quantity(
        units.TIME, "door: how old a response may be to be taken back as packets arrive out of order (T2).",
        "rtt", low="0 s", high="10 s", none="rtt",
    )  # fmt: skip
    # The source is Zhang et al. 2003, section 3.
    rr_percentile_ratio: float = quantity(
        units.RATIO, "rr: the share of past reordering that is to be ridden out; its percentile is the threshold.",
        "90 %", low="1 %", high="100 %",
    )  # fmt: skip
    # The source is Bohacek et al. 2006: alpha = 0.995, beta = 3.
    pr_alpha_ratio: float = quantity(
        units.RATIO, "pr: what is left of the largest RTT after one RTT.", "99.5 %", low="1 %", high="100 %"
    )
    pr_beta_ratio: float = quantity(
        units.RATIO, "pr: a packet is lost that is not acknowledged within this times the largest RTT.", "300 %",
        low="101 %", high="10000 %",
    )  # fmt: skip
    timestamps: bool | None = flag("TCP timestamps (net.ipv4.tcp_timestamps).", "profile", none="profile")
    sysctl: Mapping[str, str] = sysctl(
        "Sysctls of the host, names and values as strings; they win over all keys above."
    )


@dataclass(frozen=True, kw_only=True)
class Host:
    """A station's host, with every sysctl that it gets.

    tcp: ``[tcp]``, with the keys that ``[hosts.NAME.tcp]`` replaces.
    sysctl: Derived from `tcp` (`profiles.host_sysctls`), then overridden by sysctls that a plan spells out; sorted by
        name.
    """

    name: str
    tcp: Tcp
    sysctl: Mapping[str, str]

    @property
    def pacing(self) -> str:
        """How this host's packets are paced: internal or fq."""
        return self.tcp.pacing

    @property
    def delayed_ack(self) -> str:
        """Rule by which this host acknowledges received data: adaptive, on or off."""
        return self.tcp.delayed_ack

    @property
    def delayed_ack_timer_ns(self) -> int:
        """Longest delay of an acknowledgement, ns, if `delayed_ack` is on."""
        return self.tcp.delayed_ack_timer_ns
