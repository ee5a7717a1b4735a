# SPDX-License-Identifier: Apache-2.0
"""Verbs for timelines, recordings and channels."""
