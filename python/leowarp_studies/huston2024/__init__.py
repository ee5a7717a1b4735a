# SPDX-License-Identifier: Apache-2.0
"""G. Huston: "A transport protocol's view of Starlink", APNIC blog, 17 May 2024,
https://blog.apnic.net/2024/05/17/a-transport-protocols-view-of-starlink/."""
