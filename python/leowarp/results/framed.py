# SPDX-License-Identifier: Apache-2.0
"""A page in an HTML frame, for display in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class FramedPage:
    """An animated page of runs, for a notebook. A page in a frame can have its own content security policy. If the page
    were part of the notebook's page, this policy would not be valid."""

    text: str

    def _repr_html_(self) -> str:
        # The page is the value of the attribute srcdoc, in which an unescaped quote would end the value, and an
        # unescaped ampersand would be misread.
        return (
            '<iframe style="width: 100%; height: 820px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({len(self.text)} characters)"
