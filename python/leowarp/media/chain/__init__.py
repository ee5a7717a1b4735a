# SPDX-License-Identifier: Apache-2.0
"""A chain: links in a row that never change.

For calibration and tests: probes over it have closed forms to hold against (design/leolink.md, docs/accuracy.md).
"""

from leowarp.media.chain.planned import PlannedChain

__all__ = ["PlannedChain"]
