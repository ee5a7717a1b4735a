# SPDX-License-Identifier: Apache-2.0
"""A study of this project about gaps at route changes. It measures the harm that a gap adds. Reordering and the old
queue cause harm even without a gap. The study also measures two further causes of harm: lasers that must be pointed,
and reconfigurations of a dish."""
