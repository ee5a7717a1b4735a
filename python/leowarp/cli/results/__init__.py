# SPDX-License-Identifier: Apache-2.0
"""Verbs that look at finished runs."""
