# SPDX-License-Identifier: Apache-2.0
"""Measured paths: what other tools write, as one value; and what it looks like."""

from leowarp.timeline.measured.description import Description, describe
from leowarp.timeline.measured.files import read, read_capacity
from leowarp.timeline.measured.finding import Finding
from leowarp.timeline.measured.measurement import Capacity, Measurement, Series
from leowarp.timeline.measured.schedule import Schedule
from leowarp.timeline.measured.spikes import Spike

__all__ = [
    "Capacity", "Description", "Finding", "Measurement", "Schedule", "Series", "Spike", "describe", "read",
    "read_capacity",
]  # fmt: skip
