# SPDX-License-Identifier: Apache-2.0
"""The harm that a gap adds to that of a route change, apart from reordering and the queue left behind; also lasers that
have to be pointed, and dishes."""
