# SPDX-License-Identifier: Apache-2.0
"""A study of this project: the harm that a gap adds to a route change, beyond reordering and the queue left behind. The
study also measures two further causes of harm: lasers that must be pointed, and reconfigurations of a dish."""
