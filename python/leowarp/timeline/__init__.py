# SPDX-License-Identifier: Apache-2.0
"""All events of the network: functions with which every medium builds its timeline, and a description of a timeline in
numbers. The guest gets no information about the network except these events."""

from leowarp.timeline.description import describe, warnings_of
from leowarp.timeline.files import read_table, write_table
from leowarp.timeline.replay import Replay, replayed
