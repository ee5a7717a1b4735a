# SPDX-License-Identifier: Apache-2.0
"""The plan as a tree of frozen dataclasses, with its sections by name."""

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


@dataclass(frozen=True, kw_only=True)
class Plan(PlanSections):
    """A scenario with every default written out. A plan contains everything that determines a run.

    Two plans are equal if their files have the same names and contents. The files' locations are not compared. It has
    the attributes of `PlanSections`.
    """

    def to_toml(self) -> str:
        """Return the plan as a scenario text. Loading this text gives the same plan."""
        return plan_text(self)

    def named_by_caller(self) -> Plan:
        """Return a copy of this plan as if the caller had named all its code. The caller thus permits the code to run.

        Returns
        -------
        Plan
            A plan that equals this one, but without the information who named the code. This information does not
            affect results
                (`guest/building/trust.py`).
        """
        own = tuple(dataclasses.replace(file, named_in=None) for file in self.guest.cc_modules)
        guest = dataclasses.replace(self.guest, cc_modules=own, kernel_named_in=None)
        flows = tuple(dataclasses.replace(flow, named_in=None) for flow in self.flows)
        return dataclasses.replace(self, guest=guest, flows=flows)

    def inputs(self) -> list[Path]:
        """Return the files that are copied into the run directory (`00-inputs/`).

        Returns
        -------
        list of Path
            The files that the sections of the plan name. The order of the sections is: the constellation that the
            medium follows, the medium, the stations, the guest. The files of each section are in the order of its keys.
        """
        # If the constellation is itself the medium, its files are listed once, as those of the medium.
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
