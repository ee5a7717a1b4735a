# SPDX-License-Identifier: Apache-2.0
"""The basis of every other package: errors, units, files, texts and progress. The package imports no other package."""
