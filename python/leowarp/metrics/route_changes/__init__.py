# SPDX-License-Identifier: Apache-2.0
"""Metrics of the effects of a route change: causes of losses, recovery, handovers."""
