# SPDX-License-Identifier: Apache-2.0
"""This project's own study: what a network, or an end host, can do about the reordering of route changes."""
