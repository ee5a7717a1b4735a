# SPDX-License-Identifier: Apache-2.0
"""Kernel and agent: sources, overrides, recipe, cache, image, and the permission to run code."""
