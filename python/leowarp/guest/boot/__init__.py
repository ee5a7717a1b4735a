# SPDX-License-Identifier: Apache-2.0
"""One boot of the guest: its process, its console, what it waits for, how it fails."""
