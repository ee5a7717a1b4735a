# SPDX-License-Identifier: Apache-2.0
"""leowarp's own programs, which run in the guest like any other program and write their measurements into
`measures.jsonl`.

They need only Python 3.11 and its standard library: `python3 {applications} page ...` in a scenario's flow, where
`{applications}` stands for `LAUNCHER` (docs/guides/measures.md). leowarp itself never imports `programs/`.
"""

from pathlib import Path

LAUNCHER = Path(__file__).resolve().parent / "launch.py"
"""The path for which `{applications}` stands."""
