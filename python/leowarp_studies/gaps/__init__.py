# SPDX-License-Identifier: Apache-2.0
"""A study of this project: how much a gap at a route change adds to the harm of the change, apart from reordering and
the queue left behind; and the harm of lasers that must be pointed, and of dishes."""
