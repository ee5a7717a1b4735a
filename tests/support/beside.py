# SPDX-License-Identifier: Apache-2.0
"""Import modules that are in no package. They are scripts that import each other from their directory, as in bench/."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def modules_beside(directory: Path, names: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """Import the modules with these names from `directory`. When the context ends, it removes these modules from
    sys.modules, because another directory may have modules with the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
