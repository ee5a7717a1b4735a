# SPDX-License-Identifier: Apache-2.0
"""The table of the stages that `leowarp verify` compares with a second run. For parts that it does not compare, the
table gives the reason.

`leowarp verify` compares the stages in the order of this table, and prints it. docs/reference/verify.md is generated
from this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from leowarp.base.layout import (
    CONSOLE,
    INPUTS,
    MANIFEST,
    METRICS,
    PLAN,
    PROGRAMS,
    REPORT,
    ROUTES,
    SUMMARY,
    TIMELINE,
    TRACE,
)
from leowarp.verification import comparing
from leowarp.verification.kinds import RUN
from leowarp.verification.pair import FIGURES, Pair
from leowarp.verification.verdicts import Found


@dataclass(frozen=True)
class Stage:
    """A row of the table.

    files: The patterns of file names in a run directory. A file belongs to the first stage with a matching pattern.
    how: The description of the comparison.
    compare: A function `compare(pair, name)` that returns the verdict on a file. None means that the files are
        compared only with the manifest.
    why: The reason why the stage is not compared, or is only reported.
    is_of_version: True if a difference is only reported when another version of leowarp made the file.
    is_repeatable: True if every run of the plan must give the same files.
    is_drawn: True if the files are drawn from the trace. Drawn files are not compared if the traces differ.
    """

    name: str
    files: tuple[str, ...]
    how: str
    compare: Callable[[Pair, str], Found] | None = None
    why: str = ""
    is_of_version: bool = False
    is_repeatable: bool = True
    is_drawn: bool = False


_OTHER_METRICS = "another version of leowarp may compute other numbers: its differences are only reported"

STAGES = (
    Stage(
        "plan", (PLAN, f"{INPUTS}/*"), "not compared: the second run starts from them",
        why="there is no second run if the plan or an input is not the listed one",
    ),
    Stage("routes", (ROUTES,), "every byte", comparing.bytes_of_both),
    Stage("timeline", (TIMELINE,), "every byte", comparing.bytes_of_both),
    Stage("trace", (f"{TRACE}/*",), "every byte", comparing.bytes_of_both),
    Stage(
        "programs", (f"{PROGRAMS}/*",), "every byte", comparing.bytes_of_both,
        why="programs may print what no plan decides: differences are only reported; their packets are in the trace",
        is_repeatable=False,
    ),
    Stage("metrics", (METRICS,), "every byte", comparing.bytes_of_both, why=_OTHER_METRICS, is_of_version=True),
    Stage(
        "summary", (SUMMARY,), "every byte, with the cost that manifest.json has", comparing.scalars_of_both,
        why=_OTHER_METRICS, is_of_version=True,
    ),
    Stage(
        "warnings", (MANIFEST,), "seed, warnings and logs of programs", comparing.facts_of_both,
        why="host and costs belong to one machine and one day; other versions and hashes of kernel, agent and leowarp "
        "are reported",
        is_of_version=True,
    ),
    Stage(
        "figures", (f"{FIGURES}/*.csv",), "the numbers of each figure, every byte", comparing.numbers_of_figures,
        why="another version of leowarp may have drawn the report later: its differences are only reported",
        is_of_version=True, is_drawn=True,
    ),
    Stage(
        "report", (f"{REPORT}/*",), "pages and pictures, every byte", comparing.pages_of_both,
        why="only the same leowarp with the same libraries draws the same bytes; a picture of an earlier report is not "
        "redrawn, but its numbers are compared",
        is_of_version=True, is_drawn=True,
    ),
    Stage(
        "console", (CONSOLE,), "every byte", comparing.bytes_of_both,
        why="the messages of the guest's kernel are no result: differences are only reported", is_repeatable=False,
    ),
)  # fmt: skip
"""The stages in order. Later stages are computed from earlier ones, so the cause is in the first that differs."""

DRAWN_FROM = ("routes", "timeline", "trace")
"""The stages from which later stages are computed."""

STUDIES = (
    ("results", "rows of the sample: parameters, seed, plan, every scalar except the cost",
     "all runs would take as long as the study"),
    ("run directories that were kept", "those of the sample, as single runs",
     "the others are compared with their manifests only"),
    ("claims, figures and pages", "not compared with second runs, only with the manifest",
     "they need every run; `leowarp reproduce` and `leowarp study` write them anew from the runs that exist"),
)  # fmt: skip
"""The rows of the table for a study or a reproduction."""


def stage_of(name: str) -> Stage | None:
    """Return the stage of a file in a run directory. None means that runs have no file with this name."""
    return next((stage for stage in STAGES if any(fnmatchcase(name, pattern) for pattern in stage.files)), None)


def left_out(kind: str) -> list[tuple[str, str]]:
    """Return the parts of a run or a study that are not compared, or only reported, each with the reason."""
    if kind == RUN:
        return [(stage.name, stage.why) for stage in STAGES if stage.why]
    return [(what, why) for what, _, why in STUDIES]
