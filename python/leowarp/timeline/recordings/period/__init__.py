# SPDX-License-Identifier: Apache-2.0
"""The period of reconfigurations, found in a recording."""
