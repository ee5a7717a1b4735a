# SPDX-License-Identifier: Apache-2.0
"""The verbs with which a user starts a first scenario: examples, init."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import print_json, print_table, say


def examples(json_: options.Json = False) -> None:
    """List the scenarios that come with leowarp. Each runs by its name: leowarp run starlink."""
    from leowarp.scenario.names.examples import examples as all_of_them

    known = all_of_them()
    if json_:
        print_json({"examples": [{"name": each.name, "about": each.about, "path": str(each.path)} for each in known]})
        return
    print_table(None, ("example", "what it is"), [(each.name, each.about) for each in known], text=("what it is",))
    say("To run one:   leowarp run NAME\nTo change one: leowarp init MINE --from NAME")


def init(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new scenario; its file is NAME.toml in this directory.")
    ],
    from_: Annotated[
        str, typer.Option("--from", metavar="EXAMPLE", help="Example that it is copied from (leowarp examples).")
    ] = "madrid-tokyo",
    json_: options.Json = False,
) -> None:
    """Copy an example, with the files that it needs, to a scenario with a new name."""
    from leowarp.scenario.names.examples import copies, found

    stem = name.removesuffix(".toml")
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", stem) is None:
        raise ScenarioError(
            f"cannot call a scenario {name!r:.120}: a name has 1 to 100 letters, digits, dots, dashes, underscores",
            hint="leowarp init my-scenario; the file is written into this directory",
        )
    example = found(from_)
    if not example.is_file():
        raise ScenarioError(
            f"cannot begin with {from_}: there is no example and no file of that name", hint="leowarp examples"
        )
    texts = copies(example, stem)
    # `exists` follows a symbolic link: it is false for a dangling link, although a write would create the link's
    # target.
    standing = [file for file in texts if Path(file).exists() or Path(file).is_symlink()]
    # A table or C file that exists with the same content is not written again.
    other = [file for file in standing if file == f"{stem}.toml" or not _is_same(Path(file), texts[file])]
    if other:
        raise ScenarioError(
            f"cannot write {other[0]}: a file of that name is here", hint=f"leowarp init {stem}-2, or another directory"
        )
    for file, text in texts.items():
        if file not in standing:
            plainfiles.write(Path(file), text.encode())
    if json_:
        print_json({"scenario": f"{stem}.toml", "files": list(texts), "example": str(example)})
        return
    for file in texts:
        say(f"{file}{'' if file == f'{stem}.toml' else '   (the scenario names it)'}")
    say(f"Look at it: leowarp plan {stem}.toml\nRun it:     leowarp run {stem}.toml")


def _is_same(path: Path, text: str) -> bool:
    try:
        return plainfiles.read(path, plainfiles.MOST_INPUT_BYTES) == text.encode()
    except OSError:
        return False
