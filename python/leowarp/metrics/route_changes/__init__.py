# SPDX-License-Identifier: Apache-2.0
"""Metrics of what follows a route change: causes of losses, recovery, handovers."""
