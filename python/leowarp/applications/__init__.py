# SPDX-License-Identifier: Apache-2.0
"""The programs of leowarp that run in the guest like a user's own programs, and write their measurements to
`measures.jsonl`.

The programs need only Python 3.11 and its standard library. For example, `python3 {applications} page ...` in a
scenario's flow starts a program. The placeholder `{applications}` stands for `LAUNCHER` (docs/guides/measures.md). No
other module of leowarp imports `programs/`, because these programs run in the guest's own Python.
"""

from pathlib import Path

LAUNCHER = Path(__file__).resolve().parent / "launch.py"
"""The path that replaces `{applications}` in a scenario."""
