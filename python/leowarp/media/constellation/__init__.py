# SPDX-License-Identifier: Apache-2.0
"""The constellation: its links, which come and go, and the routes over them."""

from leowarp.media.constellation.timeline import PlannedConstellation
