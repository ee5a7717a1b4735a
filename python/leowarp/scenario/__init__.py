# SPDX-License-Identifier: Apache-2.0
"""Text to scenario, scenario to plan."""
