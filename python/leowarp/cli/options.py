# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several verbs share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A scenario (.toml), a plan, or a run directory (its plan).")
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help='Replace a key of the scenario, dotted; may be repeated. For instance --set run.duration="60 s"',
    ),
]
CcModules = Annotated[
    list[Path] | None,
    typer.Option(
        "--cc-module",
        metavar="FILE.c",
        help="A congestion control of your own, compiled against the guest kernel; may be repeated. In place of "
        "the scenario's guest.cc_modules; flows may then name any congestion control.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a complete run that stands there.")]
Kernel = Annotated[
    Path | None,
    typer.Option("--kernel", metavar="TREE_OR_BINARY", help="A kernel of your own in place of the default one."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Let a kernel and modules run that a file names and that you never named or accepted (docs/security.md).",
    ),
]
AtOnce = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; as many as there are cores if not given.")
]


def settings(set_: list[str] | None, cc_modules: list[Path] | None) -> list[str]:
    """What `--set` and `--cc-module` say, as `KEY=VALUE`."""
    told = list(set_ or [])
    if cc_modules:
        # JSON's strings are TOML's; a path with control characters is no name that a scenario takes.
        told.append(f"guest.cc_modules={json.dumps([str(path) for path in cc_modules], ensure_ascii=False)}")
    return told
