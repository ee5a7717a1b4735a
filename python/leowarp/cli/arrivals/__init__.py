# SPDX-License-Identifier: Apache-2.0
"""`leowarp reorder`: reordering in sequences from any source."""
