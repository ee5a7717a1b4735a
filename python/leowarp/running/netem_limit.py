# SPDX-License-Identifier: Apache-2.0
"""Checks whether the packets of a run fit into netem's limit. This limit counts both waiting packets and packets in the
delay line.

The timeline sets netem's limit to the link's queue plus the number of full packets that fit into its delay line.
Smaller packets at the same rate mean more packets in the delay line. netem drops packets above the limit.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.guest.setup.input import ETHERNET_BYTES
from leowarp.scenario import Plan
from leowarp.scenario.workload.flows import PROBE_HEADER_BYTES


def warnings_of(plan: Plan, events: pa.Table) -> list[str]:
    """If the small packets of UDP and ping flows may exceed netem's limit, return a list with one warning that names
    the limit. Otherwise, return an empty list.

    events: The timeline of the plan.
    """
    if plan.network.link_model != "netem":
        return []
    links = events.filter((pc.field("event") == "link") & pc.field("limit_pkts").is_valid())
    rate_bps, delay_ns = pc.max(events["rate_bps"]).as_py(), pc.max(events["delay_ns"]).as_py()
    if not links.num_rows or not rate_bps or not delay_ns:
        return []
    limit_pkts = pc.min(links["limit_pkts"]).as_py()
    full_bytes = plan.network.mtu_bytes + ETHERNET_BYTES
    # The sum assumes the worst case that all flows share one link. The link's rate limits the sum.
    pkts_per_s, bits_per_s = 0.0, 0.0
    for flow in plan.flows:
        size_bytes = (flow.payload_bytes or 0) + plan.network.ip_header_bytes + PROBE_HEADER_BYTES + ETHERNET_BYTES
        if flow.kind not in ("udp", "ping") or size_bytes >= full_bytes:
            continue
        pkts_per_s += flow.paced_pkts_per_s
        bits_per_s += flow.paced_pkts_per_s * 8 * size_bytes
    if bits_per_s > rate_bps:
        pkts_per_s *= rate_bps / bits_per_s
    flying_pkts = round(pkts_per_s * delay_ns / 1e9)
    if flying_pkts <= limit_pkts:
        return []
    return [
        f"netem's limit on a link is {limit_pkts:,} packets, those in its delay line included: {flying_pkts:,} small "
        "packets of UDP and ping may be in flight, and those beyond the limit are dropped "
        '(network.link_model = "leolink" counts waiting packets alone; or a longer queue)'
    ]
