# SPDX-License-Identifier: Apache-2.0
"""Live mode: programs of this machine communicate through the guest, whose virtual time follows real time."""

from leowarp.guest.live.admission import check_room
from leowarp.guest.live.doors import Forward, check_allowed, forward_of, listening
from leowarp.guest.live.pace import Pace
from leowarp.guest.live.session import Live, run_live
