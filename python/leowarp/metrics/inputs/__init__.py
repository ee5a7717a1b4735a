# SPDX-License-Identifier: Apache-2.0
"""What metrics are computed from: tables of a trace, series, links, route changes."""
