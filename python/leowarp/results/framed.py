# SPDX-License-Identifier: Apache-2.0
"""A page in a frame, for display in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class FramedPage:
    """An animated page of runs, for a notebook: it is in a frame, where its own policy applies."""

    text: str

    def _repr_html_(self) -> str:
        # srcdoc is an attribute, so unescaped quotes would end it, and unescaped ampersands would be misread.
        return (
            '<iframe style="width: 100%; height: 820px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({len(self.text)} characters)"
