# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory with its figures, and how a notebook shows it."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.rundir import REPORT, RunDirectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Run(RunDirectory):
    """A complete run: `plan`, `summary`, `manifest`, `warnings`, tables as data frames, figures, the report's path."""

    @property
    def report(self) -> Path | None:
        """The report's page, or None if the run was made without one (`leowarp report RUN` makes it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def figure(self, name: str) -> Figure:
        """A figure of the report by its name, for instance "goodput", as a matplotlib Figure."""
        from leowarp import report

        return report.figure(self.path, name)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in summary_lines(self.summary)
        )
        warnings = "".join(f"<li>{html.escape(warning)}</li>" for warning in self.warnings)
        picture = io.BytesIO()
        # only TCP has a goodput
        figure = self.figure("goodput" if any(flow.kind == "tcp" for flow in self.plan.flows) else "probes")
        figure.set_size_inches(6, 2.8)
        figure.savefig(picture, format="png", dpi=90)
        return (
            f"<b>{html.escape(str(self.path))}</b>"
            + (f"<ul>{warnings}</ul>" if warnings else "")
            + f"<table>{rows}</table><img src='data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}'>"
        )


def summary_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary's scalars as (name, text), those of a flow with its number before the name; null is a dash."""
    lines = [(name, _text(value)) for name, value in summary.items() if not isinstance(value, (dict, list))]
    for flow in summary.get("flows", []):
        number = flow.get("flow", 0)
        lines += [
            (f"flow {number}: {name}", _text(value))
            for name, value in flow.items()
            if name != "flow" and not isinstance(value, (dict, list))
        ]
    return lines


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
