# SPDX-License-Identifier: Apache-2.0
"""What a gap adds to a route change, beside reordering and the queue left behind; lasers that are pointed; dishes."""
