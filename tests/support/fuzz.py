# SPDX-License-Identifier: Apache-2.0
"""Number of examples that a fuzz target tries in one round; `tools/fuzz.py` sets the number in the environment."""

import os

EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "50"))
"""Number of inputs that each target tries in one round."""
