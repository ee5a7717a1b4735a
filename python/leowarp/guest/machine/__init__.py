# SPDX-License-Identifier: Apache-2.0
"""This machine and its processes: features, ELF files, clocks, system calls."""
