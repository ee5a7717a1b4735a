# SPDX-License-Identifier: Apache-2.0
"""A run to look at: satellites, paths, packets and traces on one page with one clock, one HTML file.

`source` says what is read of a run, `sky`, `ways`, `series` and `packets` each make a part of the page, `document` puts
them together, `container` packs them, `page` wraps them with script and style. The other half is `web/`: a name in a
header here is a field of an interface there.
"""

from leowarp.view.page import FILE, MOST_BYTES, page, write_view

__all__ = ["FILE", "MOST_BYTES", "page", "write_view"]
