# SPDX-License-Identifier: Apache-2.0
"""What a mobile channel does to routes over a constellation."""

from __future__ import annotations

from leowarp.routes import LastHop
from leowarp.scenario.schema import Mobile


def last_hop_of(mobile: Mobile) -> LastHop:
    """The fading link, in place of a ground link: by delay the way of a packet that is decoded at once.

    From the terminal the link takes `return_delay_ns`; to it at least `first_delay_ns`, with more for each
    retransmission.
    """
    return LastHop(rule=mobile.last_satellite, leaving_ns=mobile.return_delay_ns, arriving_ns=mobile.first_delay_ns)
