# SPDX-License-Identifier: Apache-2.0
"""Whether a directory holds what leowarp wrote, and whether its plan gives the same once more (`leowarp verify`).

`files` compares every file with the manifest. `second_run` re-runs a plan and goes through `stages`, the table of
comparisons. `samples` does so with some runs of a study. The package imports none of them: hashing needs no guest.
"""
