# SPDX-License-Identifier: Apache-2.0
"""Figures whose data are arrays, not runs: fading, densities, recordings."""
