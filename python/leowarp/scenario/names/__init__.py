# SPDX-License-Identifier: Apache-2.0
"""Names that a scenario can use: presets, places, cities, examples."""
