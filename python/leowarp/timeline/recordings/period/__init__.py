# SPDX-License-Identifier: Apache-2.0
"""Finds the period of a path's reconfigurations in a recording."""
