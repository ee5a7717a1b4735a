# SPDX-License-Identifier: Apache-2.0
"""Figures of arrays instead of runs: fading, densities, recordings."""
