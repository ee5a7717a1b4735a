# SPDX-License-Identifier: Apache-2.0
"""The step from TOML text to values: keys, places in the file, problems."""
