# SPDX-License-Identifier: Apache-2.0
"""Numbers that tests and explanations of several claims use. Each function computes its numbers from a single run."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from leowarp import Run, TraceError
from leowarp.metrics import CAUSES, DATA, goodput, holding_ns, path_queues, weighted_quantile
from leowarp.metrics.inputs.changes import pair_routes, path_changes
from leowarp.metrics.inputs.tables import floats, truths
from leowarp.scenario.schema import Ground, Isl

SKIP_NS = 10_000_000_000
"""The time in ns that is left out at the start of a run. The study's figures show long transfers, but not their slow
start."""

BIN_NS = 50_000_000
"""The length of a bin in ns. The study samples goodput at 20 Hz."""

NAMES = {
    "reno": "Reno",
    "cubic": "CUBIC",
    "bbr": "BBR",
    "nine-planes": "9 planes",
    "aalborg-cape-town": "Aalborg-Cape Town",
    "nine-planes-bbr": "9 planes, BBR",
    "aalborg-cape-town-bbr": "Aalborg-Cape Town, BBR",
}
"""A dict from the short name of a run to its name in texts."""

COUNTERS = (
    "TCPFastRetrans", "TCPTimeouts", "TCPLossProbes", "TCPDSACKRecv", "TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo",
    "TCPLossUndo", "TCPSpuriousRTOs", "TCPSACKReorder", "TCPTSReorder", "TCPSackRecovery", "TCPRenoRecovery",
)  # fmt: skip
"""The sender's kernel counters of losses, repairs and undone window reductions (include/uapi/linux/snmp.h)."""
UNDOS = ("TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo")
"""The kernel counters of undone window reductions. Each counter counts the undos with one kind of trigger
(tcp_undo_cwnd_reduction and its callers)."""


QUEUE_OR_CHANCE = tuple(number for number, name in CAUSES.items() if name in ("queue", "loss"))
"""The causes of drops that are unrelated to routes: a full queue, and random loss."""


def rates_bps(run: Run, series: str = "in_order") -> np.ndarray:
    """Return the goodput in 50 ms bins. The first 10 s are left out.

    series: One of `metrics.GOODPUT_SERIES`: "in_order" (data delivered to the application), "acked" (at the sender), or
        "sacked" (arrived data in any order).
    Returns: float64 array of shape (bins,), in bit/s of payload.
    """
    frame = goodput(run.tables, run.main_flow, series, BIN_NS)
    return frame.loc[frame["t_ns"] >= SKIP_NS, "goodput_bps"].to_numpy()


def mean_bps(run: Run, series: str = "in_order") -> float:
    """Return the mean goodput without the first 10 s.

    The parameters are as for `rates_bps`. The result is in bit/s of payload.
    """
    return float(rates_bps(run, series).mean())


def capacity_bps(run: Run) -> float:
    """Return the payload rate in bit/s that the path can carry (95.64 Mbit/s with the study's links).

    A frame has 1514 bytes: 14 of Ethernet, 40 of IP and TCP headers, 12 of TCP timestamps (RFC 7323), and 1448 of
    payload.
    """
    assert run.capacity_bps is not None, "the study's links are all shaped"
    return run.capacity_bps


def srtt_ms(run: Run, q: float) -> float:
    """Return a time-weighted quantile of the smoothed RTT, without the first 10 s.

    q: The quantile, 0 to 1.
    Returns: The quantile in ms, or nan if the flow has no sample.
    """
    frame = run.numbers.srtt[run.main_flow]
    frame = frame[frame["t_ns"] >= SKIP_NS]
    value = weighted_quantile(frame["srtt_us"].to_numpy(), frame["held_ns"].to_numpy(), q)
    return float("nan") if value is None else value / 1e3


def reordered(run: Run) -> pd.DataFrame:
    """Return the changes of `disturbed` that made at least one packet late."""
    changes = disturbed(run)
    return changes[changes["late_pkts"].fillna(0) > 0]


