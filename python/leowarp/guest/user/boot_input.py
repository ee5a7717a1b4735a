# SPDX-License-Identifier: Apache-2.0
"""Writes all files that a guest needs to boot for one plan: its input, compiled modules, and links to the roots of
programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.guest.setup.input import ByHand, write_input
from leowarp.guest.user.modules import compile_modules, put_modules
from leowarp.guest.user.programs import put_roots

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest.building.image import GuestImage
    from leowarp.scenario import Plan


def put_input(
    image: GuestImage, plan: Plan, timeline: pa.Table, directory: Path, by_hand: ByHand | None = None
) -> None:
    """Fill the guest's input directory `in/`.

    image: The kernel and the agent. The plan's modules are compiled against the kernel of `image`.
    by_hand: A function that is passed on to `write_input`.
    Raises ScenarioError or HostError for the same reasons as `write_input` and `compile_modules`.
    """
    write_input(plan, timeline, directory, by_hand)
    put_modules(compile_modules(plan, image), directory)
    put_roots(plan, directory)
