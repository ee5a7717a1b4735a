# SPDX-License-Identifier: Apache-2.0
"""Parameters of an access profile from recordings, each with an interval: `fit(measurements)`."""

from leowarp.fitting.fit import Fit, fit
from leowarp.fitting.written import preset_text