def disturbed(run: Run) -> pd.DataFrame:
    """Return the route changes after which a packet was late or lost. Losses at a full queue and random losses do not
    count.

    A packet may be lost while nodes switch one by one, or while a new link first resolves its neighbour's address.

    Returns: A row per change. The first columns are from the metrics' `changes` (`t_ns`, `late_pkts`, `delay_step_ns`,
        ...). The remaining columns are from `recoveries` of the main flow (`fell_after_ns`, `duration_ns`,
        `cwnd_min_pkts`, ...).
    """
    drops = run.tables.drops
    mine = drops[(drops["flow"] == run.main_flow) & (drops["flow_direction"] == DATA)]
    gone_ns = np.sort(mine.loc[~mine["cause"].isin(QUEUE_OR_CHANCE), "t_ns"].to_numpy(dtype="int64"))
    at_ns = run.changes["t_ns"].to_numpy(dtype="int64")
    # If no link reports the loss, the packet's sending time is used instead. This time may be up to a round trip before
    # the change.
    lost = np.searchsorted(gone_ns, at_ns + 2_000_000_000) > np.searchsorted(gone_ns, at_ns - 200_000_000)
    changes = run.changes[(run.changes["late_pkts"].fillna(0) > 0).to_numpy() | lost]
    mine = run.numbers.recoveries[run.numbers.recoveries["flow"] == run.main_flow]
    # A column that is in both tables would appear twice, as `_x` and `_y`. It is therefore taken from only one table.
    names = [name for name in mine.columns if name not in changes.columns or name == "t_ns"]
    return changes.merge(mine[names], on="t_ns", how="inner")


def counters(run: Run) -> dict[str, int]:
    """Return the sender's TCP counters at the end of the run, with the names of /proc/net/netstat.

    Returns: The counters in `COUNTERS` of the sending host.
    Raises TraceError if the run lacks one of the counters.
    """
    table = run.tables.counters
    sender = run.observed_plan.flows[run.main_flow].source
    mine = table[table["host"] == run.tables.host_number(sender)]
    last = mine.sort_values("t_ns", kind="stable").groupby("counter", observed=True)["value"].last()
    # The trace has names such as TcpExt.TCPTimeouts; `COUNTERS` and the kernel's source have the names without this
    # prefix.
    known = {str(name).removeprefix("TcpExt").lstrip("."): int(value) for name, value in last.items()}
    absent = [name for name in COUNTERS if name not in known]
    if absent:
        # The agent records all counters from the start of a run. If a run lacks a counter, the counter has another name
        # in this kernel.
        raise TraceError(f"{run.path.name} has no TCP counter {', '.join(absent)}", hint="is its kernel your own?")
    return {name: known[name] for name in COUNTERS}


def counters_text(run: Run) -> str:
    """Return the reactions of the sender's TCP as one line of text."""
    counted = counters(run)
    undone = sum(counted[name] for name in UNDOS)
    return (
        f"{counted['TCPSackRecovery']} recoveries, {undone} reductions undone, "
        f"{counted['TCPTimeouts']} timeouts, {counted['TCPDSACKRecv']} DSACKs"
    )


def full_queue_ratio(run: Run, share_of_limit: float) -> float:
    """Return the share of time in which at least one queue on the current path is filled to at least a share of its
    limit. The first 10 s are left out.

    share_of_limit: The share from 0 to 1, relative to the smallest limit on the path. A limit in bytes is converted to
        a number of full packets.
    Returns: A share of time from 0 to 1.
    Raises TraceError if the run recorded no queues.
    """
    # Ground links and ISLs may have different limits, in packets or in bytes. The smaller limit is used, because
    # `share_of_limit` of the larger limit might never be reached.
    limit_pkts = min(_limit_pkts(run, section) for section in (run.plan.isl, run.plan.ground))
    end_ns = run.end_ns
    if run.plan.observe.queues_ns is None:
        raise TraceError(f"{run.path.name} recorded no queues", hint="run it again with observe.queues")
    # Queues are known only at their samples, so the share is computed at these instants.
    grid = np.arange(SKIP_NS, end_ns, run.plan.observe.queues_ns, dtype="int64")
    full = np.zeros(len(grid), dtype=bool)
    flow = run.observed_plan.flows[run.main_flow]
    for in_force, waiting_pkts in path_queues(run.tables, (flow.source, flow.destination), end_ns, grid):
        # Queues of links that are no longer on the route are not counted, although packets may still wait in them.
        full |= in_force & (waiting_pkts >= share_of_limit * limit_pkts)
    return float(full.mean())


