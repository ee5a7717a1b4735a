# SPDX-License-Identifier: Apache-2.0
"""A study of this project: how networks and end hosts can reduce the reordering that route changes cause."""
