# SPDX-License-Identifier: Apache-2.0
"""The metrics of packet reordering: RFC 4737, RFC 5236, mean displacement and entropy.

>>> import leowarp as lw
>>> lw.reordering.ratio([1, 2, 3, 5, 6, 7, 8, 4, 9, 10])
0.1
>>> lw.reordering.density([1, 6, 7, 2, 3, 4, 5, 8], threshold_pkts=4).to_dict()
{'-4': 0.25, '0': 0.25, '2': 0.5}

The Rust crate `reorder` computes all metrics in one pass over a sequence of any length. The crate's memory depends on
the thresholds only.
"""

from leowarp.base.skips import Skip, skipped_line
from leowarp.reordering.arrivals import CapturedAt, Flow, Part, Reading, Source
from leowarp.reordering.files import Measured, Survey, flows, measure_file, reading, survey
from leowarp.reordering.measures import (
    Meter,
    buffer_density,
    density,
    entropy,
    extents,
    gaps,
    mean_displacement,
    measure,
    n_reordering,
    ratio,
    runs,
)
from leowarp.reordering.results import BufferDensity, Density, Extents, Gaps, NReordering, Reordering, Runs
from leowarp.reordering.settings import Settings

__all__ = [
    "BufferDensity",
    "CapturedAt",
    "Density",
    "Extents",
    "Flow",
    "Gaps",
    "Measured",
    "Meter",
    "NReordering",
    "Part",
    "Reading",
    "Reordering",
    "Runs",
    "Settings",
    "Skip",
    "Source",
    "Survey",
    "buffer_density",
    "density",
    "entropy",
    "extents",
    "flows",
    "gaps",
    "mean_displacement",
    "measure",
    "measure_file",
    "n_reordering",
    "ratio",
    "reading",
    "runs",
    "skipped_line",
    "survey",
]
