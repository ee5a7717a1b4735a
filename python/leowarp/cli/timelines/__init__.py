# SPDX-License-Identifier: Apache-2.0
"""Verbs on timelines, recordings and channels."""
