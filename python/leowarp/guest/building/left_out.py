# SPDX-License-Identifier: Apache-2.0
"""Lists the objects of leowarp that do not compile or link with a custom kernel. The module also lists the features
that runs with this kernel lack.

When a tree is built, `guest/build.sh --leave-out` writes one line for each object or option that is left out. A line
contains the name, a tab, and the reason. The name is an object of leowarp or an option in `kernel.config`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.guest.building import overrides, shelf
from leowarp.scenario import Plan, is_kernel_name
from leowarp.scenario.network.family import KERNEL_WITH_IPV6
from leowarp.scenario.schema import Jittered
from leowarp.scenario.workload.mptcp import KERNEL_WITH_MPTCP

FILE = "left-out.txt"
_OPTION = "CONFIG_"


def read(entry: Path) -> dict[str, str]:
    """Return a dict whose keys are the objects that the kernel in `entry` lacks. The values are the reasons. `entry` is
    a directory that build.sh filled."""
    # A tab separates the fields, because reasons are compiler messages with blanks and colons.
    lines = (line.partition("\t") for line in (entry / FILE).read_text().splitlines())
    return {name: why for name, _, why in lines}


def not_chosen(kernel: str, linked: Collection[str]) -> dict[str, str]:
    """A kernel of the shelf may leave out overrides because of its `purposes`. Return these overrides, each with the
    reason. The result does not contain overrides that only save time."""
    return {
        override.name: f'the kernel "{kernel}" is without it'
        for override in overrides.overrides()
        if override.name not in linked and override.purpose != overrides.SPEED
    }


def warnings(left_out: Mapping[str, str]) -> list[str]:
    """Return sentences for the manifest and the report. Each object that the kernel lacks has its own sentence. One
    further sentence lists all options that the kernel lacks."""
    means = {override.name: override.without for override in overrides.overrides()}
    texts = [
        f"the kernel was built without leowarp's {name}: {means.get(name, 'what it adds is missing')} ({why})"
        for name, why in left_out.items()
        if not name.startswith(_OPTION)
    ]
    if options := [name for name in left_out if name.startswith(_OPTION)]:
        text = f"the kernel's tree does not have {', '.join(options)}, which leowarp's kernel is configured with"
        texts.append(f"{text}: what they add is missing, or is part of every kernel of its version")
    return texts


def check_fits(plan: Plan, kernel_facts: Mapping[str, Any] | None = None) -> None:
    """Check that the plan's kernel has all of leowarp's objects that the plan needs.

    `kernel_facts` has the same form as in `GuestImage`. If `kernel_facts` is None, nothing is built yet. The function
    then checks the shelf's entry for the plan's kernel.
    Raises ScenarioError if an object that the plan needs is missing. The message names the object, the reason and the
        key that needs it. Also raises ScenarioError if the plan uses IPv6 or Multipath TCP, and the shelf's kernel does
        not support it.
    """
    kernel = plan.guest.kernel
    needs_ipv6 = plan.network.family == "ipv6" and is_kernel_name(kernel)
    if needs_ipv6 and "CONFIG_IPV6=y" not in shelf.kernel_of(kernel).options:
        raise ScenarioError(
            f'running {plan.name} over the kernel "{kernel}": network.family = "ipv6", and it has no IPv6',
            hint=f'write --kernel {KERNEL_WITH_IPV6}, or guest.kernel = "{KERNEL_WITH_IPV6}"',
        )
    needs_mptcp = any(flow.is_mptcp for flow in plan.flows) and is_kernel_name(kernel)
    if needs_mptcp and "CONFIG_MPTCP=y" not in shelf.kernel_of(kernel).options:
        raise ScenarioError(
            f'running {plan.name} over the kernel "{kernel}": protocol = "mptcp", and it has no Multipath TCP',
            hint=f'write --kernel {KERNEL_WITH_MPTCP}, or guest.kernel = "{KERNEL_WITH_MPTCP}"',
        )
    if kernel_facts is None:
        purposes = shelf.kernel_of(kernel).purposes if is_kernel_name(kernel) and kernel != shelf.DEFAULT else None
        if purposes is None:
            return
        linked = {each.name for each in overrides.overrides() if each.purpose in purposes}
        kernel_facts = {"source": f'the kernel "{kernel}"', "left_out": not_chosen(kernel, linked)}
    left_out: Mapping[str, str] = kernel_facts.get("left_out", {})
    for key, name in _asked(plan).items():
        if name in left_out:
            raise ScenarioError(
                f"running {plan.name} over {kernel_facts['source']}: {key} needs leowarp's {name}, without "
                f"which this kernel is built ({left_out[name]})",
                hint=f"give {key.partition(' = ')[0]} another value, or take the default kernel",
            )


def _asked(plan: Plan) -> dict[str, str]:
    """Return a dict. A key is a scenario key with its value. Its entry is the name of the object of leowarp that this
    value needs."""
    asked = {
        f'flows.{number}.congestion_control = "{flow.congestion_control}"': flow.congestion_control
        for number, flow in enumerate(plan.flows)
        if flow.kind == "tcp" and flow.congestion_control
    }
    if any(host.tcp.delayed_ack == "on" for host in plan.hosts):
        asked['tcp.delayed_ack = "on"'] = "delack"
    for host in plan.hosts:
        if host.tcp.loss_detection != "kernel":
            asked[f'tcp.loss_detection = "{host.tcp.loss_detection}"'] = "loss_detection"
    for cure, is_on in plan.cures.on().items():
        if is_on:
            asked[f"cures.{cure}"] = "cures"
    # A jittered path always uses netem (`Jittered.idle`), so it does not need leolink.
    if not isinstance(plan.medium, Jittered) and plan.network.link_model == "leolink":
        asked['network.link_model = "leolink"'] = "leolink"
    return asked
