# SPDX-License-Identifier: Apache-2.0
"""Finished runs as Python objects: single runs, differences between runs, groups of runs, exports."""
