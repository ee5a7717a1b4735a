# SPDX-License-Identifier: Apache-2.0
"""`leowarp verify`: check that a directory is as leowarp wrote it, and that its plan gives the same results again.

`files` compares every file with the manifest. `second_run` runs a plan again and compares the two runs. `stages` lists
what is compared. `samples` repeats some runs of a study and compares them with the stored results. The package itself
does not import these modules. A user who only compares hashes therefore need not import the guest.
"""
