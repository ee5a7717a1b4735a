# SPDX-License-Identifier: Apache-2.0
"""`leowarp verify`: check that a directory is as leowarp wrote it, and that its plan gives the same results again.

`files` compares every file with the manifest. `second_run` runs a plan again and makes the comparisons that `stages`
lists. `samples` runs some runs of a study again and compares them. This package module imports none of them, because
comparing hashes needs no guest.
"""
