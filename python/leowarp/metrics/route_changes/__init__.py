# SPDX-License-Identifier: Apache-2.0
"""The metrics of the effects of route changes on flows: causes of losses, recovery, handovers."""
