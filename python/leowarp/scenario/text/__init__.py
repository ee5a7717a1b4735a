# SPDX-License-Identifier: Apache-2.0
"""From TOML text to values: keys, places in the file, problems."""
