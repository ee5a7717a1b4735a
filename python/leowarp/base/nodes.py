# SPDX-License-Identifier: Apache-2.0
"""Names of nodes that follow from those of stations."""

_HOST_PREFIX = "host:"


def host_node(station: str) -> str:
    """Node of a station's host, where its flows begin and end: `host:Madrid` hangs by a wire on the node `Madrid`.

    A colon, which no station's name has, so that no station is taken for a host.
    """
    return _HOST_PREFIX + station


def dish_node(station: str) -> str:
    """The router between a station with an access link and its host: ``dish:Madrid``; a colon, as in `host_node`."""
    return f"dish:{station}"


def station_of(host: str) -> str:
    """The station whose host a node is; a node that is no host as it is.

    >>> station_of(host_node("Madrid"))
    'Madrid'
    """
    return host.removeprefix(_HOST_PREFIX)
