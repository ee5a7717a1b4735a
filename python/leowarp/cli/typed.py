# SPDX-License-Identifier: Apache-2.0
"""Converts typed words to the values of a verb's parameters, without pydantic.

Typer (0.29, for instance) converts every value by pydantic, whose import takes a tenth of a short run. Plain words do
not need pydantic's checks. Typer still converts all other values, so all error messages are typer's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin

from typer import core


def convert_plainly() -> None:
    """Let `_Plainly` convert the parameters of all verbs."""
    # A version of typer that lacks this class or its method does not use pydantic.
    by_typer = vars(vars(core).get("_TyperParameter", object)).get("get_runtime_param")
    if by_typer is not None and by_typer is not _plainly:
        _Plainly.by_typer = by_typer
        core._TyperParameter.get_runtime_param = _plainly  # type: ignore[assignment, method-assign]


def _plainly(param: Any) -> _Plainly:
    return _Plainly()


class _Plainly:
    """Converter of a parameter, in the form that typer calls."""

    by_typer: ClassVar[Callable[[Any], Any]]
    """Typer's own converter of a parameter, for every value that is not plain."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter; if the parameter was not typed, its default, or None."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        rules = param.type_descriptor.parameter_info
        if rules.parser is None and not (rules.exists or rules.writable or rules.resolve_path or not rules.file_okay):
            kind = param.type_descriptor.annotation
            try:
                if is_list and get_origin(kind) is list and isinstance(value, tuple | list):
                    return [_plain(each, *get_args(kind)) for each in value]
                return _plain(value, kind)
            except ValueError:
                pass
        return _Plainly.by_typer(param).coerce(value, param=param, ctx=ctx)


def _plain(value: Any, kind: Any) -> Any:
    """The value for a word, a readable or new path, or an element of an enumeration.

    Raises ValueError if typer has to convert the value.
    """
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
        raise ValueError(value)
    if kind is str:
        return value
    if kind is Path and (os.access(value, os.R_OK) or not os.path.lexists(value)):
        return Path(value)
    raise ValueError(value)
