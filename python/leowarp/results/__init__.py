# SPDX-License-Identifier: Apache-2.0
"""Finished runs as values: one run, differences, repetitions, exports."""
