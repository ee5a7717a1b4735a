# SPDX-License-Identifier: Apache-2.0
"""The errors, units, files, texts and progress that all other packages use. This package imports no other package of
leowarp."""
