# SPDX-License-Identifier: Apache-2.0
"""A study file for tests."""

STUDY = """\
name = "trial"
scenario = "chain"

[set]
"run.duration" = "2 s"
"flows.0.size" = "1 MB"

[parameters]
"chain.delay" = { values = ["0 ms", "1.5 ms"], label = "delay" }
"flows.0.congestion_control" = { values = ["bic", "cubic"], label = "cc" }

[seeds]
first = 1
count = 3
"""
"""12 runs."""
