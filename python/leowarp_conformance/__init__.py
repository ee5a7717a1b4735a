# SPDX-License-Identifier: Apache-2.0
"""Conformance: Linux's own tests of its TCP, run by packetdrill in the guest (`make conformance`).

packetdrill is a program of Google's. It is not included in this repository: the user names a checkout, which is
compiled unchanged. A script lists packets and system calls, and the times at which the kernel must send or answer each.
Each attempt at a script boots its own guest, so that a script that hangs does not affect others.
"""
