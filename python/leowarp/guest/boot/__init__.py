# SPDX-License-Identifier: Apache-2.0
"""A boot of the guest. This package starts the guest's process, reads its console, detects standstills and explains
failures."""
