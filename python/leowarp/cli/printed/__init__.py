# SPDX-License-Identifier: Apache-2.0
"""Tables that several verbs print."""
