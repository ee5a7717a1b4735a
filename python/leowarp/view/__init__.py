# SPDX-License-Identifier: Apache-2.0
"""A run to look at: satellites, paths, packets and traces on one page with one clock, one HTML file."""

from leowarp.view.page import FILE, MOST_BYTES, page, write_view

__all__ = ["FILE", "MOST_BYTES", "page", "write_view"]
