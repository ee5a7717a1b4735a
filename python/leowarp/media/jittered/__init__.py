# SPDX-License-Identifier: Apache-2.0
"""A jittered path: each packet has a random delay of its own.

The kernel's netem draws it in the guest, below a token bucket filter, as emulation studies do it
(docs/concepts/links.md, "Jittered links"); here only its parameters and its table are made.
"""

from leowarp.media.jittered.planned import PlannedJittered

__all__ = ["PlannedJittered"]
