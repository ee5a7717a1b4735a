# SPDX-License-Identifier: Apache-2.0
"""The arguments and options that several verbs share.

Each argument or option is a type that a verb's parameter can have. The type contains the flag and the help text.
A verb adds the default to the type: ``set_: options.Settings = None``.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from leowarp.base.progress import OnProgress, json_lines

ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A scenario (.toml), the name of an example, or a run directory (its plan)."),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help='Replace a key of the scenario, in dotted form; may be repeated. For instance --set run.duration="60 s"',
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="NAME|decayed",
        help="A satellite of constellation.tle that the run leaves out, by name or catalogue number; decayed: all "
        "without an orbit during the run. May be repeated. Replaces the scenario's constellation.leave_out.",
    ),
]
CcModules = Annotated[
    list[Path] | None,
    typer.Option(
        "--cc-module",
        metavar="FILE.c",
        help="A congestion control of your own, compiled against the guest kernel; may be repeated. Replaces the "
        "scenario's guest.cc_modules; flows may then name any congestion control.",
    ),
]


def flow_of(text: str) -> int | str:
    """Return a flow as the user typed it: its number, or its name in the scenario. Names begin with a letter.

    >>> flow_of("3"), flow_of("upload")
    (3, 'upload')
    """
    return int(text) if text.isascii() and text.isdecimal() else text


Flow = Annotated[
    # typer does not support unions, so the type is Any, and the parser returns a name or a number.
    Any, typer.Option("--flow", metavar="NUMBER|NAME", parser=flow_of, help="Only rows of this flow.")
]
Flows = Annotated[
    list[Any] | None,
    typer.Option(
        "--flow",
        metavar="NUMBER|NAME",
        parser=flow_of,
        help="Only figures of this flow, by its number or name; may be repeated. Default: all flows.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a complete run in the output directory.")]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME_OR_PATH",
        help="Another kernel: a name from `leowarp kernel list`, or the path of a tree or binary, with a slash in it.",
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Allow a kernel and modules that a file names and that you never named or accepted (docs/security.md).",
    ),
]
AtOnce = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of runs at a time; default: the number of cores.")
]


ProgressKind = StrEnum("ProgressKind", ["auto", "none", "json"])
"""The forms in which progress is shown on stderr."""

Shown = Annotated[
    ProgressKind,
    typer.Option("--progress", help="auto: bars on a terminal, lines elsewhere; json: one line of JSON per event."),
]


def progress_of(kind: ProgressKind) -> bool | OnProgress:
    """Return the value for the argument `progress` of `run`."""
    return json_lines if kind is ProgressKind.json else kind is ProgressKind.auto


def settings(
    set_: list[str] | None, cc_modules: list[Path] | None = None, leave_out: list[str] | None = None
) -> list[str]:
    """Return the values of `--set`, `--cc-module` and `--leave-out`, as a list of `KEY=VALUE` for `scenario.load`.

    >>> settings(["run.seed=2"], [Path("my_cc.c")])
    ['run.seed=2', 'guest.cc_modules=["my_cc.c"]']
    """
    # --cc-module and --leave-out come last in the list, so they take precedence over a `--set` of the same key.
    texts = list(set_ or [])
    if leave_out:
        texts.append(f"constellation.leave_out={json.dumps(leave_out, ensure_ascii=False)}")
    if cc_modules:
        # JSON strings without control characters are valid TOML, and a scenario accepts no path with control
        # characters.
        texts.append(f"guest.cc_modules={json.dumps([str(path) for path in cc_modules], ensure_ascii=False)}")
    return texts
