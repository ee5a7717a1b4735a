# SPDX-License-Identifier: Apache-2.0
"""The sections `[[flows]]` and `[tcp]`: the behaviour of the hosts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import units
from leowarp.scenario.text.key import command, count, flag, quantity, sysctl, text, time, variables, word

CONGESTION_CONTROLS = (
    "reno", "cubic", "bbr", "bbr_handover", "bic", "cdg", "cubic_handover", "dctcp", "highspeed", "htcp", "hybla",
    "illinois", "lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""The congestion controls that are built into the default guest kernel."""

DELACK_MODULE = "delack"
"""The module of the guest kernel that delays acknowledgements. The hosts' keys determine the parameters of this
module."""

LOSS_DETECTION_MODULE = "loss_detection"
"""The module of the guest kernel that implements the methods of `LOSS_DETECTIONS`."""

LOSS_DETECTIONS = ("kernel", "ncr-careful", "ncr-aggressive", "door", "rr", "pr", "notified", "rack-draft", "rack-4.14")
"""The values of `tcp.loss_detection`. The guest identifies them by their index in this list
(guest/tcp/loss_detection.h)."""

OWN_SCOREBOARD = ("ncr-careful", "ncr-aggressive", "rr", "pr", "rack-draft", "rack-4.14")
"""These methods, and not the kernel, decide which packets are lost. The other methods only modify the kernel's
decision."""

