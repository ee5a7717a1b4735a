# SPDX-License-Identifier: Apache-2.0
"""What a gap adds to a route change: gaps, lasers that are pointed, and dishes, beside order and the queue left behind."""
