# SPDX-License-Identifier: Apache-2.0
"""The Content-Security-Policy of leowarp's HTML pages. A page sends no request, and runs only scripts of leowarp."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy_tag(scripts: Sequence[str]) -> str:
    """Return the ``<meta>`` element with the policy, for the head of a page. The policy applies only to elements that
    follow the ``<meta>`` element.

    A page may show a run of somebody else, whose texts must not run as scripts. The policy allows scripts by their
    hashes. Inline styles need 'unsafe-inline'.

    scripts: The text of each script, exactly as between its tags. If the script in the page differs by a single blank,
        a browser does not run it. Data blocks are not scripts (example: ``<script type="application/json">``).
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
