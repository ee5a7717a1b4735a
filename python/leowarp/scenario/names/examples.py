# SPDX-License-Identifier: Apache-2.0
"""Finds the scenarios that come with leowarp by their names. They are in a checkout, or packed into the wheel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import nearest

_PACKAGE = Path(__file__).resolve().parents[2]
# The examples of an installed wheel are searched first. A checkout has no examples inside its package; its examples are
# two levels above the package. An installed package must not read an unrelated folder two levels above it.
_FOLDERS = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")
_ABOUT_EXTENT = 600
"""The first sentence of the comment is looked for within this number of characters from the beginning of the file."""
_LEAST_ABOUT = 40
"""A colon may divide the first sentence. If the part before the colon has at least this length, this part alone
describes the example. If this part is shorter, the whole first sentence describes the example."""


@dataclass(frozen=True)
class Example:
    """A scenario that comes with leowarp.

    name: The name of the example in commands such as `leowarp run starlink`.
    about: The first sentence of the example's comment. If the sentence has a colon, only the part before the colon.
    """

    name: str
    path: Path
    about: str


def example_file(name: str) -> Path:
    """Return the path of a scenario that comes with leowarp, or of a file that such a scenario names.

    Raises ScenarioError if this installation does not contain the file.
    """
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise ScenarioError(
        f"the example {name} is not installed beside the package ({_PACKAGE})",
        hint="run from a checkout, or install a complete wheel",
    )


def examples() -> list[Example]:
    """Return all examples, sorted by name. The list is empty if the installation has none."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    files = [] if folder is None else sorted(folder.glob("*.toml"))
    return [Example(file.stem, file, _about(file)) for file in files]


def found(scenario: str | Path) -> Path:
    """Return the path of a scenario file. If no file or directory has this name, `scenario` may be the name of an
    example. The example's path is then returned.

    Raises ScenarioError if the text has the form of a name, but no file and no example has this name.
    """
    path = Path(scenario)
    # A text with a slash or a file extension is always a path.
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", str(scenario)) is None or path.exists():
        return path
    for example in examples():
        if example.name == str(scenario):
            return example.path
    raise ScenarioError(f"there is no scenario file {path}, and no example of that name", hint=instead_of(path))


def instead_of(missing: Path) -> str:
    """Return a hint that proposes an example for a missing scenario file."""
    known = [example.name for example in examples()]
    near = nearest(missing.stem, known)
    return f"{f'did you mean the example {near}? ' if near else ''}`leowarp examples` lists all {len(known)} of them"


def copies(example: Path, name: str) -> dict[str, str]:
    """Return the texts of the files for a user's new scenario, by file name.

    The files are the example with its new name, and all files beside the example that its text names.
    """
    text = example.read_text(encoding="utf-8")
    text = text.replace(f"examples/{example.name}", f"{name}.toml")
    texts = {f"{name}.toml": re.sub(r'^name = ".*"', f'name = "{name}"', text, count=1, flags=re.MULTILINE)}
    without_comments = "\n".join(line.partition("#")[0] for line in text.splitlines())
    for found in dict.fromkeys(re.findall(r'"([\w-]+\.(?:toml|csv|c))"', without_comments)):
        beside = example.parent / found
        if beside.is_file():
            texts[found] = beside.read_text(encoding="utf-8")
    return texts


def _about(file: Path) -> str:
    lines = plainfiles.read(file, plainfiles.MOST_TOML_BYTES).decode()[:_ABOUT_EXTENT].splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#") or line == "#":
            break
        comment.append(line.removeprefix("#").strip())
    # A full stop ends a sentence only before a capital letter. The full stops in "Frederiksen et al.," and "1.5 MB" do
    # not end a sentence.
    sentence = re.split(r"(?<=[a-z0-9)])[.] (?=[A-Z])", " ".join(comment))[0].rstrip(".")
    lead = sentence.partition(": ")[0]
    return lead if len(lead) >= _LEAST_ABOUT else sentence
