# SPDX-License-Identifier: Apache-2.0
"""Makes one run or many runs, from a plan to the run directory. The name `leowarp.run` is the function, not this
package."""
