# SPDX-License-Identifier: Apache-2.0
"""Converts typed words to the values of a verb's parameters, without pydantic.

Typer (for example 0.29) uses pydantic to convert values. Importing pydantic takes a tenth of the time of a short run.
Typer converts all other values. Typer also writes all error messages.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin


def convert_plainly(param: Any) -> None:
    """Make a verb's parameter convert plain words without typer. typer converts all other values."""
    by_typer = param.process_value

    def process_value(context: Any, value: Any) -> Any:
        try:
            converted = _converted(value, param)
        except ValueError:
            return by_typer(context, value)
        return converted if param.callback is None else param.callback(context, param, converted)

    # Versions of typer in which parameters have no `type_descriptor` do not use pydantic.
    if "type_descriptor" in vars(param) and "process_value" not in vars(param):
        param.process_value = process_value


def _converted(value: Any, param: Any) -> Any:
    """Return the value of a parameter. If a parameter has no value, the result is an empty tuple for a list, and
    otherwise None.

    Raises ValueError if typer has to convert the value.
    """
    is_list = param.multiple or param.nargs == -1
    if value is None and not param.required:
        return () if is_list else None
    rules = param.type_descriptor.parameter_info
    if rules.parser is not None or rules.exists or rules.writable or rules.resolve_path or not rules.file_okay:
        raise ValueError(value)
    kind = param.type_descriptor.annotation
    if is_list and get_origin(kind) is list and value and isinstance(value, tuple | list):
        return [_plain(each, *get_args(kind)) for each in value]
    return _plain(value, kind)


def _plain(value: Any, kind: Any) -> Any:
    """Return the value as a word, as an existing or new path, or as an element of an enumeration.

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
