# SPDX-License-Identifier: Apache-2.0
"""The version of this package, below everything that writes it down."""

VERSION = "0.1.0"
