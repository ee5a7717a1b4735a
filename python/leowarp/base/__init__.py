# SPDX-License-Identifier: Apache-2.0
"""What every room stands on: errors, units, files, texts and progress; it knows no room."""
