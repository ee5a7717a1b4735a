# SPDX-License-Identifier: Apache-2.0
"""The Content-Security-Policy of pages that leowarp writes: no request leaves, and only leowarp's own scripts run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy_tag(scripts: Sequence[str]) -> str:
    """The ``<meta>`` element for the head of a page, before anything that it is to hold for.

    A page may be handed on with a run that somebody else made. Scripts are allowed by their hashes, so that no text of
    a plan can become one. Styles are in the page, which needs 'unsafe-inline'.

    scripts: Exactly the text between the tags: one blank more, and a browser runs nothing. Data blocks, such as
        ``<script type="application/json">``, are not scripts.
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
