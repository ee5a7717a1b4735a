# SPDX-License-Identifier: Apache-2.0
"""The steps from scenario text to plan. All other packages of leowarp build on this one."""

from leowarp.scenario.extent import check_extent, long_run
from leowarp.scenario.loading import Scenario, load
from leowarp.scenario.plan import is_kernel_name, plan_of, resolve
from leowarp.scenario.schema import Plan
