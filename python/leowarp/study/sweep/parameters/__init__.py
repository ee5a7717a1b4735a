# SPDX-License-Identifier: Apache-2.0
"""The file of a study: its keys, ranges, and the runs that they make."""
