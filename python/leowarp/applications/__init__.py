# SPDX-License-Identifier: Apache-2.0
"""Programs of ours that run in the guest as anybody's do, and write what they measure into `measures.jsonl`.

They need a Python 3.11 and its standard library alone: `python3 {applications} page ...` in a scenario's flow, where
`{applications}` stands for `LAUNCHER` (docs/guides/measures.md). Nothing of leowarp imports `programs/`.
"""

from pathlib import Path

LAUNCHER = Path(__file__).resolve().parent / "launch.py"
"""What `{applications}` stands for."""
