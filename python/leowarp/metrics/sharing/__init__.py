# SPDX-License-Identifier: Apache-2.0
"""Metrics of paths that several flows share: capacity, shares, competition."""
