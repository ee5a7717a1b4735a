# SPDX-License-Identifier: Apache-2.0
"""One boot of the guest: its process, console, wait conditions and failures."""
