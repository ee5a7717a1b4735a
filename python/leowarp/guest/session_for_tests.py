# SPDX-License-Identifier: Apache-2.0
"""What tests of interrupted builds ask of a session."""

import time

from leowarp.guest.watch import members_of_session


def members_left(session: int, seconds: float = 10.0) -> list[int]:
    """Processes of a session that was killed; waits, for init takes an orphan away when it comes to it."""
    until_s = time.monotonic() + seconds
    while (members := members_of_session(session)) and time.monotonic() < until_s:
        time.sleep(0.01)
    return members
