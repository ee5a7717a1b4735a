# SPDX-License-Identifier: Apache-2.0
"""A jittered path: each packet has a random delay of its own."""

from leowarp.media.jittered.planned import PlannedJittered

__all__ = ["PlannedJittered"]
