# SPDX-License-Identifier: Apache-2.0
"""How many examples a fuzz target tries in one round, which `tools/fuzz.py` sets by the environment."""

import os

EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "50"))
"""Number of inputs that each target tries in one round."""
