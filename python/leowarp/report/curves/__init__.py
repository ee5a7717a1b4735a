# SPDX-License-Identifier: Apache-2.0
"""Figures of arrays rather than runs: fading, densities, recordings."""
