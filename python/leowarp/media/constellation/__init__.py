# SPDX-License-Identifier: Apache-2.0
"""A constellation: changing links between satellites and stations, and routes over them."""

from leowarp.media.constellation.planned import PlannedConstellation

__all__ = ["PlannedConstellation"]
