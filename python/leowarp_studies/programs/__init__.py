# SPDX-License-Identifier: Apache-2.0
"""QUIC stacks compared with the kernel's TCP over changing paths: a study of this project."""
