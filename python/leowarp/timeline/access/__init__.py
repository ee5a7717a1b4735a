# SPDX-License-Identifier: Apache-2.0
"""Profiles of access links: parameters and a seed to tables of capacity, delay and loss."""

from leowarp.timeline.access.profile import Drawn, Profile, Way
from leowarp.timeline.access.starlink import starlink

__all__ = ["Drawn", "Profile", "Way", "starlink"]
