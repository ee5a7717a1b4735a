# SPDX-License-Identifier: Apache-2.0
"""A mobile channel: the fading last hop to a moving terminal, with hybrid ARQ."""

from leowarp.media.mobile.parameters import described, fading_of, harq_of, realisation_of, rows_of, warnings_about
from leowarp.media.mobile.timeline import SATELLITE, TERMINAL, PlannedMobile
