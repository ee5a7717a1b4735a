# SPDX-License-Identifier: Apache-2.0
"""Sections about links, queues, hosts, and the behaviour of nodes at a route change."""
