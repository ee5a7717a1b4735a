# SPDX-License-Identifier: Apache-2.0
"""Figures that are drawn from arrays instead of runs: fading, densities, recordings."""
