# SPDX-License-Identifier: Apache-2.0
"""`leowarp verify`: check that a directory is as leowarp wrote it, and that its plan gives the same results again.

`files` compares every file with the manifest. `second_run` re-runs a plan and processes `stages`, the table of
comparisons. `samples` re-runs and compares some runs of a study. The package itself imports none of its modules:
hashing needs no guest.
"""
