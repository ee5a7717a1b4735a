# SPDX-License-Identifier: Apache-2.0
"""The step from TOML text to values: key declarations, line numbers and mistakes."""
