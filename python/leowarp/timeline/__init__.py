# SPDX-License-Identifier: Apache-2.0
"""Builds the timelines of all media, and describes a timeline in numbers. A timeline contains all events of the
network. The guest gets no information about the network except these events."""

from leowarp.timeline.description import describe, warnings_of
from leowarp.timeline.files import write_table
