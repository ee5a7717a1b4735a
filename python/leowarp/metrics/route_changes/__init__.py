# SPDX-License-Identifier: Apache-2.0
"""The metrics of what route changes do to flows: causes of losses, recovery, handovers."""
