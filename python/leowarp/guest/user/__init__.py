# SPDX-License-Identifier: Apache-2.0
"""The user's additions to the guest: programs, kernel modules, a shell."""
