# SPDX-License-Identifier: Apache-2.0
"""The number of examples that a fuzz target tries in one round. `tools/fuzz.py` sets it with an environment
variable."""

import os

EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "50"))
"""The number of inputs that each target tries in one round."""
