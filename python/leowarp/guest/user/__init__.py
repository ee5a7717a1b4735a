# SPDX-License-Identifier: Apache-2.0
"""What the user brings into the guest: programs, kernel modules, a shell."""
