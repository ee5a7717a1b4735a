# SPDX-License-Identifier: Apache-2.0
"""R. S. Frederiksen, T. G. Mulvad, I. Leyva-Mayorga, T. K. Madsen, F. Chiariotti: "End-to-End Delivery in LEO
Mega-constellations and the Reordering Problem" (2024)."""
