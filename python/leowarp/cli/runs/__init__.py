# SPDX-License-Identifier: Apache-2.0
"""Verbs that make runs, and verbs for the guest that runs need."""
