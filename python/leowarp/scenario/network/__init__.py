# SPDX-License-Identifier: Apache-2.0
"""The sections about links, queues, hosts, and the behaviour of nodes at a route change."""
