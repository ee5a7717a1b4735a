# SPDX-License-Identifier: Apache-2.0
"""Finds the period of reconfigurations in a recording."""
