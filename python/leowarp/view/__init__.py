# SPDX-License-Identifier: Apache-2.0
"""Make a page that shows a run: satellites, paths, packets and traces with a common clock, in one HTML file.

`source` reads a run. `sky`, `ways`, `series` and `packets` each compute a part of the page's data. `document` combines
these parts, `container` packs them, and `page` adds script and style. `web/` contains the code that runs in the
browser. Each name in a header made here is a field of an interface in `web/`.
"""

from leowarp.view.page import FILE, MOST_BYTES, page, write_view
