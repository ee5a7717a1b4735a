# SPDX-License-Identifier: Apache-2.0
"""The sections of the media: one class for each medium, and the union type of these classes."""
