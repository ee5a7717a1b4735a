# SPDX-License-Identifier: Apache-2.0
"""Test which names of leowarp the studies use outside its public interface."""

import ast
from pathlib import Path

import pytest

import leowarp
from api_page import ROOMS

HERE = Path(__file__).parent
PUBLIC = ("leowarp", "leowarp.study", "leowarp.reordering")
"""The packages whose `__all__` is the public interface. The modules of `leowarp.study` are also part of the interface,
because studies are built on them."""

BEYOND = {
    "leowarp.base.ownership:make_directory",
    "leowarp.base.progress:building",
    "leowarp.base.units:TIME",
    "leowarp.base:layout",
    "leowarp.ephemeris:ephemeris_of",
    "leowarp.guest.building.cache:cache_folder",
    "leowarp.guest.building.kernel:is_built",
    "leowarp.guest.building.shelf:kernel_of",
    "leowarp.media.mobile:rows_of",
    "leowarp.media.registry:routes_of",
    "leowarp.metrics.inputs.changes:pair_routes",
    "leowarp.metrics.inputs.changes:path_changes",
    "leowarp.metrics.inputs.tables:Tables",
    "leowarp.metrics.inputs.tables:floats",
    "leowarp.metrics.inputs.tables:truths",
    "leowarp.metrics.per_flow.acknowledgements:ack_waits",
    "leowarp.metrics.route_changes.recovery:RECOVERY_STATES",
    "leowarp.metrics:CAUSES",
    "leowarp.metrics:DATA",
    "leowarp.metrics:NEAR_NS",
    "leowarp.metrics:Probes",
    "leowarp.metrics:Tables",
    "leowarp.metrics:goodput",
    "leowarp.metrics:holding_ns",
    "leowarp.metrics:near",
    "leowarp.metrics:path_queues",
    "leowarp.metrics:probes",
    "leowarp.metrics:weighted_quantile",
    "leowarp.report.curves.densities:Shares",
    "leowarp.report.curves.densities:draw_density",
    "leowarp.report.figures.packets:packets_beside",
    "leowarp.report.rules:kernel_name",
    "leowarp.report.rules:rules_of",
    "leowarp.report.style:AFTER",
    "leowarp.report.style:ALGORITHMS",
    "leowarp.report.style:BAD",
    "leowarp.report.style:BEFORE",
    "leowarp.report.style:COLUMN_IN",
    "leowarp.report.style:OKABE_ITO",
    "leowarp.report.style:PAGE_IN",
    "leowarp.report.style:line_style",
    "leowarp.report.style:mark_changes",
    "leowarp.report.style:new_figure",
    "leowarp.report.style:styled",
    "leowarp.report:FIGURES",
    "leowarp.report:html",
    "leowarp.scenario.names.examples:example_file",
    "leowarp.scenario.schema:Ground",
    "leowarp.scenario.schema:Isl",
    "leowarp.scenario.schema:Mobile",
    "leowarp.scenario:load",
    "leowarp.scenario:resolve",
    "leowarp.timeline.recordings:Measurement",
    "leowarp.timeline.recordings:Schedule",
    "leowarp.timeline.recordings:describe",
    "leowarp.timeline.recordings:read",
    "leowarp.timeline.recordings:read_capacity",
    "leowarp.trace.schema.hosts:CA_CWR",
    "leowarp.trace.schema.hosts:CA_LOSS",
    "leowarp.trace.schema.packets:DIRECTIONS",
}
"""Names that are outside the public interface, but that studies use. Names may only be removed from this list. If a
study needs another name, export the name from a package of `PUBLIC`."""


def used(text):
    """Return the names that a source file imports from leowarp and that are not public, in the form `module:name`.

    Returns
    -------
    set of str
    """
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {f"{alias.name}:" for alias in node.names if alias.name.startswith("leowarp.")}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "leowarp":
            found |= {f"{node.module}:{alias.name}" for alias in node.names if not public(node.module, alias.name)}
    return found


def public(module, name):
    """Return true if a name belongs to the interface. This is the case if a package of `PUBLIC` exports it, a module of
    `leowarp.study` contains it, or the reference page lists it."""
    if module == "leowarp":
        return name in leowarp.__all__ or name == "study"
    return (
        module == "leowarp.study"
        or module.startswith("leowarp.study.")
        or name in (ROOMS.get(module) or ())
        or (module == "leowarp.reordering")
    )


def test_studies_use_no_more_of_leowarp_than_the_list_names():
    modules = [path for path in HERE.rglob("*.py") if not path.name.endswith("_test.py")]
    assert len(modules) > 60
    now = set().union(*(used(path.read_text(encoding="utf-8")) for path in modules))
    assert sorted(now - BEYOND) == [], "not public: give it to leowarp.study, or do without"
    assert sorted(BEYOND - now) == [], "no longer used: take it off the list"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from leowarp import ScenarioError, Run", set()),
        ("from leowarp.study import Claim\nfrom leowarp.study.parts import Part", set()),
        ("from leowarp.report import figure, inline", {"leowarp.report:inline"}),
        ("def f():\n    from leowarp.base.units import parse", {"leowarp.base.units:parse"}),
        ("from leowarp import guest", {"leowarp:guest"}),
        ("import leowarp.trace", {"leowarp.trace:"}),
    ],
)
def test_what_is_not_public_is_seen(text, found):
    assert used(text) == found
