# SPDX-License-Identifier: Apache-2.0
"""The study file: a scenario, the parameters that are varied, and the seeds. This module checks the file's text. The
module `expand` turns the text into plans.

All checks that need only the study file are in this module. All mistakes are reported together, each with file, line,
key, the violated rule and a correction. `expand` makes the checks that need the scenario: whether a key exists, and
whether a combination is a valid plan. docs/guides/studies.md describes the keys.
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
"""The keys that are allowed at the top level of a study file."""
KEEP = ("none", "failed", "all")
"""The values of `[keep] runs`, the run directories that are stored beside the results, with the default first."""
STUDY_SCHEMA = 1
"""The only value of `schema` that this version of leowarp can read, and the default."""
MOST_SEEDS = 1_000_000
"""The maximum number of seeds. Every seed becomes a row of `plans.parquet` before the first run, so a mistyped count
could fill the memory."""


@dataclass(frozen=True)
class Parameter:
    """A varied scenario key with its values in order.

    key: The key as written in a file, such as `flows.0.size`. Parts that are not bare keys are quoted.
    values: The values as written. All values of a range have the position of the range.
    label: The name of the column in the results. The default is made from the key's parts (`keys.column_name`).
    """

    key: str
    parts: tuple[str, ...]
    values: tuple[Node, ...]
    label: str | None
    origin: Origin


@dataclass(frozen=True)
class Condition:
    """A table of `[[exclude]]` or `[[only]]`. A combination matches if it has one of the listed values for each key of
    the table.

    values: A dict from each parameter's dotted key to the values that match, in plain TOML types.
    """

    values: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class StudyFile:
    """A study as its file describes it.

    Attributes
    ----------
    name : str
    scenario : Path
        The scenario on which all runs are based.
    set : dict of str to Node
        The scenario keys that are replaced in every run. The dict maps each dotted key to its new value.
    dimensions : tuple of tuples of Parameter
        The study consists of all combinations of the dimensions. The parameters of one dimension vary together and have
        the same number of values.
    exclude, only : tuple of Condition
        Combinations that match a condition in `exclude` are removed. If `only` has conditions, each remaining
        combination must match at least one of them.
    seeds : tuple of int, optional
        The seeds with which each combination is run. None means one run per combination, with the scenario's own seed.
    keep : str
        The complete run directories to store: "none", "failed" or "all".
    text : str
        The text of the file. If the study was made from a mapping, this is the text of an equivalent file.
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
        """Load the study in a file.

        Raises
        ------
        ScenarioError
            If the file has mistakes. One error lists all mistakes.
        """
        path = Path(path)
        try:
            # utf-8-sig is used because editors on Windows begin a file with a byte order mark, which TOML does not
            # allow. The size is checked before anything is parsed (docs/security.md).
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
        """Make a study from a mapping with the same structure as the file. File names are relative to `folder`.

        Parameters
        ----------
        content : mapping
            The keys, as in a study file. Values are strings, numbers, truth values, lists, mappings or paths.
        folder : path
            The folder to which file names in the content are relative.

        Raises
        ------
        ScenarioError
            For the same reasons as `load`. Messages give the position of each mistake as "the study".

        >>> study = StudyFile.of({"name": "two", "scenario": "madrid-tokyo", "seeds": {"first": 1, "count": 2}})
        >>> study.seeds, study.dimensions, study.keep
        ((1, 2), (), 'none')
        """
        # Error messages and relative file names refer to a file, so a file name is invented here.
        origin = Origin(Path(folder) / f"study {content.get('name', '')}", 1, "the study", in_call=True)
        return cls._decoded(plant(content, origin, (), {}), toml_text(content))

    @classmethod
    def _decoded(cls, document: Node, text: str) -> Self:
        """Build the study from a TOML document whose values have positions."""
        problems = Problems()
        for key, node in document.value.items():
            if key not in KEYS:
                # A mistyped `[sets]` would silently leave every run with the scenario's own values.
                problems.add(node.origin, key, "there is no such key", unknown_key_hint(key, KEYS, {}))
        # Any other version is refused, because its keys could have a different meaning.
        version = document.get("schema")
        if version is not None and version.value != STUDY_SCHEMA:
            rule = f"this leowarp reads schema = {STUDY_SCHEMA}"
            problems.add(version.origin, "schema", rule, "a newer leowarp may have written this file")
        varied = _Varied(document, problems)
        study = cls(
            name=_name(document, problems),
            scenario=_scenario(document, problems),
            set={key: node for key, _, node in dotted(document.get("set"), "set", problems)},
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
    """The dimensions from `[parameters]` and `[[together]]`. A parameter with a mistake is missing from `dimensions`.

    dimensions: Each key of `[parameters]` becomes a tuple with one parameter. Each `[[together]]` gives a dimension
        with several parameters.
    values: The plain values of the parameters in both sections, by key. `exclude` and `only` may contain no other
        values.
    origins: The position of each varied key in the file.
    """

    def __init__(self, document: Node, problems: Problems) -> None:
        """Read `[parameters]` and `[[together]]`. The dimensions of `[[together]]` come last, so they vary fastest."""
        self._problems = problems
        self.dimensions: list[tuple[Parameter, ...]] = []
        self.values: dict[str, list[Any]] = {}
        self.origins: dict[str, Origin] = {}
        self.dimensions += [(parameter,) for parameter in self._parameters(document.get("parameters"), "parameters")]
        for number, node in enumerate(tables(document, "together", self._problems)):
            joined = self._parameters(node, f"together.{number}")
            lengths = {parameter.key: len(parameter.values) for parameter in joined}
            # The lengths are checked because zip would silently drop the last values of longer lists.
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{key} has {length}" for key, length in lengths.items())
                rule = f"parameters that go in step have equally many values: {counts}"
                self._problems.add(node.origin, f"together.{number}", rule, "fill the shorter list")
            elif joined:
                self.dimensions.append(tuple(joined))

    def _parameters(self, table: Node | None, where: str) -> list[Parameter]:
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
        """Return a parameter from a list of values, or from a table with `values` or a range. None means that it has a
        mistake."""
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
            # If keys of the range are missing, `ranges` reports them.
            if given is None:
                return self._range(key, parts, node, label)
            values = given
        if not isinstance(values.value, list):
            rule = f"{plain_value(values)!r:.60} is not a list of values"
            hint = f"write [{plain_value(values)!r:.60}]; a value for all runs stands in [set]".replace("'", '"')
            self._problems.add(values.origin, key, rule, hint)
            return None
        # With an empty list there would be no combinations, and the study would have no runs.
        if not values.value:
            self._problems.add(
                values.origin, key, "is an empty list: there would be no run", "write values, or take it out"
            )
            return None
        return Parameter(key, parts, tuple(values.value), label, node.origin)

    def _range(self, key: str, parts: tuple[str, ...], node: Node, label: str | None) -> Parameter | None:
        known = plan_key(parts)
        if known is None:
            # A later check of the scenario reports the unknown key, whatever its value.
            return Parameter(key, parts, (node.get("from") or node,), label, node.origin)
        try:
            given = {name: plain_value(child) for name, child in node.value.items() if name != "label"}
            values = values_of_range(given, known)
        except ScenarioError as error:
            self._problems.add(node.origin, key, error.message, error.hint)
            return None
        return Parameter(key, parts, tuple(Node(value, node.origin) for value in values), label, node.origin)

    def _label(self, key: str, node: Node | None) -> str | None:
        """Return the label of a parameter, which must be a valid column name in every program."""
        if node is None:
            return None
        if not isinstance(node.value, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", node.value) is None:
            rule = f"{node.value!r:.60} is not a name of letters, digits and _"
            self._problems.add(node.origin, f"{key}.label", rule, 'it names a column: label = "cc"')
            return None
        return node.value


def _name(document: Node, problems: Problems) -> str:
    node = document.get("name")
    if node is None:
        problems.add(document.origin, "name", "is missing", 'write name = "..." first')
        return ""
    # A dot at the beginning would hide the directory, and a slash could lead out of `studies/`.
    if not isinstance(node.value, str) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", node.value) is None:
        rule = f"{node.value!r:.80} is not a name of 1 to 100 letters, digits, dots, dashes and underscores"
        problems.add(node.origin, "name", rule, "the study's directory takes its name from it")
        return ""
    return node.value


def _scenario(document: Node, problems: Problems) -> Path:
    node = document.get("scenario")
    if node is None:
        hint = 'write scenario = "jittered.toml": a file beside the study, or the name of an example'
        problems.add(document.origin, "scenario", "is missing", hint)
        return Path()
    if not isinstance(node.value, str) or not node.value:
        problems.add(node.origin, "scenario", f"{node.value!r:.60} is not a file name", "write it in quotes")
        return Path()
    # A file beside the study file takes precedence over an example, because the author can see the file.
    path = node.origin.file.parent / node.value
    if path.exists():
        return path
    try:
        return example_file(node.value if node.value.endswith(".toml") else f"{node.value}.toml")
    except ScenarioError:
        rule = f"there is no scenario {path}, and no example of that name"
        problems.add(node.origin, "scenario", rule, "the name is relative to the study's folder")
        return Path()


def _conditions(
    document: Node, name: str, varied: Mapping[str, list[Any]], problems: Problems
) -> tuple[Condition, ...]:
    """Return the conditions of `exclude` or `only`. A condition with a value that no parameter has would never match,
    and the study would silently have more or fewer runs than intended."""
    conditions = []
    for number, table in enumerate(tables(document, name, problems)):
        values: dict[str, tuple[Any, ...]] = {}
        for key, _, node in dotted(table, f"{name}.{number}", problems):
            # A condition's value may be a list, so that one `[[exclude]]` can match several values of a key.
            given = tuple(plain_value(node)) if isinstance(node.value, list) else (plain_value(node),)
            if key not in varied:
                hint = one_of(key, varied, "varied are:")
                problems.add(node.origin, f"{name}.{key}", "is not varied in this study", hint)
                continue
            for value in given:
                if value not in varied[key]:
                    hint = one_of(str(value), varied[key], "it has:")
                    problems.add(node.origin, f"{name}.{key}", f"{value!r:.60} is none of its values", hint)
            values[key] = given
        if values:
            conditions.append(Condition(values))
    return tuple(conditions)


def _seeds(document: Node, problems: Problems) -> tuple[int, ...] | None:
    """Return the seeds in order, or None if `[seeds]` is missing or wrong. A seed is the scenario's `run.seed`, so the
    schema of scenarios determines its allowed range."""
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
    # In Python, bool is a subclass of int, so `first = true` would become seed 1.
    if not isinstance(numbers, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        problems.add(table.origin, "seeds", "seeds are bare integers", hint)
        return None
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
    table = document.get("keep")
    if table is None:
        return KEEP[0]
    node = table.get("runs")
    extra = [key for key in table.value if key != "runs"] if isinstance(table.value, dict) else []
    # A wrong value is an error, because treating it as "all" would fill the disk in a large study.
    if node is None or extra or node.value not in KEEP:
        problems.add(table.origin, "keep", "holds `runs` alone: none, failed or all", 'write runs = "failed"')
        return KEEP[0]
    return str(node.value)


def _check_seed_key(study: StudyFile, varied: _Varied, problems: Problems) -> None:
    if study.seeds is not None:
        # A parameter with a different mistake is missing from the study's dimensions.
        origins = {**varied.origins, **{key: node.origin for key, node in study.set.items()}}
        if "run.seed" in origins:
            problems.add(origins["run.seed"], "run.seed", "[seeds] sets it too", "take one of them out")
