# SPDX-License-Identifier: Apache-2.0
"""Metrics of a path that several flows share: capacity, shares, competition."""
