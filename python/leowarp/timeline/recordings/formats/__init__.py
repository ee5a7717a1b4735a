# SPDX-License-Identifier: Apache-2.0
"""Readers of other tools' files. Each reader returns a `Measurement`."""
