# SPDX-License-Identifier: Apache-2.0
"""A page in a frame, as a notebook shows it."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class FramedPage:
    """A page on which runs move, as a notebook shows it: in a frame, where its own policy holds."""

    text: str

    def _repr_html_(self) -> str:
        # srcdoc is an attribute: quotes and ampersands would end it or be read as something else.
        return (
            '<iframe style="width: 100%; height: 820px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({len(self.text)} characters)"
