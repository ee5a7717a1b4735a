# SPDX-License-Identifier: Apache-2.0
"""Modules that are no package: programs of a directory that find each other by lying in it, as those of bench/ do."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def modules_beside(directory: Path, names: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """The modules of these names, by name; afterwards nobody finds them, as other directories have the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
