# SPDX-License-Identifier: Apache-2.0
"""Names of nodes that are derived from those of stations."""

_HOST_PREFIX = "host:"


def host_node(station: str) -> str:
    """Node of a station's host, where its flows begin and end: `host:Madrid` is connected by a wire to the node
    `Madrid`.

    A station's name has no colon, so no station can be mistaken for a host.
    """
    return _HOST_PREFIX + station


def dish_node(station: str) -> str:
    """Node of the router between a station with an access link and its host: ``dish:Madrid``; no station has this name,
    because station names have no colon."""
    return f"dish:{station}"


def station_of(host: str) -> str:
    """The station of a host node; the name of any other node is returned as it is.

    >>> station_of(host_node("Madrid"))
    'Madrid'
    """
    return host.removeprefix(_HOST_PREFIX)
