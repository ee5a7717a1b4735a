# SPDX-License-Identifier: Apache-2.0
"""Sections on links, queues, hosts and what nodes do at a route change."""
