# SPDX-License-Identifier: Apache-2.0
"""A measured path: one link that follows what somebody measured."""

from leowarp.media.measured.planned import PlannedMeasured

__all__ = ["PlannedMeasured"]
