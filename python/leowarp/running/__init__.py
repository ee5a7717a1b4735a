# SPDX-License-Identifier: Apache-2.0
"""Making runs: the street from a plan to a run directory, one run or many. (`leowarp.run` is the function.)"""
