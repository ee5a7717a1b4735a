# SPDX-License-Identifier: Apache-2.0
"""QUIC stacks beside the kernel's TCP over changing paths: a study of our own."""
