# SPDX-License-Identifier: Apache-2.0
"""Processors and memory that this process may use."""
