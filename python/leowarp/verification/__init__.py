# SPDX-License-Identifier: Apache-2.0
"""`leowarp verify`: checks that a directory is as leowarp wrote it, and that its plan gives the same results again.

`files` compares every file with the manifest. `second_run` runs a plan again and makes the comparisons that `stages`
lists. `samples` repeats some runs of a study and compares them. This package imports none of these modules, because
comparing hashes needs no guest.
"""
