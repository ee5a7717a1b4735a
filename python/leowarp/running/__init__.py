# SPDX-License-Identifier: Apache-2.0
"""Making runs: all stages from a plan to a run directory, for one run or many. (`leowarp.run` is the function.)"""
