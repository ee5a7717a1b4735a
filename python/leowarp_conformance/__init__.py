# SPDX-License-Identifier: Apache-2.0
"""Conformance tests: packetdrill runs Linux's own tests of its TCP in the guest (`make conformance`).

packetdrill is a program by Google, which is not part of this repository. The user names a checkout of packetdrill, and
leowarp compiles it without changes. A packetdrill script lists packets and system calls, and the times at which the
kernel must send packets or answer calls. Each attempt at a script boots a new guest, so a script that hangs does not
affect other scripts.
"""
