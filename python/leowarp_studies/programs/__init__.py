# SPDX-License-Identifier: Apache-2.0
"""A study of this project that compares QUIC stacks with the kernel's TCP over changing paths."""
