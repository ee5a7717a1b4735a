# SPDX-License-Identifier: Apache-2.0
"""Inputs of metrics: tables of a trace, series, links, route changes."""
