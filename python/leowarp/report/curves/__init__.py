# SPDX-License-Identifier: Apache-2.0
"""Figures drawn from arrays instead of runs: fading, densities, recordings."""
