# SPDX-License-Identifier: Apache-2.0
"""The names that a scenario can use: presets, places, cities, examples."""
