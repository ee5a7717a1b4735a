# SPDX-License-Identifier: Apache-2.0
"""The guest's input: `setup.json`, `events.bin`, `tables.bin`."""
