# SPDX-License-Identifier: Apache-2.0
"""A boot of the guest: starting its process, reading its console, detecting standstills, and explaining failures."""
