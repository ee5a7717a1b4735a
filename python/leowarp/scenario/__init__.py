# SPDX-License-Identifier: Apache-2.0
"""Text to scenario, scenario to plan: the first room of the street."""

from leowarp.scenario.loading import Scenario, load
from leowarp.scenario.plan import is_kernel_name, plan_inputs, plan_of, resolve
from leowarp.scenario.schema import Plan

__all__ = ["Plan", "Scenario", "is_kernel_name", "load", "plan_inputs", "plan_of", "resolve"]
