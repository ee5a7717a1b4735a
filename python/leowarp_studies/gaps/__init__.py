# SPDX-License-Identifier: Apache-2.0
"""A study of this project about gaps at route changes: the harm that a gap adds to the harm by reordering and by the
old queue. The study also measures two further causes of harm: lasers that must be pointed, and reconfigurations of a
dish."""
