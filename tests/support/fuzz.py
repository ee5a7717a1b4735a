# SPDX-License-Identifier: Apache-2.0
"""Number of examples that a fuzz target tries in one round, from the environment of `tools/fuzz.py`."""

import os

EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "50"))
"""Inputs of each target in one round."""
