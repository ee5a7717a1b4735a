# SPDX-License-Identifier: Apache-2.0
"""A section for each medium, and their union."""
