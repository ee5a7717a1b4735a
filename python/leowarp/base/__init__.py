# SPDX-License-Identifier: Apache-2.0
"""The basis of every room: errors, units, files, texts and progress; it knows no room."""
