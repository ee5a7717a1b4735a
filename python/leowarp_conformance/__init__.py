# SPDX-License-Identifier: Apache-2.0
"""Conformance: Linux's own tests of its TCP, run by packetdrill in the guest (`make conformance`).

packetdrill is a program of Google's. Nothing of it is in this repository: the user names a checkout, which is compiled
as it is. A script lists packets and system calls, and when the kernel must send or answer each. Each attempt at a
script boots a guest of its own, so that one that hangs ends no other.
"""
