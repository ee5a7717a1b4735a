# SPDX-License-Identifier: Apache-2.0
"""This machine and its processes: what it offers, ELF files, clocks, system calls."""
