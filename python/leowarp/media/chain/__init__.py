# SPDX-License-Identifier: Apache-2.0
"""A chain: links in a row that never change."""

from leowarp.media.chain.planned import PlannedChain

__all__ = ["PlannedChain"]
