# SPDX-License-Identifier: Apache-2.0
"""`leowarp reorder`: metrics of reordering for sequences from any source."""
