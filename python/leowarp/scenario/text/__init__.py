# SPDX-License-Identifier: Apache-2.0
"""The step from TOML text to values: declarations of keys, line numbers, and mistakes."""
