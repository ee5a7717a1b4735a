# SPDX-License-Identifier: Apache-2.0
"""A study of this project: the harm that a gap adds to a route change, beyond reordering and the queue left behind. The
study also measures the harm of lasers that must be pointed, and of reconfigurations of a dish."""
