# SPDX-License-Identifier: Apache-2.0
"""Estimate the parameters of an access profile from recordings, each with a confidence interval:
`fit(measurements)`."""

from leowarp.fitting.fit import Fit, fit
from leowarp.fitting.written import preset_text
