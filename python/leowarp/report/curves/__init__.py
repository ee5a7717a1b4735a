# SPDX-License-Identifier: Apache-2.0
"""Figures that are drawn from arrays, not from runs: fading, densities, recordings."""
