# SPDX-License-Identifier: Apache-2.0
"""The names of nodes that follow from names of stations."""

_HOST_PREFIX = "host:"


def host_node(station: str) -> str:
    """Return the name of a station's host, where flows begin and end. A wire connects the node `host:Madrid` to the
    node `Madrid`.

    Station names have no colon. A host's name never equals a station's name.
    """
    return _HOST_PREFIX + station


def dish_node(station: str) -> str:
    """Return the name of the router between a dish and its host: ``dish:Madrid``. Station names have no colon. A
    router's name never equals a station's name."""
    return f"dish:{station}"


def station_of(host: str) -> str:
    """Return the name of a host node's station. For any other node, return its own name.

    >>> station_of(host_node("Madrid"))
    'Madrid'
    """
    return host.removeprefix(_HOST_PREFIX)
