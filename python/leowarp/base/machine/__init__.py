# SPDX-License-Identifier: Apache-2.0
"""The processors and the memory that this process may use."""