def _limit_pkts(run: Run, section: Isl | Ground) -> float:
    """Return a queue's limit in full packets."""
    if section.queue_pkts is not None:
        return float(section.queue_pkts)
    return float(section.queue_bytes or 0) / (run.plan.network.mtu_bytes + section.overhead_bytes)


def isl_delay_span_ns(run: Run) -> int:
    """Return the difference between the largest and the smallest propagation delay of the path's ISLs, in ns. Ground
    links are left out.

    All instants at which link delays change are compared.
    """
    flow = run.observed_plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (flow.source, flow.destination))
    step_ns = int(run.plan.routing.link_interval_ns)
    values = []
    for index, (t_ns, path) in enumerate(zip(routes["t_ns"], routes["path"], strict=True)):
        # A route is valid until the next route of the same pair; the last route is valid until the end of the run.
        until_ns = int(routes["t_ns"].iloc[index + 1]) if index + 1 < len(routes) else run.end_ns
        if path is not None:
            # Within a route, delays change only every `step_ns`, so other instants need not be evaluated.
            isls = list(itertools.pairwise(path[1:-1]))
            for at_ns in range(int(t_ns), until_ns, step_ns):
                values.append(sum(int(run.link_values.delay_ns(a, b, at_ns)) for a, b in isls))
    return max(values) - min(values)


def shortfall_ratio(run: Run, window_ns: int = 5_000_000_000) -> float:
    """Return how much goodput is missing after route changes, as a share of the expected goodput. The expected rate is
    the rate in the second before each change.

    window_ns: The time after a change in which goodput is measured, by default 5 s. Changes in the study's scenarios
        are 30 s apart, so the windows after changes do not overlap.
    Returns: The missing share. The share is below 0 if goodput is higher after changes than before. Without changes,
        the share is nan.
    """
    missing, expected = 0.0, 0.0
    frame = goodput(run.tables, run.main_flow, "in_order", BIN_NS)
    t_ns, rate = frame["t_ns"].to_numpy(), frame["goodput_bps"].to_numpy()
    flow = run.observed_plan.flows[run.main_flow]
    for change in path_changes(run.tables, (flow.source, flow.destination)):
        # If a flow was already slow, the change is not the cause. The reference is therefore the goodput in the second
        # before the change, not the capacity.
        before = rate[(t_ns >= change.t_ns - 1_000_000_000) & (t_ns < change.t_ns)]
        after = rate[(t_ns >= change.t_ns) & (t_ns < change.t_ns + window_ns)]
        if len(before) and len(after):
            expected += float(before.mean()) * len(after)
            missing += float(before.mean()) * len(after) - float(after.sum())
    return missing / expected if expected else float("nan")


def falls_after(run: Run, series: str, instants_ns: Any) -> int:
    """Count the instants after which goodput falls. Goodput falls if any 50 ms bin of the next 2 s has less than half
    of the earlier goodput. The earlier goodput is the mean over the second before the instant.

    series: A goodput series, as in `rates_bps`.
    instants_ns: Route changes, or other instants.
    Returns: The number of instants. An instant does not count if the run has no bins before or after it.
    """
    rate = run.numbers.goodput[run.main_flow, series]
    t_ns, value = rate["t_ns"].to_numpy(), rate["goodput_bps"].to_numpy()
    falls = 0
    for at_ns in instants_ns:
        before = value[(t_ns >= at_ns - 1_000_000_000) & (t_ns < at_ns)]
        after = value[(t_ns >= at_ns) & (t_ns < at_ns + 2_000_000_000)]
        falls += bool(len(before) and len(after) and after.min() < 0.5 * before.mean())
    return falls


