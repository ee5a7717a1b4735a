# SPDX-License-Identifier: Apache-2.0
"""A constellation: links between satellites and stations, and routes over them, as they change."""

from leowarp.media.constellation.planned import PlannedConstellation

__all__ = ["PlannedConstellation"]
