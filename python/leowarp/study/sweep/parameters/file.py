# SPDX-License-Identifier: Apache-2.0
"""A study file: a scenario, what is varied in it, and the seeds. Looks at the text; `expand` makes plans of it.

Everything that can be told from the file alone is checked here, and all mistakes are reported together, each with its
file, line, key, rule and a way out. Checks that need the scenario (whether a key exists, whether a combination is a
valid plan) are in `expand`. The keys are described in docs/guides/studies.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from leowarp.base import plainfiles, tomltext
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.scenario import schema
from leowarp.scenario.document import Node, plant
from leowarp.scenario.names.examples import example_file
from leowarp.scenario.text.key import keys
from leowarp.scenario.text.positions import key_lines
from leowarp.scenario.text.problems import Origin, Problems, unknown_key_hint
from leowarp.study.sweep.parameters.dotted import dotted, plain_value, tables, toml_text
from leowarp.study.sweep.parameters.keys import plan_key
from leowarp.study.sweep.parameters.ranges import RANGE_KEYS, values_of_range

KEYS = ("name", "schema", "scenario", "set", "parameters", "together", "exclude", "only", "seeds", "keep")
"""All keys that the top of a study file may have."""
KEEP = ("none", "failed", "all")
"""Values of `[keep] runs`, the default first: which whole run directories stay beside the results."""
STUDY_SCHEMA = 1
"""The one value of `schema` that this version reads; a file without it is taken to be of this one."""
MOST_SEEDS = 1_000_000
"""Every seed becomes a row of `plans.parquet` before anything runs; a mistyped count should not fill the memory."""


@dataclass(frozen=True)
class Parameter:
    """A varied quantity: a dotted key and its values in order.

    key: As a file writes it, with quotes around parts that are no bare keys: `flows.0.size`.
    parts: The same in parts: `("flows", "0", "size")`.
    values: Values as written, each with its place in the file, so that an error can name the line; those of a range
        have the place of the range.
    label: The name of its column in the results; without one it is made from the parts (`keys.column_name`).
    origin: Where the parameter stands.
    """

    key: str
    parts: tuple[str, ...]
    values: tuple[Node, ...]
    label: str | None
    origin: Origin


@dataclass(frozen=True)
class Condition:
    """One table of `[[exclude]]` or `[[only]]`: a combination that has one of each key's values meets it.

    values: Dotted key of a parameter -> the values that it allows, as plain TOML values.
    origin: Where the table stands.
    """

    values: Mapping[str, tuple[Any, ...]]
    origin: Origin


@dataclass(frozen=True)
class StudyFile:
    """A study as it was written.

    Attributes
    ----------
    name : str
    scenario : Path
        The scenario that all runs begin with.
    set : dict of str to Node
        Dotted keys of the scenario and what replaces them in every run.
    dimensions : tuple of tuples of Parameter
        The study is their product. The parameters of one dimension go in step and have equally many values.
    exclude, only : tuple of Condition
        Combinations that are left out; if `only` has any, those that meet none of it are left out too.
    seeds : tuple of int, optional
        Each combination is run with each; None: with the scenario's own.
    keep : str
        Whole run directories that stay: "none", "failed" or "all".
    text : str
        The file, or a text in its place.
    """

    name: str
    scenario: Path
    set: Mapping[str, Node]
    dimensions: tuple[tuple[Parameter, ...], ...]
    exclude: tuple[Condition, ...]
    only: tuple[Condition, ...]
    seeds: tuple[int, ...] | None
    keep: str
    text: str

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The study in a file.

        Raises
        ------
        ScenarioError
            With every mistake in it: file, line, key, rule and what to write instead.
        """
        path = Path(path)
        try:
            # utf-8-sig: editors on Windows put a byte order mark first, which TOML does not know. The size is limited
            # before anything is parsed (docs/security.md).
            text = plainfiles.read(path, plainfiles.MOST_TOML_BYTES, links=True).decode("utf-8-sig")
        except FileNotFoundError:
            raise ScenarioError(
                f"there is no study file {path}", "docs/guides/studies.md says how to write one"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"cannot read the study {path}: {error}") from None
        try:
            document = plant(tomltext.loads(text), Origin(path, 1, "the study"), (), key_lines(text))
        except (ValueError, RecursionError) as error:
            raise ScenarioError(f"{path}: {error}", "this is not valid TOML (https://toml.io)") from None
        return cls._decoded(document, text)

    @classmethod
    def of(cls, content: Mapping[str, Any], folder: Path | str = ".") -> Self:
        """A study from a mapping of the same shape as the file; `folder` is what file names are relative to.

        Parameters
        ----------
        content : mapping
            Keys as in a file; values are strings, numbers, truth values, lists, mappings or paths.
        folder : path
            What the names of files in it are relative to.

        Raises
        ------
        ScenarioError
            As `load`; places are named as "the study".

        >>> study = StudyFile.of({"name": "two", "scenario": "madrid-tokyo", "seeds": {"first": 1, "count": 2}})
        >>> study.seeds, study.dimensions, study.keep
        ((1, 2), (), 'none')
        """
        # A call has no file; messages and file names need a place all the same.
        origin = Origin(Path(folder) / f"study {content.get('name', '')}", 1, "the study", in_call=True)
        return cls._decoded(plant(content, origin, (), {}), toml_text(content))

    @classmethod
    def _decoded(cls, document: Node, text: str) -> Self:
        """The study of a TOML document whose values know their places.

        Raises
        ------
        ScenarioError
            Once, with every mistake that was found.
        """
        problems = Problems()
        for key, node in document.value.items():
            if key not in KEYS:
                # Not ignored: a mistyped `[sets]` would leave every run with the scenario's own values.
                problems.add(node.origin, key, "there is no such key", unknown_key_hint(key, KEYS, {}))
        # A file without it is read as of this version; one of another is refused before its keys are misunderstood.
        version = document.get("schema")
        if version is not None and version.value != STUDY_SCHEMA:
            rule = f"this leowarp reads schema = {STUDY_SCHEMA}"
            problems.add(version.origin, "schema", rule, "a newer leowarp may have written this file")
        varied = _Varied(problems)
        # Before conditions are read: these name values, which must be some parameter's.
        varied.read(document)
        study = cls(
            name=_name(document, problems),
            scenario=_scenario(document, problems),
            set=_settings(document, problems),
            dimensions=tuple(varied.dimensions),
            exclude=_conditions(document, "exclude", varied.values, problems),
            only=_conditions(document, "only", varied.values, problems),
            seeds=_seeds(document, problems),
            keep=_keep(document, problems),
            text=text,
        )
        _check_seed_key(study, varied, problems)
        problems.raise_any()
        return study