def dips_by_cause(run: Run, share_of_median: float) -> dict[str, int]:
    """Count the bins with low in-order goodput ("dips") after 10 s, separately for each kind of event before them.

    "overflow": a data packet was dropped in the second before the bin. "route change": no packet was dropped, but the
    route changed in the 2 s before the bin. "other": no packet was dropped and the route did not change. An example of
    "other": BBR reduces its rate to probe for the smallest RTT.

    share_of_median: The threshold, 0 to 1. A bin is a dip if its goodput is below this share of the median over all
        bins.
    Returns: The number of dips by cause.
    """
    frame = goodput(run.tables, run.main_flow, "in_order", BIN_NS)
    frame = frame[frame["t_ns"] >= SKIP_NS]
    t_ns, rate = frame["t_ns"].to_numpy(), frame["goodput_bps"].to_numpy()
    low = t_ns[rate < share_of_median * np.median(rate)]
    drops = run.tables.drops
    mine = drops[(drops["flow"] == run.main_flow) & (drops["flow_direction"] == DATA)]

    def follows(instants_ns: np.ndarray, within_ns: int) -> np.ndarray:
        instants_ns = np.sort(instants_ns)
        # Events up to the end of the dip's bin are included. An event inside this bin may be the dip's cause.
        last = np.searchsorted(instants_ns, low + BIN_NS, side="left") - 1
        if len(instants_ns) == 0:
            return np.zeros(len(low), dtype=bool)
        return (last >= 0) & (low - instants_ns[np.maximum(last, 0)] <= within_ns)

    # One second is about ten round trips. Within one second, a sender detects and repairs a loss.
    overflow = follows(mine["t_ns"].to_numpy(dtype="int64"), 1_000_000_000)
    # If an overflow precedes a dip, the overflow is taken as the cause, even if the route also changed.
    change = follows(run.changes["t_ns"].to_numpy(dtype="int64"), 2_000_000_000) & ~overflow
    return {
        "overflow": int(overflow.sum()),
        "route change": int(change.sum()),
        "other": int(len(low) - overflow.sum() - change.sum()),
    }


def dips_text(run: Run, share_of_median: float) -> str:
    """Return the result of `dips_by_cause` as a text that explains a verdict."""
    dips = dips_by_cause(run, share_of_median)
    return (
        f"{sum(dips.values())} bins below {share_of_median:.0%} of the median, of which {dips['overflow']} within 1 "
        f"s of a drop, {dips['route change']} else within 2 s of a route change, {dips['other']} neither"
    )


def dips_ratio(run: Run, share_of_median: float, series: str = "in_order") -> float:
    """Return the share of 50 ms bins (see `rates_bps`) whose goodput is below `share_of_median` times the median."""
    rate = rates_bps(run, series)
    return share(rate < share_of_median * median(rate))


def growth_pkts_per_s(run: Run, span_ns: int = 5_000_000_000) -> list[float]:
    """Return how fast the congestion window grows after each change of `disturbed`. The growth is the window's slope
    during the time `span_ns`. This time begins at the lowest sample in the first 2 s after the change.

    span_ns: The time over which the slope is measured.
    Returns: The growth in packets per second after each change. A change is left out if the first or last sample of
        `span_ns` is missing. The growth is below 0 if the window shrank again.
    """
    samples = run.tables.sockets[run.tables.sockets["flow"] == run.main_flow]
    t_ns, cwnd = samples["t_ns"].to_numpy(), floats(samples["cwnd_pkts"])
    slopes = []
    for change_ns in disturbed(run)["t_ns"]:
        near = np.flatnonzero((t_ns > change_ns) & (t_ns <= change_ns + 2_000_000_000))
        if len(near) == 0:
            continue
        # Growth is measured from the lowest sample, so that it does not include the fall of the window.
        low = near[int(np.argmin(cwnd[near]))]
        later = np.searchsorted(t_ns, t_ns[low] + span_ns)
        if later < len(t_ns):
            slopes.append(float(cwnd[later] - cwnd[low]) * 1e9 / span_ns)
    return slopes


