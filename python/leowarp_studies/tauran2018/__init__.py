# SPDX-License-Identifier: Apache-2.0
"""B. Tauran et al.: "Impact of Delayed Acknowledgment on TCP performance over LEO satellite constellations", 2018."""