class _Varied:
    """The dimensions of `[parameters]` and `[[together]]`.

    Mistakes go to `problems`, so that one look finds all of them; what is wrong is left out of `dimensions`.

    dimensions: list of tuples of Parameter. As `StudyFile.dimensions`: one parameter for each key of `[parameters]`,
        several for each `[[together]]`.
    values: Key -> plain values, of the parameters of both; what `exclude` and `only` are checked against.
    origins: Key -> where it is varied.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self.dimensions: list[tuple[Parameter, ...]] = []
        self.values: dict[str, list[Any]] = {}
        self.origins: dict[str, Origin] = {}

    def read(self, document: Node) -> None:
        """Reads both sections; `[parameters]` first, so `[[together]]` varies faster than all of them."""
        self.dimensions += [(parameter,) for parameter in self._parameters(document.get("parameters"), "parameters")]
        for number, node in enumerate(tables(document, "together", self._problems)):
            joined = self._parameters(node, f"together.{number}")
            lengths = {parameter.key: len(parameter.values) for parameter in joined}
            # zip would cut the longer lists off without a word.
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{key} has {length}" for key, length in lengths.items())
                rule = f"parameters that go in step have equally many values: {counts}"
                self._problems.add(node.origin, f"together.{number}", rule, "fill the shorter list")
            elif joined:
                self.dimensions.append(tuple(joined))

    def _parameters(self, table: Node | None, where: str) -> list[Parameter]:
        """The parameters of one table.

        A key that an earlier table varies is an error, as the study is the product of all dimensions.
        """
        parameters = []
        for key, parts, node in dotted(table, where, self._problems):
            parameter = self._parameter(key, parts, node)
            if key in self.values:
                self._problems.add(node.origin, key, "is varied twice", "take one of the two out")
            elif parameter is not None:
                self.values[key] = [plain_value(value) for value in parameter.values]
                self.origins[key] = parameter.origin
                parameters.append(parameter)
        return parameters

    def _parameter(self, key: str, parts: tuple[str, ...], node: Node) -> Parameter | None:
        """A parameter: a list of values, or a table with `values` or a range, and perhaps a label; None if it
        is wrong.
        """
        label, values = None, node
        if isinstance(node.value, dict):
            label = self._label(key, node.get("label"))
            allowed = ("label", "values", *RANGE_KEYS)
            for name, child in node.value.items():
                if name not in allowed:
                    hint = unknown_key_hint(name, allowed, {})
                    self._problems.add(child.origin, f"{key}.{name}", "there is no such key", hint)
                    return None
            given = node.get("values")
            # Neither list nor table of values: a range, of which `ranges` says what is missing.
            if given is None:
                return self._range(key, parts, node, label)
            values = given
        if not isinstance(values.value, list):
            rule = f"{plain_value(values)!r:.60} is not a list of values"
            hint = f"write [{plain_value(values)!r:.60}]; a value for all runs stands in [set]".replace("'", '"')
            self._problems.add(values.origin, key, rule, hint)
            return None
        # An empty list would make an empty product: a study without any run.
        if not values.value:
            self._problems.add(
                values.origin, key, "is an empty list: there would be no run", "write values, or take it out"
            )
            return None
        return Parameter(key, parts, tuple(values.value), label, node.origin)

    def _range(self, key: str, parts: tuple[str, ...], node: Node, label: str | None) -> Parameter | None:
        """A parameter whose values are a range, written out in the unit of the plan's key."""
        known = plan_key(parts)
        if known is None:
            # The scenario's own check says so with the nearest key; any value leads there.
            return Parameter(key, parts, (node.get("from") or node,), label, node.origin)
        try:
            given = {name: plain_value(child) for name, child in node.value.items() if name != "label"}
            values = values_of_range(given, known)
        except ScenarioError as error:
            self._problems.add(node.origin, key, error.message, error.hint)
            return None
        return Parameter(key, parts, tuple(Node(value, node.origin) for value in values), label, node.origin)

    def _label(self, key: str, node: Node | None) -> str | None:
        """The label, if it can name a column everywhere: letters, digits and underscores, not beginning with a
        digit.
        """
        if node is None:
            return None
        if not isinstance(node.value, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", node.value) is None:
            rule = f"{node.value!r:.60} is not a name of letters, digits and _"
            self._problems.add(node.origin, f"{key}.label", rule, 'it names a column: label = "cc"')
            return None
        return node.value


def _name(document: Node, problems: Problems) -> str:
    """The study's name, which is that of its directory: nothing that leads out of `studies/`."""
    node = document.get("name")
    if node is None:
        problems.add(document.origin, "name", "is missing", 'write name = "..." first')
        return ""
    # A leading dot would hide the directory, and a slash lead out of `studies/`.
    if not isinstance(node.value, str) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", node.value) is None:
        rule = f"{node.value!r:.80} is not a name of 1 to 100 letters, digits, dots, dashes and underscores"
        problems.add(node.origin, "name", rule, "the study's directory takes its name from it")
        return ""
    return node.value


def _scenario(document: Node, problems: Problems) -> Path:
    """The scenario's file: beside the study, or an example of that name."""
    node = document.get("scenario")
    if node is None:
        hint = 'write scenario = "jittered.toml": a file beside the study, or the name of an example'
        problems.add(document.origin, "scenario", "is missing", hint)
        return Path()
    if not isinstance(node.value, str) or not node.value:
        problems.add(node.origin, "scenario", f"{node.value!r:.60} is not a file name", "write it in quotes")
        return Path()
    # A file beside the study is preferred to an example of the same name: it is what its author sees.
    path = node.origin.file.parent / node.value
    if path.exists():
        return path
    try:
        return example_file(node.value if node.value.endswith(".toml") else f"{node.value}.toml")
    except ScenarioError:
        rule = f"there is no scenario {path}, and no example of that name"
        problems.add(node.origin, "scenario", rule, "the name is relative to the study's folder")
        return Path()


def _settings(document: Node, problems: Problems) -> dict[str, Node]:
    """Keys of `[set]`, which hold for every run."""
    return {key: node for key, _, node in dotted(document.get("set"), "set", problems)}


def _conditions(
    document: Node, name: str, varied: Mapping[str, list[Any]], problems: Problems
) -> tuple[Condition, ...]:
    """`exclude` or `only`: a value that no parameter has is an error and not a condition that never holds."""
    conditions = []
    for number, table in enumerate(tables(document, name, problems)):
        values: dict[str, tuple[Any, ...]] = {}
        for key, _, node in dotted(table, f"{name}.{number}", problems):
            # One value or a list of them, so that `[[exclude]]` can name several values of one key in a row.
            given = tuple(plain_value(node)) if isinstance(node.value, list) else (plain_value(node),)
            if key not in varied:
                hint = one_of(key, varied, "varied are:")
                problems.add(node.origin, f"{name}.{key}", "is not varied in this study", hint)
                continue
            for value in given:
                # A condition on a mistyped value would never hold, and the study quietly be another one.
                if value not in varied[key]:
                    hint = one_of(str(value), varied[key], "it has:")
                    problems.add(node.origin, f"{name}.{key}", f"{value!r:.60} is none of its values", hint)
            values[key] = given
        if values:
            conditions.append(Condition(values, table.origin))
    return tuple(conditions)


def _seeds(document: Node, problems: Problems) -> tuple[int, ...] | None:
    """The seeds, in order, from `first` and `count` or a `list`; None if there is no section, or if it is wrong.

    Seeds are the scenario's `run.seed`, whose range is asked of the schema: there is one place that says what a seed
    may be.
    """
    table = document.get("seeds")
    if table is None:
        return None
    hint = "write first = 1 and count = 30, or list = [1, 2, 3]"
    if not isinstance(table.value, dict):
        problems.add(table.origin, "seeds", "is not a table", f"below [seeds] {hint}")
        return None
    known = ("first", "count", "list")
    for key, node in table.value.items():
        if key not in known:
            problems.add(node.origin, f"seeds.{key}", "there is no such key", unknown_key_hint(key, known, {}))
            return None
    values = {key: plain_value(node) for key, node in table.value.items()}
    numbers = values.get("list", [values.get("first", 1), values.get("count", 1)])
    # bool is a subclass of int in Python: `first = true` would be seed 1.
    if not isinstance(numbers, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        problems.add(table.origin, "seeds", "seeds are bare integers", hint)
        return None
    # Two ways to say the same must not contradict each other.
    if "list" in values:
        if len(values) > 1:
            problems.add(table.origin, "seeds", "`list` stands alone", hint)
        elif not numbers or len(set(numbers)) < len(numbers):
            problems.add(table.origin, "seeds.list", "is empty, or has a seed twice", hint)
        seeds = tuple(numbers)
    elif "count" not in values or not 1 <= numbers[1] <= MOST_SEEDS:
        problems.add(table.origin, "seeds.count", f"must be given, as 1 to {MOST_SEEDS}", hint)
        return None
    else:
        seeds = tuple(range(numbers[0], numbers[0] + numbers[1]))
    _, declared = keys(schema.Run)["seed"]
    for seed in (seed for seed in seeds if not declared.low <= seed <= declared.high):
        problems.add(table.origin, "seeds", f"{seed} is no seed", f"allowed: {declared.low} to {declared.high}")
    return seeds


def _keep(document: Node, problems: Problems) -> str:
    """The run directories that stay; "none" if it is not given."""
    table = document.get("keep")
    if table is None:
        return KEEP[0]
    node = table.get("runs")
    extra = [key for key in table.value if key != "runs"] if isinstance(table.value, dict) else []
    # "all" of a large study fills disks, so nothing is guessed here.
    if node is None or extra or node.value not in KEEP:
        problems.add(table.origin, "keep", "holds `runs` alone: none, failed or all", 'write runs = "failed"')
        return KEEP[0]
    return str(node.value)


def _check_seed_key(study: StudyFile, varied: _Varied, problems: Problems) -> None:
    """`[seeds]` and a parameter `run.seed` would both set the seed."""
    if study.seeds is not None:
        # Part of `varied` and not of the study's dimensions, which leave out errors of another kind, too.
        origins = {**varied.origins, **{key: node.origin for key, node in study.set.items()}}
        if "run.seed" in origins:
            problems.add(origins["run.seed"], "run.seed", "[seeds] sets it too", "take one of them out")
