# SPDX-License-Identifier: Apache-2.0
"""What a scenario can name: presets, places, cities, examples."""
