# SPDX-License-Identifier: Apache-2.0
"""The inputs of metrics: the tables of a trace, and series, links and route changes derived from them."""
