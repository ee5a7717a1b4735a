# SPDX-License-Identifier: Apache-2.0
"""The Content-Security-Policy of pages that leowarp writes: a page sends no request, and runs only leowarp's own
scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy_tag(scripts: Sequence[str]) -> str:
    """The ``<meta>`` element for the head of a page. The element must precede everything to which it applies.

    A page may be passed on with a run that somebody else made. Scripts are allowed by their hashes, so no text of a
    plan can run as a script. Styles are inline, which needs 'unsafe-inline'.

    scripts: The texts of the scripts, exactly as between the tags. With one more blank, a browser does not run the
        script. Data blocks, such as ``<script type="application/json">``, are not scripts.
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
