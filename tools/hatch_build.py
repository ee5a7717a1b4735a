# SPDX-License-Identifier: Apache-2.0
"""Puts into the wheel what is not Python: the examples, and from `build/guest` the built guest with its sources.

`tools/wheel.py` fills `build/guest`. An editable installation gets nothing: it uses the checkout's own.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Kernel and agent are static programs and nothing in the package is compiled against Python or a libc, so any
# x86-64 Linux takes it: 2.17 is the oldest glibc that pip has a tag of this form for.
TAG = "py3-none-manylinux_2_17_x86_64"


class GuestHook(BuildHookInterface):
    """Hatchling's hook for the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what goes into the wheel besides the package."""
        if version == "editable":
            return
        guest = Path(self.root) / "build" / "guest"
        if not (guest / "linux").is_file():
            raise FileNotFoundError(f"{guest} holds no built guest: build the wheel with `make wheel`")
        build_data["pure_python"] = False
        build_data["tag"] = TAG
        build_data["force_include"] = {
            str(guest): "leowarp/_guest",
            str(Path(self.root) / "examples"): "leowarp/examples",
        }
