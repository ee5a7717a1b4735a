# SPDX-License-Identifier: Apache-2.0
"""Make a page that shows runs in motion, in one HTML file: satellites, paths, packets and traces with a common clock.

`results.run.Run` reads a run. `sky`, `ways`, `series` and `packets` each compute a part of the page's data. `document`
combines these parts, `container` packs them, and `page` adds script and style. `web/` contains the code that runs in
the browser. The keys of the page's data are the field names of the interfaces in `web/`.
"""

from leowarp.view.page import FILE, page, write_view
