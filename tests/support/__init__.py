# SPDX-License-Identifier: Apache-2.0
"""What tests share, those beside the code included: `from support.waiting import wait_until`."""
