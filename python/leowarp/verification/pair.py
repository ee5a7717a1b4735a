# SPDX-License-Identifier: Apache-2.0
"""A run and a second run of its plan. The pages of the first run are compared with pages drawn from the second run."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.base.checksums import manifest_text
from leowarp.base.errors import LeowarpError
from leowarp.base.layout import MANIFEST, REPORT, SUMMARY
from leowarp.results.run import Run
from leowarp.trace.manifest import files_of_run

FIGURES = f"{REPORT}/figures"
REPORT_PAGE = f"{REPORT}/index.html"


@dataclass(frozen=True)
class Pair:
    """The run that is verified (`first`) and its second run (`again`). `scratch` is deleted after the comparison."""

    first: Run
    again: Run
    scratch: Path
    _drawn: dict[str, Path | str] = field(default_factory=dict)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return self.first.manifest

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The second run's summary with the first run's costs: the expected summary of the first run."""
        costs = self.manifest.get("costs", {})
        return self.again.summary | {name: costs.get(name) for name in ("cpu_s", "wall_s")}

    def called(self, directory: str) -> Path:
        """Return a copy of the second run with the directory name, the manifest and the cost of the first run. A report
        shows the names of directory and machine, so that of the copy must be identical."""
        path = self.scratch / "called" / directory
        if not path.exists():
            left_out = shutil.ignore_patterns(REPORT, MANIFEST, SUMMARY)
            shutil.copytree(self.again.path, path, ignore=left_out, copy_function=_linked)
            recorded.write_json(path / SUMMARY, self.summary)
            # The copied manifest gets the sha256 of the second run's files, because tables with equal values may differ
            # in their bytes.
            here = dict(self.manifest) | {"files": files_of_run(path)}
            plainfiles.write(path / MANIFEST, manifest_text(here).encode())
        return path

    def drawn(self, page: str) -> Path | str:
        """Draw a page of the second run again. Return the page's directory, or the reason why it cannot be drawn."""
        # A report is asked for with each of its pictures, but drawn only once.
        if page not in self._drawn:
            self._drawn[page] = self._draw(page)
        return self._drawn[page]

    def _draw(self, page: str) -> Path | str:
        made = self.manifest.get("drawn", {}).get(page)
        if made is None or not plainfiles.is_plain_name(made.get("directory")):
            return "the manifest does not say how it was drawn"
        path = self.called(made["directory"])
        try:
            if page == REPORT_PAGE:
                self._draw_report(path, made)
            # `_draw_report` may already have written a page of this name.
            elif not (path / page).exists():
                from leowarp import view

                view.write_view([Run((path / page).parents[1])], path / page)
        except (LeowarpError, TypeError, ValueError) as error:
            return f"it cannot be redrawn as the manifest says: {error}"
        return path

    def _draw_report(self, path: Path, made: dict[str, Any]) -> None:
        from leowarp import report

        # A new report rewrites every figure file that the directory already has, and its page lists these files. If it
        # leaves a figure file empty, the file belongs to an earlier report.
        (path / FIGURES).mkdir(parents=True)
        for file in (self.first.path / FIGURES).iterdir():
            if file.suffix.removeprefix(".") in report.FORMATS:
                (path / FIGURES / file.name).touch()
        report.write_report(path, figures=made.get("figures"), flow=made.get("flows"), command=made.get("command"))


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
