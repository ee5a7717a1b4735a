# SPDX-License-Identifier: Apache-2.0
"""One section for each medium, and the union of all."""
