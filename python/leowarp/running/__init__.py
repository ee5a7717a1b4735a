# SPDX-License-Identifier: Apache-2.0
"""Makes runs: the steps from a plan to a run directory, for one run or many. The name `leowarp.run` is the function,
not this package."""
