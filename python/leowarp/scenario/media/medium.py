# SPDX-License-Identifier: Apache-2.0
"""The media, which carry the packets. A plan has exactly one medium."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from leowarp.scenario.media.access import Access
from leowarp.scenario.media.chain import Chain
from leowarp.scenario.media.constellation import Constellation, FollowsConstellation
from leowarp.scenario.media.jittered import Jittered
from leowarp.scenario.media.measured import Measured
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.media.mobile import Mobile

Medium = Constellation | Measured | Chain | Jittered | Access | Mobile
"""All types of media. The type of a plan's medium says which medium it is. Messages list the sections in this order."""

MEDIA: Mapping[str, type[MediumSection]] = {medium.NAME: medium for medium in get_args(Medium)}
"""A dict from the name of a medium's section to the type of the medium."""


def medium_of(given: Iterable[str]) -> type[MediumSection]:
    """Return the type of the medium whose section is given. A given medium that follows a constellation is preferred to
    the constellation itself.

    given: The names of the given sections. At least one of them must be in `MEDIA`.

    >>> medium_of(["constellation", "access"]).NAME
    'access'
    """
    # The media are in the order of MEDIA. The message about a mistake then does not depend on the order of sections in
    # the file.
    media = [MEDIA[name] for name in MEDIA if name in set(given)]
    return next((medium for medium in media if issubclass(medium, FollowsConstellation)), media[0])
