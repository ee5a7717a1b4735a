# SPDX-License-Identifier: Apache-2.0
"""Metrics of what route changes do to flows: causes of losses, recovery, handovers."""
