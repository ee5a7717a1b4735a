# SPDX-License-Identifier: Apache-2.0
"""P. R. Torres-Jr, E. P. Ribeiro: "Packet Reordering Metrics to Enable Performance Comparison in IP-Networks", Journal
of Computer Networks and Communications (2020), doi:10.1155/2020/8465191."""
