# SPDX-License-Identifier: Apache-2.0
"""The plan as a tree of frozen dataclasses, and its sections by name."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from leowarp.scenario.sections import (
    CONGESTION_CONTROLS,
    PROFILES,
    SCHEMA_VERSION,
    Access,
    Chain,
    Constellation,
    Cures,
    Flow,
    Ground,
    Guest,
    Host,
    Isl,
    Jittered,
    Measured,
    Medium,
    Mobile,
    Network,
    Observe,
    PlanSections,
    Routing,
    Run,
    Shell,
    Station,
    Tcp,
)
from leowarp.scenario.text.key import InputFile, keys
from leowarp.scenario.write import plan_text

__all__ = [
    "CONGESTION_CONTROLS", "PROFILES", "SCHEMA_VERSION", "Access", "Chain", "Constellation", "Cures", "Flow", "Ground",
    "Guest", "Host", "Isl", "Jittered", "Measured", "Medium", "Mobile", "Network", "Observe", "Plan", "Routing", "Run",
    "Shell", "Station", "Tcp",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plan(PlanSections):
    """A scenario with every default written out. A plan contains everything that determines a run.

    When two plans are compared, files count by name and content, not by location. The attributes are those of
    `PlanSections`.
    """

    def to_toml(self) -> str:
        """The plan as a scenario text; loading this text gives the same plan."""
        return plan_text(self)

    def named_by_caller(self) -> Plan:
        """The same plan, except that all its code counts as named by the caller, which gives permission to run it.

        Returns
        -------
        Plan
            Equal to this plan: the file that names code does not affect a run (`guest/building/trust.py`).
        """
        own = tuple(dataclasses.replace(file, named_in=None) for file in self.guest.cc_modules)
        guest = dataclasses.replace(self.guest, cc_modules=own, kernel_named_in=None)
        flows = tuple(dataclasses.replace(flow, named_in=None) for flow in self.flows)
        return dataclasses.replace(self, guest=guest, flows=flows)

    def inputs(self) -> list[Path]:
        """Files that the plan names, to be copied into the run directory (`00-inputs/`).

        Returns
        -------
        list of Path
            First the files of the constellation that a medium follows, then those of the medium, of stations and of the
            guest; each in the order of keys.
        """
        # Without this check, a constellation that is itself the medium would be listed twice.
        sky = () if self.constellation in (None, self.medium) else (self.constellation,)
        files: list[InputFile] = []
        for part in (*sky, self.medium, *self.stations, self.guest):
            section: type = type(part)
            for attribute, declared in keys(section).values():
                value = getattr(part, attribute)
                if declared.kind == "file" and value is not None:
                    files.append(value)
                elif declared.kind == "files":
                    files += value
        return [entry.path for entry in files]
