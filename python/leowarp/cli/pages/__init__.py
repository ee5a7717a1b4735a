# SPDX-License-Identifier: Apache-2.0
"""Generators of the reference pages."""
