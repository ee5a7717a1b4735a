# SPDX-License-Identifier: Apache-2.0
"""The Content-Security-Policy of a page: the scripts that a browser would run, and what the policy forbids."""

import base64
import hashlib
import re
from html.parser import HTMLParser


class _Scripts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.policy, self.scripts, self.forbidden, self._type = None, [], [], None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            assert not self.scripts, "a policy holds only for what comes after it"
            self.policy = given["content"]
        self.forbidden += [f"{tag} {name}" for name in given if name.startswith("on")]
        self.forbidden += [f"{tag} {name}" for name in ("href", "src") if "javascript:" in (given.get(name) or "")]
        source = given.get("src")
        if source is not None and not source.startswith("data:"):
            self.forbidden.append(f"{tag} src")
        if tag == "script":
            self._type = given.get("type", "text/javascript")
            self.scripts += [""] if self._type == "text/javascript" else []

    def handle_endtag(self, tag):
        if tag == "script":
            self._type = None

    def handle_data(self, data):
        if self._type == "text/javascript":
            self.scripts[-1] += data


def demand_policy(text: str) -> None:
    """Fail unless a page's policy blocks every request, and allows exactly the page's own scripts."""
    page = _Scripts()
    page.feed(text)
    assert page.policy is not None, "the page has no Content-Security-Policy"
    assert "default-src 'none'" in page.policy
    allowed = set(re.findall(r"'sha256-([^']+)'", page.policy))
    for script in page.scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed, script[:80]
    assert "unsafe-inline" not in page.policy.split("style-src")[0]
    assert page.forbidden == []
