# SPDX-License-Identifier: Apache-2.0
"""Boots a kernel and an agent with a plan's workload and a timeline, and returns the records that the agent writes.

This package does not compute orbits, but gets them as a timeline. `write_input` turns a plan's workload and a timeline
into files. `drive` boots the kernel with the files from `write_input`, and returns when the guest has ended.
"""

from typing import TYPE_CHECKING, Any

from leowarp.guest.boot.drive import GuestProgress, GuestResult, check, drive
from leowarp.guest.boot.standstill import Patience
from leowarp.guest.building.image import GuestImage, guest_image
from leowarp.guest.building.left_out import check_fits
from leowarp.guest.building.trust import demand as demand_trust
from leowarp.guest.setup.input import write_input
from leowarp.guest.user.boot_input import run
from leowarp.guest.user.modules import compile_modules, declared_parameters, modules_of
from leowarp.guest.user.parameters import Declared, mistakes
from leowarp.guest.user.programs import Shell, check_programs, check_shell, keep_outputs
from leowarp.guest.user.shell import run_shell

if TYPE_CHECKING:
    from leowarp.guest.live import Forward, Live, Pace, check_allowed, check_room, forward_of, listening, run_live

_LIVE = ("Forward", "Live", "Pace", "check_allowed", "check_room", "forward_of", "listening", "run_live")


def __getattr__(name: str) -> Any:
    # The names of live mode are imported only on first use, because sockets and asyncio take time to import and only
    # one verb needs them.
    if name not in _LIVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leowarp.guest import live

    return getattr(live, name)