def repair_delays_ns(run: Run) -> np.ndarray:
    """Return the repair time in ns of each lost data packet. The repair time is the time from the packet's sending to
    the first retransmission of its first byte.

    The packet records (`drop_cause`) show which packets were really lost, whatever the sender assumed. If a lost packet
    has not been repaired when the run ends, it is left out.

    Returns: int64 array of shape (losses,)
    """
    packets = run.tables.packets
    mine = packets[(packets["flow"] == run.main_flow) & (packets["direction"] == DATA)]
    lost = mine[mine["drop_cause"].notna() & ~truths(mine["is_retransmission"])]
    again = mine[truths(mine["is_retransmission"])].sort_values("sent_ns", kind="stable")
    # Only the first retransmission of a packet is used. If the first retransmission is lost as well, its loss counts as
    # a separate loss.
    first = again.drop_duplicates("seq").set_index("seq")["sent_ns"]
    repaired = lost[lost["seq"].isin(first.index)]
    return (first.loc[repaired["seq"]].to_numpy() - repaired["sent_ns"].to_numpy()).astype("int64")


def estimates_around(run: Run, span_ns: int) -> pd.DataFrame:
    """Return BBR's highest bandwidth estimate before and after each route change. `disturbed` selects the changes.

    span_ns: The length of the time before a change, and of the time after it, in which estimates are read.
    Returns: `before_bps` and `after_bps` (of payload) for each change that has samples before and after it.
    """
    samples = run.tables.sockets[run.tables.sockets["flow"] == run.main_flow]
    known = samples[samples["bbr_bw_bps"].notna()]
    t_ns, estimate = known["t_ns"].to_numpy(), floats(known["bbr_bw_bps"])
    rows = []
    for change_ns in disturbed(run)["t_ns"]:
        before = estimate[(t_ns > change_ns - span_ns) & (t_ns <= change_ns)]
        after = estimate[(t_ns > change_ns) & (t_ns <= change_ns + span_ns)]
        if len(before) and len(after):
            rows.append({"before_bps": before.max(), "after_bps": after.max()})
    return pd.DataFrame(rows, columns=["before_bps", "after_bps"])


def busiest_minute(instants_ns: Any) -> int:
    """Return how many instants the busiest 60 s contain. An instant exactly 60 s after the first does not count.

    >>> busiest_minute([0, 30_000_000_000, 60_000_000_000]), busiest_minute([])
    (2, 0)
    """
    t_ns = np.sort(np.asarray(instants_ns, dtype="int64"))
    if len(t_ns) == 0:
        return 0
    return int((np.searchsorted(t_ns, t_ns + 60_000_000_000, side="left") - np.arange(len(t_ns))).max())


def delay_steps(run: Run) -> int:
    """Count the instants at which the delay of the current path changes, but not the path itself."""
    flow = run.observed_plan.flows[run.main_flow]
    delays = run.numbers.path_delay[flow.source, flow.destination]
    steps_ns = set(delays["t_ns"].to_numpy()[1:][np.diff(delays["delay_ns"].to_numpy(dtype="float64")) != 0])
    return len(steps_ns - set(run.changes["t_ns"]))


def share(values: Any) -> float:
    """Return the share of true values, or nan without values."""
    array = np.asarray(values, dtype="float64")
    return float(array.mean()) if len(array) else float("nan")


def median(values: Any) -> float:
    """Return the median of the values that are not missing, or nan if all values are missing."""
    array = np.asarray(pd.Series(values).dropna(), dtype="float64")
    return float(np.median(array)) if len(array) else float("nan")


def window_weights(run: Run) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the socket samples of the main flow after 10 s, and the time for which each sample is valid.

    Returns samples: The rows of the trace's `sockets`.
    Returns weights: int64 array of shape (samples,). The time in ns from each sample until the next sample, or until
        the end of the run.
    """
    samples = run.tables.sockets[(run.tables.sockets["flow"] == run.main_flow)]
    samples = samples[samples["t_ns"] >= SKIP_NS]
    return samples, holding_ns(samples["t_ns"].to_numpy(), run.end_ns)
