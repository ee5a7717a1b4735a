# SPDX-License-Identifier: Apache-2.0
"""Lists the objects of leowarp that do not compile or link with a custom kernel. The module also lists the features
that runs with this kernel lack.

When a tree is built, `guest/build.sh --leave-out` writes one line for each object or option that is left out. A line
contains the name, a tab, and the reason. The name is an object of leowarp or an option in `kernel.config`. The list of
all objects is guest/overrides.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.building import recipe, shelf
from leowarp.scenario import Plan, is_kernel_name
from leowarp.scenario.network.family import KERNEL_WITH_IPV6
from leowarp.scenario.schema import Jittered
from leowarp.scenario.workload.mptcp import KERNEL_WITH_MPTCP

FILE = "left-out.txt"
_OPTION = "CONFIG_"
SPEED = "speed"
"""The purpose of overrides that only save time. A kernel without these overrides gives the same traces."""


@dataclass(frozen=True)
class Override:
    """An override of guest/overrides.toml, which explains the fields."""

    name: str
    purpose: str
    without: str


def overrides() -> list[Override]:
    return [Override(entry["name"], entry["purpose"], entry["without"]) for entry in overrides_document()["override"]]


def overrides_document() -> dict:
    """Return guest/overrides.toml, the list of all differences between the guest kernel and an unmodified Linux."""
    directory = recipe.guest_sources()
    if directory is None:
        raise HostError(
            "reading the list of overrides: this installation has no guest/",
            hint="install a wheel made by `make wheel`",
        )
    return _read(directory / recipe.LIST)


@cache
def _read(path: Path) -> dict:
    return tomllib.loads(path.read_text())


def read(entry: Path) -> dict[str, str]:
    """Return the objects that the kernel in `entry`, which build.sh filled, lacks, each with the reason."""
    # A tab separates the fields, because reasons are compiler messages with blanks and colons.
    lines = (line.partition("\t") for line in (entry / FILE).read_text().splitlines())
    return {name: why for name, _, why in lines}


def not_chosen(kernel: str, linked: Collection[str]) -> dict[str, str]:
    """A kernel of the shelf may leave out overrides because of its `purposes`. Return these overrides, each with the
    reason. The result does not contain overrides that only save time."""
    return {
        override.name: f'the kernel "{kernel}" is without it'
        for override in overrides()
        if override.name not in linked and override.purpose != SPEED
    }


def warnings(left_out: Mapping[str, str]) -> list[str]:
    """Return sentences for the manifest and the report. Each object that the kernel lacks has its own sentence. One
    further sentence lists all options that the kernel lacks."""
    means = {override.name: override.without for override in overrides()}
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
    needs_mptcp = any(flow.is_mptcp for flow in plan.flows)
    for needs, option, asked, what, having in (
        (plan.network.family == "ipv6", "CONFIG_IPV6=y", 'network.family = "ipv6"', "IPv6", KERNEL_WITH_IPV6),
        (needs_mptcp, "CONFIG_MPTCP=y", 'protocol = "mptcp"', "Multipath TCP", KERNEL_WITH_MPTCP),
    ):
        if needs and is_kernel_name(kernel) and option not in shelf.kernel_of(kernel).options:
            raise ScenarioError(
                f'running {plan.name} over the kernel "{kernel}": {asked}, and it has no {what}',
                hint=f'write --kernel {having}, or guest.kernel = "{having}"',
            )
    if kernel_facts is None:
        purposes = shelf.kernel_of(kernel).purposes if is_kernel_name(kernel) and kernel != shelf.DEFAULT else None
        if purposes is None:
            return
        linked = {each.name for each in overrides() if each.purpose in purposes}
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
    """Return a dict from a scenario key with its value to the name of leowarp's object that this value needs."""
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