PROFILES = ("linux", "norack", "classic", "newreno")
"""The values of `tcp.profile`. `scenario.profiles` has the sysctls of each profile."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A transfer, probe or pair of programs between two stations.

    named_in: The file that names the programs. This file is ignored when two flows are compared.
    """

    name: str | None = text(
        "Name of the flow in tables, figures and pages, and in `--flow` and `--set flows.NAME.size=...`. It begins "
        "with a letter and has letters, digits, blanks, dots, dashes and underscores. Each name occurs once.",
        "none",
    )
    kind: str = word(
        "Bulk TCP, ICMP echo, constant-rate UDP, or programs of your own.", ("tcp", "ping", "udp", "program"), "tcp"
    )
    source: str = text("Station that sends.", required=True)
    destination: str = text("Station that receives.", required=True)
    congestion_control: str | None = text(
        "tcp: congestion control, which the guest kernel must have (any name with a kernel of your own).", "cubic"
    )
    protocol: str | None = word(
        "tcp: plain TCP, or Multipath TCP for connections over several stations, which needs the kernel 6.12+net.",
        ("tcp", "mptcp"),
        "tcp",
    )
    subflow_of: str | None = text(
        "tcp: name of the Multipath TCP flow to which this flow is a further subflow, from another station or to "
        "another one. That station is then a further interface of the flow's host. Times, size, rate and congestion "
        "control are those of the named flow.",
        "none",
    )
    start_ns: int = time("Start of the flow, on the run's clock.", "0 s", "30 d")
    stop_ns: int = quantity(
        units.TIME, "Stop of the flow, on the run's clock.", "end", low="0 s", high="30 d", none="end"
    )
    size_bytes: int | None = quantity(
        units.BYTES, "tcp: bytes to transfer; the run then records the completion time.", "unlimited", low="1 B",
        high="1000000 GB", none="unlimited",
    )  # fmt: skip
    rate_bps: int | None = quantity(
        units.RATE, "Payload that the application offers per second; udp requires it.", "unlimited", low="1 bit/s",
        high="1000 Gbit/s", none="unlimited",
    )  # fmt: skip
    interval_ns: int | None = quantity(
        units.TIME,
        "ping: time between two probes. In a flood (default 10 ms) it is the longest time between two probes; with "
        "none, the next probe follows only a reply, or one second without a reply.",
        "1 s", low="100 us", high="1 h", none="none",
    )  # fmt: skip
    flood: bool | None = flag("ping: the next probe leaves as soon as the previous one is answered (ping -f).", False)
    packet_rate_pkts_per_s: float | None = quantity(
        units.PACKET_RATE, "ping, udp: probes per second; replaces `interval` or `rate`.", "none",
        low="0.0001 pkts/s", high="10000000 pkts/s", none="none",
    )  # fmt: skip
    packets: int | None = count("ping, udp: largest number of probes.", "unlimited", 1, 10**12, none="unlimited")
    replies: bool | None = flag("ping: the destination answers.", True)
    # 56 bytes are the default of ping itself. 1472 bytes fill a packet of 1500 with the headers of IPv4 (20) and ICMP
    # or UDP (8).
    payload_bytes: int | None = quantity(
        units.BYTES, "ping, udp: payload of a packet (default of udp: 1200 B).", "56 B", low="16 B", high="1472 B"
    )
    client: str | None = command(
        "program: command line of the client, without a shell. {server} is the server's address, {port} the port, "
        "{run_dir} a directory in which it may write, and {applications} the directory of leowarp's programs."
    )
    server: str | None = command("program: command line of the server.", none="none")
    client_at: str | None = word(
        "program: end of the flow at which the client runs; data counts from source to destination.",
        ("source", "destination"),
        "source",
    )
    client_after_ns: int | None = time(
        "program: time from the start of the server to the start of the client.", "500 ms", "1 h"
    )
    port: int | None = count(
        "program: value of {port}; connections that use this port at either end belong to the flow.", 5201, 1, 65535
    )
    environment: Mapping[str, str] | None = variables("program: environment variables in addition to the guest's few.")
    directory: str | None = text(
        "program: working directory, read-only, an absolute path; none: the directory in which the program may write.",
        "none",
    )
    rootfs: str | None = text(
        "program: root directory of the programs, an absolute path; none: the root of this machine.", "none"
    )
    storage_bytes: int | None = quantity(
        units.BYTES,
        "program: largest size of the files that each program may write, and of its output.",
        "64 MiB",
        low="64 KiB",
        high="16 GiB",
    )
    expect_exit: int | None = count(
        "program: expected exit code of the client; any other code fails the run. stopped: the client runs until the "
        "flow's stop.",
        0, 0, 255, none="stopped",
    )  # fmt: skip
    # The file that names the program; the program may run only if this file is trusted (guest/building/trust.py).
    named_in: Path | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_mptcp(self) -> bool:
        """Whether the flow is a Multipath TCP connection, or an additional subflow of one."""
        return self.protocol == "mptcp"

    @property
    def paced_pkts_per_s(self) -> float:
        """The nominal packets per second of a ping or UDP flow. If each probe is sent after the reply to the previous
        probe, the value is 0."""
        if self.packet_rate_pkts_per_s is not None:
            return self.packet_rate_pkts_per_s
        return 1e9 / self.interval_ns if self.interval_ns else (self.rate_bps or 0) / 8 / (self.payload_bytes or 1)


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """The TCP settings of a host. The settings are a profile, buffer sizes, and sysctls. The sysctls override the
    profile and the buffer sizes.

    buffer_max_bytes: The third number (the maximum) of tcp_rmem and tcp_wmem. The guest's net.core.rmem_max and
        wmem_max are the largest `buffer_max_bytes` of all hosts.
    loss_detection: One of `LOSS_DETECTIONS`. A module of the guest implements the methods, and reads the host's choice
        from bits of the sysctl net.ipv4.tcp_recovery.
    delayed_ack, delayed_ack_timer_ns: Linux 6.12 has no sysctl for delayed ACKs. Therefore, a module of the guest
        implements ``on``, and attributes of the routes implement ``off``.
    """

    profile: str = word(
        "TCP profile. linux: 6.12's defaults; norack: no RACK, duplicate-ACK threshold 3; classic: norack without "
        "timestamps and DSACK, so that only F-RTO undoes; newreno: classic without SACK and F-RTO.",
        PROFILES,
        "linux",
    )
    # The default exceeds what the default path can hold: at 100 Mbit/s, 16 MiB are 1.3 s of data.
    buffer_max_bytes: int = quantity(
        units.BYTES, "Largest send and receive buffer (tcp_wmem, tcp_rmem).", "16 MiB", low="64 KiB", high="1 GiB"
    )
    # With "internal", TCP paces only BBR and sockets that request pacing; with "fq", sch_fq paces each socket that has
    # a pacing rate.
    pacing: str = word(
        "Pacing of sockets that have a pacing rate: by TCP itself, or by sch_fq on the host's link, which paces every "
        "congestion control.",
        ("internal", "fq"),
        "internal",
    )
    # By default, Linux only accepts ECN and does not request it (Documentation/networking/ip-sysctl.rst, tcp_ecn = 2).
    # The default of `ecn` is the same in every profile.
    ecn: str = word(
        "Explicit congestion notification: accepted if the peer requests it (passive), requested on every connection "
        "(on), or never used (off) (net.ipv4.tcp_ecn 2, 1, 0).",
        ("passive", "on", "off"),
        "passive",
    )
    # Linux acknowledges almost every segment while the window grows (tcp_grow_window, net/ipv4/tcp_input.c), so a
    # comparison with a simulator's delayed ACKs needs "on" (docs/concepts/delayed-acks.md).
    delayed_ack: str = word(
        "Delayed acknowledgements of a receiver. adaptive: as in Linux, first every segment, then every second one, or "
        "after a timer that adapts from 40 to 200 ms; on: every second full segment from the start, or after "
        "`delayed_ack_timer` (RFC 1122); off: every segment. Segments out of order are always acknowledged at once.",
        ("adaptive", "on", "off"),
        "adaptive",
    )
    # 40 ms is TCP_DELACK_MIN of Linux 6.12 (include/net/tcp.h) for HZ = 1000.
    delayed_ack_timer_ns: int = quantity(
        units.TIME,
        'delayed_ack = "on": longest time that a segment waits for its acknowledgement, in whole ms, the same for all '
        "hosts. For more than 40 ms, the kernel waits a round-trip time at most.",
        "40 ms", low="1 ms", high="100 ms",
    )  # fmt: skip
    sack: bool | None = flag("Selective acknowledgements (net.ipv4.tcp_sack).", "profile", none="profile")
    dsack: bool | None = flag("Duplicate SACK (net.ipv4.tcp_dsack).", "profile", none="profile")
    rack: bool | None = flag(
        "Loss detection by RACK (net.ipv4.tcp_recovery 1 or 0). Without RACK, the duplicate-ACK threshold still grows "
        "when the sender sees reordering; the profile norack fixes it.",
        "profile",
        none="profile",
    )
    # The bits of this sysctl are from tcp_rack.c and tcp_input.c of Linux 6.12: TCP_RACK_LOSS_DETECTION,
    # _STATIC_REO_WND, _NO_DUPTHRESH.
    recovery: int | None = count(
        "Loss detection (net.ipv4.tcp_recovery), a sum: 1 RACK; 2 its reordering window stays a quarter of the "
        "smallest RTT instead of growing with DSACKs; 4 the window also applies once `reordering` duplicate ACKs have "
        "arrived. It replaces `rack`.",
        "profile", 0, 7, none="profile",
    )  # fmt: skip
    reordering: int | None = count(
        "Duplicate ACKs after which a sender marks a packet lost, until it has seen reordering "
        "(net.ipv4.tcp_reordering).",
        "profile", 1, 1_000_000, none="profile",
    )  # fmt: skip
    max_reordering: int | None = count(
        "Upper limit of that number, which grows as the sender sees reordering (net.ipv4.tcp_max_reordering).",
        "profile", 1, 1_000_000, none="profile",
    )  # fmt: skip
    # docs/concepts/loss-detection.md describes the methods of loss detection.
    loss_detection: str = word(
        "Rule by which a sender marks packets lost, under any congestion control. kernel: as `recovery` says; "
        "ncr-careful, ncr-aggressive: after duplicate ACKs of a whole window (RFC 4653); door: as the kernel, but "
        "without a response around packets out of order (TCP-DOOR); rr: after a number of duplicate ACKs that follows "
        "past reordering (RR-TCP); pr: by time alone (TCP-PR); notified: as the kernel, but not while a notice of a "
        "route change forbids it; rack-draft: by duplicate ACKs and by RACK as first described, with a window of 1 ms "
        "until the sender sees reordering; rack-4.14: as rack-draft, but as in Linux 4.11 to 4.14, with 1 ms in a "
        "recovery alone.",
        LOSS_DETECTIONS,
        "kernel",
    )
    door_freeze_ns: int | None = quantity(
        units.TIME, "door: time without a response after packets out of order (T1). rtt: the smoothed RTT.",
        "rtt", low="0 s", high="10 s", none="rtt",
    )  # fmt: skip
    door_undo_ns: int | None = quantity(
        units.TIME, "door: largest age of a response that is undone when packets arrive out of order (T2).",
        "rtt", low="0 s", high="10 s", none="rtt",
    )  # fmt: skip
    # The default is from Zhang et al. 2003, section 3.
    rr_percentile_ratio: float = quantity(
        units.RATIO, "rr: share of past reordering that must not cause a retransmission; the threshold is this "
        "percentile.",
        "90 %", low="1 %", high="100 %",
    )  # fmt: skip
    # The defaults of TCP-PR are from Bohacek et al. 2006: alpha = 0.995, beta = 3.
    pr_alpha_ratio: float = quantity(
        units.RATIO, "pr: factor by which the largest RTT decays during one RTT.", "99.5 %", low="1 %", high="100 %"
    )
    pr_beta_ratio: float = quantity(
        units.RATIO, "pr: a packet is lost if no acknowledgement arrives within this multiple of the largest RTT.",
        "300 %",
        low="101 %", high="10000 %",
    )  # fmt: skip
    timestamps: bool | None = flag("TCP timestamps (net.ipv4.tcp_timestamps).", "profile", none="profile")
    sysctl: Mapping[str, str] = sysctl(
        "Sysctls of the host, names and values as strings; they override all keys above."
    )


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host of a station, with all its sysctls.

    tcp: The keys of ``[tcp]``, overridden by ``[hosts.NAME.tcp]``.
    sysctl: The sysctls derived from `tcp` (`profiles.host_sysctls`), overridden by the plan's text and sorted by name.
    """

    name: str
    tcp: Tcp
    sysctl: Mapping[str, str]
