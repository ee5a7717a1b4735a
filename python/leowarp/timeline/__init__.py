# SPDX-License-Identifier: Apache-2.0
"""Everything that happens to the network, as events: `timeline(plan)`. The guest knows nothing else."""

from leowarp.routes.table import paths_of
from leowarp.timeline.files import read_table, write_table
from leowarp.timeline.from_access import from_access, slots_of_timeline
from leowarp.timeline.from_chain import from_chain
from leowarp.timeline.from_jittered import from_jittered
from leowarp.timeline.from_measured import from_measured
from leowarp.timeline.from_mobile import from_mobile
from leowarp.timeline.from_routes import from_routes
from leowarp.timeline.of_plan import check, describe, timeline, warnings_of
from leowarp.timeline.replay import Replay, replay

__all__ = [
    "Replay",
    "check",
    "describe",
    "from_access",
    "from_chain",
    "from_jittered",
    "from_measured",
    "from_mobile",
    "from_routes",
    "paths_of",
    "read_table",
    "replay",
    "slots_of_timeline",
    "timeline",
    "warnings_of",
    "write_table",
]
