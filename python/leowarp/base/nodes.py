# SPDX-License-Identifier: Apache-2.0
"""Names of nodes that follow from names of stations."""

_HOST_PREFIX = "host:"


def host_node(station: str) -> str:
    """Name of a station's host, where flows begin and end: a wire connects the node `host:Madrid` to the node `Madrid`.

    Station names have no colon, so a host's name is never that of a station.
    """
    return _HOST_PREFIX + station


def dish_node(station: str) -> str:
    """Name of the router between a dish and its host: ``dish:Madrid``. Station names have no colon, so a router's name
    never equals a station's name."""
    return f"dish:{station}"


def station_of(host: str) -> str:
    """Name of a host node's station; for any other node, its own name.

    >>> station_of(host_node("Madrid"))
    'Madrid'
    """
    return host.removeprefix(_HOST_PREFIX)
