# SPDX-License-Identifier: Apache-2.0
"""The TCP profiles as sysctls. A plan contains every sysctl of a host. Otherwise, some sysctls would depend on the free
memory at boot.

Linux computes tcp_mem, udp_mem and the largest buffers from free memory at boot, which varies. Without these sysctls in
the plan, two runs of the same plan could differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from leowarp.scenario.network.hosts import LOSS_DETECTIONS, OWN_SCOREBOARD, Tcp


def host_sysctls(tcp: Tcp) -> dict[str, str]:
    """Return every sysctl of a host (a network namespace), sorted by name.

    The profile sets values first, the switches and sizes of [tcp] override them, and `tcp.sysctl` overrides both.

    tcp: The TCP keys of one host, merged over ``[tcp]``.

    >>> host_sysctls(Tcp(profile="norack"))["net.ipv4.tcp_recovery"]
    '0'
    """
    own = {
        # The minimum and initial sizes are those of Linux (tcp_init in net/ipv4/tcp.c); the scenario sets only the
        # maximum.
        "net.ipv4.tcp_rmem": f"4096 131072 {tcp.buffer_max_bytes}",
        "net.ipv4.tcp_wmem": f"4096 16384 {tcp.buffer_max_bytes}",
        "net.ipv4.tcp_ecn": _ECN[tcp.ecn],
    }
    given = {
        "net.ipv4.tcp_sack": tcp.sack,
        "net.ipv4.tcp_dsack": tcp.dsack,
        "net.ipv4.tcp_timestamps": tcp.timestamps,
        "net.ipv4.tcp_recovery": tcp.rack if tcp.recovery is None else tcp.recovery,
        "net.ipv4.tcp_reordering": tcp.reordering,
        "net.ipv4.tcp_max_reordering": tcp.max_reordering,
    }
    # For a key that is None, the profile's value applies.
    own |= {name: str(int(value)) for name, value in given.items() if value is not None}
    sysctls = {**PROFILE_SYSCTLS[tcp.profile], **own}
    if tcp.loss_detection != "kernel":
        recovery = 1 if tcp.loss_detection in OWN_SCOREBOARD else int(sysctls["net.ipv4.tcp_recovery"])
        # The kernel reads bits 0 to 2 of tcp_recovery, and our module reads the higher bits
        # (guest/tcp/loss_detection.h). If a method replaces RACK, it is called where the kernel would call RACK. Bit 0
        # must therefore be set, because it enables RACK.
        recovery += LOSS_DETECTIONS.index(tcp.loss_detection) << _LOSS_DETECTION_SHIFT
        sysctls["net.ipv4.tcp_recovery"] = str(recovery)
    return dict(sorted({**sysctls, **tcp.sysctl}.items()))


def guest_sysctls(buffer_max_bytes: int, memory_bytes: int, own: Mapping[str, str]) -> dict[str, str]:
    """Return all sysctls that apply to the whole guest, sorted by name.

    buffer_max_bytes: The largest `tcp.buffer_max_bytes` of all hosts.
    memory_bytes: The guest's memory. The thresholds of TCP and UDP memory follow from it.
    own: The sysctls of ``[guest.sysctl]``, which override the derived values.

    >>> guest_sysctls(16 << 20, 1 << 30, {})["net.ipv4.tcp_mem"]
    '98304 131072 196608'
    """
    pages = memory_bytes // _PAGE_BYTES
    # tcp_mem has three thresholds (low, pressure, high); as in the kernel's tcp_init_mem, they are 3/4, 1 and 3/2 of a
    # share of memory. The kernel takes a sixteenth of the free pages. We take half of the guest's pages, because the
    # guest does nothing but networking.
    thresholds = f"{pages // 8 * 3} {pages // 2} {pages // 4 * 3}"
    derived = {
        # There is one backlog per processor, and all hosts and satellites of the guest share it. Linux's default of
        # 1,000 packets is meant for a single machine that receives.
        "net.core.netdev_max_backlog": "100000",
        "net.core.rmem_max": str(buffer_max_bytes),
        "net.core.wmem_max": str(buffer_max_bytes),
        # Without this setting, the kernel would derive tcp_max_orphans from the size of its hash table.
        "net.ipv4.tcp_max_orphans": "4096",
        "net.ipv4.tcp_mem": thresholds,
        "net.ipv4.udp_mem": thresholds,
    }
    return dict(sorted({**derived, **own}.items()))


def is_per_host(name: str) -> bool:
    """Return whether Linux 6.12 has this sysctl per network namespace (tables of net/core and of net/ipv4).

    A name under `net.` belongs to a namespace if none of the lists below contains it. All other names are sysctls of
    the whole guest.

    >>> is_per_host("net.ipv4.tcp_sack"), is_per_host("net.ipv4.tcp_mem")
    (True, False)
    """
    if name.startswith("net.core."):
        return name in _CORE_PER_NAMESPACE
    return name.startswith("net.") and name not in _IPV4_GLOBAL


# The page size of x86-64 is needed because the sysctls tcp_mem and udp_mem count pages.
_PAGE_BYTES = 4096
# LOSS_DETECTION_SHIFT of guest/tcp/loss_detection.h
_LOSS_DETECTION_SHIFT = 4
# Values of net.ipv4.tcp_ecn; 2 is Linux's default, which accepts ECN but does not request it
# (Documentation/networking/ip-sysctl.rst).
_ECN = {"passive": "2", "on": "1", "off": "0"}

# These are the defaults of Linux 6.12 (tcp_sk_init in net/ipv4/tcp_ipv4.c), except for tcp_no_metrics_save. If a flow
# used the metrics of an earlier flow, the order of flows would matter.
_LINUX = {
    "net.ipv4.tcp_adv_win_scale": "1",
    "net.ipv4.tcp_autocorking": "1",
    "net.ipv4.tcp_comp_sack_delay_ns": "1000000",
    "net.ipv4.tcp_comp_sack_nr": "44",
    "net.ipv4.tcp_comp_sack_slack_ns": "100000",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_limit_output_bytes": "1048576",
    "net.ipv4.tcp_max_reordering": "300",
    "net.ipv4.tcp_min_rtt_wlen": "300",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_pacing_ca_ratio": "120",
    "net.ipv4.tcp_pacing_ss_ratio": "200",
    "net.ipv4.tcp_recovery": "1",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
}

# RACK is off and the duplicate-ACK threshold is fixed at 3. tcp_recovery = 0 alone would not fix the threshold, which
# Linux raises up to tcp_max_reordering when it sees reordering.
_NORACK = _LINUX | {"net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_max_reordering": "3"}

# With timestamps (Eifel) or DSACK, the kernel undoes a spurious reduction of the window; this profile has neither, so
# the reduction remains.
_CLASSIC = _NORACK | {"net.ipv4.tcp_timestamps": "0", "net.ipv4.tcp_dsack": "0"}

PROFILE_SYSCTLS = {
    "linux": _LINUX,
    "norack": _NORACK,
    "classic": _CLASSIC,
    # The profile `newreno` is NewReno of RFC 6582, without SACK and F-RTO, as in simulators.
    "newreno": _CLASSIC | {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_frto": "0"},
}

_CORE_PER_NAMESPACE = ("net.core.somaxconn", "net.core.optmem_max", "net.core.txrehash")
# Sysctls under /proc/sys/net/ipv4 that exist only in the first namespace (ipv4_table in net/ipv4/sysctl_net_ipv4.c).
_IPV4_GLOBAL = (
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.inet_peer_threshold",
    "net.ipv4.inet_peer_minttl",
    "net.ipv4.inet_peer_maxttl",
    "net.ipv4.fib_sync_mem",
)
