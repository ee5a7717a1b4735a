# SPDX-License-Identifier: Apache-2.0
"""Errors, units, files, texts and progress, which all other packages use. This package imports no other package of
leowarp."""
