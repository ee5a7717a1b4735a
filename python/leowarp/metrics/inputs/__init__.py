# SPDX-License-Identifier: Apache-2.0
"""The inputs of metrics: the tables of a trace, and the series, links and route changes that are derived from these
tables."""
