# SPDX-License-Identifier: Apache-2.0
"""Make the reference page of the Python interface from signatures and docstrings.

``python tools/pages/api_page.py FILE`` writes the page. ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from generated import write_or_check

ROOMS: dict[str, tuple[str, ...] | None] = {
    "leowarp": None,
    "leowarp.report": ("figure", "plot", "save", "write_report", "write_comparison"),
    "leowarp.study": (
        *("run_study", "StudyResult", "StudyFile", "reproduce", "Reproduction"),
        *("studies", "Claim", "Outcome", "Making", "Material", "DrawnFigure", "Section"),
    ),
    "leowarp.reordering": None,
}
"""The modules of the page with their shown names. None means all public names."""

_HEADS = ("Parameters", "Returns", "Raises", "Attributes", "Yields", "Examples", "Notes", "References")


def api_page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from _INTRODUCTION.splitlines()
    for name, wanted in ROOMS.items():
        module = importlib.import_module(name)
        yield from ("", f"## {name}", "")
        yield from _documented(inspect.getdoc(module) or "")
        for public in wanted or tuple(module.__all__):
            yield from _of_name(module, public)


def _of_name(module: ModuleType, name: str) -> Iterator[str]:
    thing = getattr(module, name)
    path = f"{module.__name__}.{name}"
    # `leowarp.reordering` is in `__all__`, but has its own section in `ROOMS`.
    if inspect.ismodule(thing):
        return
    if inspect.isclass(thing):
        yield from ("", f"### class {path}", "")
        if "__init__" in vars(thing) and not issubclass(thing, Exception):
            yield from _code(f"{name}{signature_of(thing)}")
        yield from _documented(_own_doc(thing))
        # `vars` is used because, unlike `dir`, it keeps the order of the source and omits inherited names. Members that
        # a class inherits from an unlisted base, such as `RunTables`, also belong to the interface. All errors share
        # the members of `LeowarpError`, which has its own entry.
        bases = [] if issubclass(thing, Exception) else [each for each in thing.__mro__[1:] if _is_ours(each)]
        members = {name: value for each in (*reversed(bases), thing) for name, value in vars(each).items()}
        for member, value in members.items():
            if not member.startswith("_") and _own_doc(value) and (
                inspect.isfunction(value) or _is_property(value) or isinstance(value, classmethod)
            ):  # fmt: skip
                yield from _of_member(name, member, value)
    elif callable(thing):
        yield from ("", f"### {path}", "")
        yield from _code(f"{name}{signature_of(thing)}")
        yield from _documented(_own_doc(thing))
    else:
        yield from ("", f"### {path}", "", f"A constant: `{_shortened(thing)}`.")


def _of_member(owner: str, name: str, value: Any) -> Iterator[str]:
    yield from ("", f"#### {owner}.{name}", "")
    function = value.__func__ if isinstance(value, classmethod) else value
    if inspect.isfunction(function):
        yield from _code(f"{name}{signature_of(function)}")
    yield from _documented(_own_doc(value))


def _is_ours(thing: type) -> bool:
    return thing.__module__.startswith("leowarp.")


def _is_property(value: Any) -> bool:
    return isinstance(value, property) or type(value).__name__ == "cached_property"


def _own_doc(thing: Any) -> str:
    """Return the object's docstring. A dataclass's generated docstring is ignored, because it differs between versions
    of Python."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return "" if inspect.isclass(thing) and text.startswith(f"{thing.__name__}(") else text


def signature_of(thing: Any) -> str:
    """Return the parameters and return type as in the source: annotations as text, and defaults without memory
    addresses."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    kept = [
        parameter.replace(default=_Shown(parameter.default))
        if parameter.default is not inspect.Parameter.empty
        else parameter
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls") and not parameter.name.startswith("_")
    ]
    # With `from __future__ import annotations`, annotations are strings, which `str` would put into quotes.
    return str(signature.replace(parameters=kept)).replace("'", "")


class _Shown:
    """A default value that is printed as it is written in the source."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        is_named = inspect.isroutine(self._value) or inspect.isclass(self._value)
        text = self._value.__qualname__ if is_named else repr(self._value)
        # A memory address differs between processes, but the page must be byte for byte the one in the repository.
        return "..." if " at 0x" in text or "<" in text else text.replace("'", '"')


def _code(text: str) -> Iterator[str]:
    yield from ("```text", text, "```", "")


def _documented(doc: str) -> Iterator[str]:
    """Convert a docstring in numpy's form to Markdown. Section names become bold headings, and entries become list
    items."""
    lines = doc.splitlines()
    place, in_entries, in_example = 0, False, False
    while place < len(lines):
        line = lines[place]
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if line in _HEADS and set(following) == {"-"}:
            yield from ("", f"**{line}**", "")
            in_entries = line not in ("Examples", "Notes", "References")
            place += 2
            continue
        # As in doctest, output follows its prompt up to the next empty line.
        is_example = line.lstrip().startswith((">>>", "...")) or (in_example and bool(line.strip()))
        if is_example != in_example:
            yield "```text" if is_example else "```"
            if not is_example:
                yield ""
            in_example = is_example
        if is_example:
            # Directives of doctest are only for the test that runs the snippet.
            yield re.sub(r"\s*# doctest: .*", "", line)
        elif in_entries and line and not line.startswith(" "):
            name, colon, kind = line.partition(" : ")
            yield f"- `{name}`" + (f": {kind}" if colon else "")
        elif in_entries and line:
            yield f"  {line.strip()}"
        else:
            yield line
        place += 1
    if in_example:
        yield "```"


def _shortened(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 100 else f"{text[:97]}..."


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page. Return the exit status of `write_or_check`."""
    return write_or_check(api_page(), "tools/pages/api_page.py", arguments)


_INTRODUCTION = """\
# The Python interface

<!-- Made by `python tools/pages/api_page.py`; do not edit. -->

`import leowarp as lw`. The page [tables](tables.md) lists the columns of the data frames, their units and the words of
their enumerations. It describes the series (`run.series`) in [their own section](tables.md#series). The page
[scenario](scenario.md) lists every key of a scenario. The package is typed (`py.typed`)."""


if __name__ == "__main__":
    sys.exit(main())
