# SPDX-License-Identifier: Apache-2.0
"""A measured path: one link that follows what somebody measured.

Files are read by `timeline.measured`, which knows formats and gaps; here their rows become events.
"""

from leowarp.media.measured.planned import PlannedMeasured

__all__ = ["PlannedMeasured"]
