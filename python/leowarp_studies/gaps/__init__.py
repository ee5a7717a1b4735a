# SPDX-License-Identifier: Apache-2.0
"""The harm of a gap in addition to the harm of a route change, apart from reordering and the queue left behind; also
lasers that have to be pointed, and dishes."""
