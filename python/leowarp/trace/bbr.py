# SPDX-License-Identifier: Apache-2.0
"""Derives the mode of BBR (STARTUP, DRAIN, PROBE_BW or PROBE_RTT). The kernel does not report the mode, so it is
derived from the gains that the kernel reports (TCP_CC_INFO, struct tcp_bbr_info).

BBR sets other gains in each mode (`bbr_update_gains` of net/ipv4/tcp_bbr.c, Linux 6.12). The mode therefore follows
from pacing gain and window gain. BBR sets the gains with each ACK. A mode may also end without an ACK. For example,
PROBE_RTT ends when an idle sender sends again. Until the next ACK, the gains then still show the old mode.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from leowarp.base.tables.metadata import decode_metadata
from leowarp.trace.schema.hosts import BBR_MODE

# bbr_handover uses the same gains. A user's own kernel module may use the gains in another way, so it is not in this
# list.
BBR_CONTROLS = ("bbr", "bbr_handover")

BBR_GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
"""The columns of `sockets` from which the mode is derived."""

_UNIT = 256  # BBR_UNIT of the kernel, by which the agent divides the gains
_HIGH, _DRAIN = _UNIT * 2885 // 1000 + 1, _UNIT * 1000 // 2885  # bbr_high_gain, bbr_drain_gain
_MODES_BY_GAINS = {
    # Before the first ACK the gains are unset, and `bbr_init` begins with STARTUP.
    (0, 0): 0,
    (_HIGH, _HIGH): 0,
    (_DRAIN, _HIGH): 1,
    **{(pacing, 2 * _UNIT): 2 for pacing in (_UNIT * 5 // 4, _UNIT * 3 // 4, _UNIT)},  # bbr_pacing_gain, bbr_cwnd_gain
    (_UNIT, _UNIT): 3,
}


def bbr_modes(pacing_gain: np.ndarray, cwnd_gain: np.ndarray) -> np.ndarray:
    """Return the BBR mode in each sample. The sample's gains determine the mode. The modes are the keys of
    `hosts.BBR_MODES`.

    pacing_gain, cwnd_gain: float array of shape (n,). The values of the columns `bbr_pacing_gain` and `bbr_cwnd_gain`.
        A null value is nan.
    Returns: float array of shape (n,). If a gain is unknown, the result is nan. The result is also nan if no mode has
        these gains, or if two modes have them. After a timeout, STARTUP and DRAIN cannot be distinguished: until the
        next ACK, both have a pacing gain of 1.
    """
    modes = np.full(len(pacing_gain), np.nan)
    for (pacing, cwnd), mode in _MODES_BY_GAINS.items():
        modes[(pacing_gain == pacing / _UNIT) & (cwnd_gain == cwnd / _UNIT)] = mode
    return modes


def with_bbr_mode(sockets: pa.Table) -> pa.Table:
    """Return the table `sockets` with one more column at the end: BBR's mode as a number (`hosts.BBR_MODE`).

    sockets: The rows, with the table's metadata, which contain the congestion control of each flow.
    """
    flows = decode_metadata(sockets.schema, "flows") or []
    bbr = [number for number, flow in enumerate(flows) if flow["congestion_control"] in BBR_CONTROLS]
    modes = np.full(len(sockets), np.nan)
    # A table of an older run may lack the columns of the gains.
    if bbr and set(BBR_GAINS) <= set(sockets.column_names):
        found = bbr_modes(*(sockets.column(name).to_numpy() for name in BBR_GAINS))
        modes = np.where(np.isin(sockets.column("flow").to_numpy(), bbr), found, np.nan)
    codes = pa.array(np.nan_to_num(modes).astype("uint8"), mask=np.isnan(modes))
    return sockets.append_column(BBR_MODE.field(), codes)
