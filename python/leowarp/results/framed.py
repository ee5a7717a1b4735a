# SPDX-License-Identifier: Apache-2.0
"""A page in a frame, for display in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class FramedPage:
    """An animated page of runs, for a notebook. The page is in a frame, where its own content security policy is
    valid."""

    text: str

    def _repr_html_(self) -> str:
        # srcdoc is an attribute: an unescaped quote would end it, and an unescaped ampersand would be misread.
        return (
            '<iframe style="width: 100%; height: 820px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({len(self.text)} characters)"
