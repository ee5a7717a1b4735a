# SPDX-License-Identifier: Apache-2.0
"""How long fuzz targets go on: examples of one round, from the environment of `tools/fuzz.py`."""

import os

EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "50"))
"""Inputs of each target in one round."""
