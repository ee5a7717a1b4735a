# SPDX-License-Identifier: Apache-2.0
"""The flows of programs' connections, which the plan does not contain. The connections are numbered after the planned
flows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leowarp.metrics.inputs.tables import ACK, DATA
from leowarp.metrics.per_flow.goodput import Life, arrived

if TYPE_CHECKING:
    from leowarp.metrics.inputs.tables import Tables
    from leowarp.scenario import Plan


def with_connections(plan: Plan, connections: Sequence[dict[str, Any]]) -> Plan:
    """Return the plan with one more flow for each connection of its programs. The flows are numbered as in the trace.

    plan: The plan, which may already contain the flows of the connections.
    connections: The value `Tables.connections`.
    Returns: A plan with which the trace can be read. Do not run this plan.
    """
    if not connections:
        return plan
    planned = plan.flows[: connections[0]["flow"]]
    flows = tuple(_flow(planned[connection["program"]], connection) for connection in connections)
    return dataclasses.replace(plan, flows=(*planned, *flows))


def _flow(program: Any, connection: dict[str, Any]) -> Any:
    """Return a flow that represents a connection. It lasts from the connection's first packet to the last."""
    known = {name: connection[name] for name in ("kind", "congestion_control", "start_ns", "stop_ns")}
    known |= {"source": program.source, "destination": program.destination}
    return type(program)(**({field.name: None for field in dataclasses.fields(program)} | known))


def datagram_scalars(tables: Tables, number: int, lived: Life) -> dict[str, Any]:
    """Return the scalars of a program's UDP connection (`scalars.of_flows.DATAGRAMS`). All scalars are None if the flow
    belongs to no program."""
    program = next((each["program"] for each in tables.connections if each["flow"] == number), None)
    found: dict[str, Any] = {"program": program, "payload_mean_bps": None, "payload_back_mean_bps": None}
    for direction, name in ((DATA, "payload_mean_bps"), (ACK, "payload_back_mean_bps")):
        came = arrived(tables, number, direction, lived)
        if program is not None and came is not None:
            found[name] = lived.rate_bps(came.payload_bytes)
    return found


def program_scalars(tables: Tables, number: int) -> dict[str, Any]:
    """Return how the programs of a flow ended, and how much data their connections carried
    (`scalars.of_programs.PROGRAMS`). A retransmitted byte counts once."""
    ends = {end["role"]: end for end in tables.programs if end["flow"] == number}
    mine = [connection["flow"] for connection in tables.connections if connection["program"] == number]
    rows = tables.flows[tables.flows["flow"].isin(mine)]
    followed = tables.has("packets")
    return {
        "connections": len(mine) if followed else None,
        "connections_bytes": int(rows["bytes"].fillna(0).sum()) if followed else None,
        "client_exit_code": ends.get("client", {}).get("exit_code"),
        "client_end_ns": ends.get("client", {}).get("end_ns"),
        "server_exit_code": ends.get("server", {}).get("exit_code"),
        "server_end_ns": ends.get("server", {}).get("end_ns"),
    }
