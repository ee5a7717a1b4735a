# SPDX-License-Identifier: Apache-2.0
"""Measured paths: read the files of other tools as a `Measurement`, and describe a measurement in numbers."""

from leowarp.timeline.recordings.description import Description, describe
from leowarp.timeline.recordings.formats.files import read, read_capacity
from leowarp.timeline.recordings.measurement import Capacity, Measurement, Series
from leowarp.timeline.recordings.period.schedule import Schedule
