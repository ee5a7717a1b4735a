# SPDX-License-Identifier: Apache-2.0
"""Verbs for studies and exams."""
