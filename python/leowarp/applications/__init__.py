# SPDX-License-Identifier: Apache-2.0
"""Programs of leowarp that run in the guest like any user's program, and write their measurements to `measures.jsonl`.

The programs need only Python 3.11 and its standard library: `python3 {applications} page ...` in a scenario's flow,
where `{applications}` stands for `LAUNCHER` (docs/guides/measures.md). No module of leowarp imports `programs/`.
"""

from pathlib import Path

LAUNCHER = Path(__file__).resolve().parent / "launch.py"
"""Path that replaces `{applications}`."""
