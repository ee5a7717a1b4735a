# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory with its figures, and how a notebook shows it."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.overview import Section, overview
from leowarp.rundir import REPORT, RunDirectory

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from leowarp.metrics import Tables
    from leowarp.view import View


class Run(RunDirectory):
    """A complete run: `plan`, `summary`, `manifest`, `warnings`, tables as data frames, figures, the report's path."""

    @property
    def report(self) -> Path | None:
        """The report's page, or None if the run was made without one (`leowarp report RUN` makes it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def reordering(self, flow: int | None = None, scope: str | None = None) -> pd.DataFrame:
        """Reordering of each flow, one row a scope: the "run", each "window" of it, around each "change" of the path.

        Columns: `leowarp.metrics.REORDERING_COLUMNS`; `table("reordering")` has them as the guest wrote them.
        """
        from leowarp import metrics

        return _of(metrics.reordering(*self._reordering()), flow=flow, scope=scope)

    def densities(self, flow: int | None = None, scope: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """Histograms of reordering, one row a bar; kinds: "density" (RD), "buffer_density" (RBD), "n_reordering",
        "extent".

        Columns: `leowarp.metrics.DENSITY_COLUMNS`.
        """
        from leowarp import metrics

        return _of(metrics.densities(*self._reordering()), flow=flow, scope=scope, kind=kind)

    def causes(self, flow: int | None = None) -> pd.DataFrame:
        """What each route change made late, lost or sent again, and what none did, one row a flow and change.

        Columns: `leowarp.metrics.CAUSE_COLUMNS`. It is read out of the truth of each packet, so it takes a moment.
        """
        from leowarp import metrics

        tables = metrics.read_tables(self.path)
        return _of(metrics.causes(tables, metrics.flow_pairs(self.plan.flows)), flow=flow)

    def _reordering(self) -> tuple[Tables, dict[tuple[str, str], list[int]]]:
        from leowarp import metrics

        trace = {name: self.table(name) for name in ("reordering", "densities")}
        timeline = self.table("timeline")
        return metrics.tables_of(trace, timeline=timeline, where=self.path), metrics.flow_pairs(self.plan.flows)

    def figure(self, name: str) -> Figure:
        """A figure of the report by its name, for instance "goodput", as a matplotlib Figure."""
        from leowarp import report

        return report.figure(self.path, name)

    def view(self, *others: Run, out: Path | str | None = None) -> View:
        """The run, and others beside it with the same clock, as one page on which it moves; a notebook shows it.

        Parameters
        ----------
        others : Run
        out : path, optional
            A file to write it to as well.
        """
        from leowarp.view import View, page, write_text

        found = View(page([run.path for run in (self, *others)]))
        if out is not None:
            write_text(found.text, Path(out))
        return found

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        tables = "".join(_html_table(section) for section in overview(self.summary))
        warnings = "".join(f"<li>{html.escape(warning)}</li>" for warning in self.warnings)
        picture = io.BytesIO()
        # only TCP has a goodput
        figure = self.figure("goodput" if any(flow.kind == "tcp" for flow in self.plan.flows) else "probes")
        figure.set_size_inches(6, 2.8)
        figure.savefig(picture, format="png", dpi=90)
        return (
            f"<b>{html.escape(str(self.path))}</b>"
            + (f"<ul>{warnings}</ul>" if warnings else "")
            + f"{tables}<img src='data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}'>"
        )


def _of(frame: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Rows with the values that are wanted; None: any."""
    for column, value in wanted.items():
        if value is not None:
            frame = frame[frame[column] == value]
    return frame.reset_index(drop=True)


def _html_table(section: Section) -> str:
    def row(cell: str, texts: tuple[str | None, ...]) -> str:
        name, *values = [html.escape("–" if text is None else text) for text in texts]
        first = f"<{cell} style='text-align:left'>{name}</{cell}>"
        return f"<tr>{first}{''.join(f'<{cell}>{value}</{cell}>' for value in values)}</tr>"

    head = row("th", (section.title, *section.columns))
    return f"<table>{head}{''.join(row('td', (name, *values)) for name, values in section.rows)}</table>"
