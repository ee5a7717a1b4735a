# SPDX-License-Identifier: Apache-2.0
"""The metrics of paths that several flows share: capacity, shares, competition."""
