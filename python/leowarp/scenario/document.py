# SPDX-License-Identifier: Apache-2.0
"""The tree of a scenario text, in which every value keeps its origin. The module also merges such trees.

A scenario has up to three layers: the file that it extends, the file itself, and each ``--set``. If a higher layer sets
some keys of a table, the table's remaining keys keep their values. If it sets a list, the whole list is replaced. Some
keys govern others: `preset`, for example, determines the keys of a constellation. If a higher layer sets a governing
key, the keys that it governs are removed from the lower layers. A plan contains every key. Without this rule, ``--set
constellation.preset=iridium``, for example, would therefore change nothing in a plan.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, tomltext
from leowarp.base.errors import ScenarioError
from leowarp.base.layout import PLAN
from leowarp.base.spelling import nearest
from leowarp.scenario.media.access import PROFILE_FILES
from leowarp.scenario.media.medium import MEDIA
from leowarp.scenario.names.examples import instead_of
from leowarp.scenario.network.queues import QueueKeys
from leowarp.scenario.text.counts import check_headers, check_lists
from leowarp.scenario.text.decoding import Node
from leowarp.scenario.text.positions import KeyPath, key_lines
from leowarp.scenario.text.problems import Origin, Problem, ScenarioProblems
from leowarp.scenario.workload.modules import HANDOVER_AWARE

Overrides = Mapping[str, Any] | Sequence[str]


def read_document(path: Path, overrides: Overrides = ()) -> Node:
    """Read a scenario file and the file that it extends, and merge the overrides over both.

    path: A TOML file, or a run directory, whose plan is read.
    overrides: A list of "KEY=VALUE", or a dict from dotted key to value. Each override is a layer of its own. Later
        overrides replace earlier ones.
    Returns: The root table without the key `extends`.
    Raises ScenarioError if a file cannot be read, is not TOML, or extends itself, or if an override is malformed.
    """
    if path.is_dir():
        path = path / PLAN
    node = _read_layers(path, ())
    for layer in override_layers(overrides, path, node):
        node = merge(node, layer)
    return node


def merge(lower: Node, upper: Node) -> Node:
    """Merge `upper` over `lower`. Tables are merged key by key. Any other value of `upper` replaces the value of
    `lower`.

    If a key of `upper` governs a key of `lower` (`_GOVERNS`), the key of `lower` is removed before the merge. The
    arguments are not changed.
    """
    # Keys are removed only from the lower layer. If the upper layer gives a preset and also a key that the preset fills
    # in, the upper layer's key overrides the preset.
    return _merge(_without_governed(lower, upper), upper)


def override_layers(overrides: Overrides, file: Path, base: Node) -> Iterable[Node]:
    """Yield one layer for each override. An override may name an element of a list. Its layer then has a copy of the
    whole list, in which only this element is changed.

    overrides: A list of "KEY=VALUE", or a dict. In a list, a value is read as TOML if possible, otherwise as text.
        Values of a dict are used unchanged, and may be of type `Node`.
    file: The scenario file. Messages name the file, and relative file names refer to its folder.
    base: The document to which the first override applies. Each later override applies to the result of the earlier
        ones.
    Raises ScenarioError if there is no ``=``, if the key is not a dotted key, or if the key leads through a scalar or
        past the end of a list.
    """
    pairs: list[tuple[str, str, Any]] = []
    if isinstance(overrides, Mapping):
        pairs = [(f"{key}={value!r:.80}", key, value) for key, value in overrides.items()]
    else:
        for text in overrides:
            key, equals, value = text.partition("=")
            if not equals:
                raise ScenarioError(f"--set {text}: has no =", 'write --set KEY=VALUE, as in --set run.duration="60 s"')
            pairs.append((text, key, _override_value(value)))
    for text, key, value in pairs:
        # The values of a study are already nodes, with their line numbers in the study's file.
        node = value if isinstance(value, Node) else plant(value, Origin(file, override=text), (), {})
        parts = override_key(key, node.origin)
        layer = _with_preset(_override_node(base, parts, node, node.origin, ""))
        # Each override applies to the result of the previous override: `flows.1.kind=ping` may follow a
        # `flows.1.source=A` that created the flow.
        base = merge(base, layer)
        yield layer


def plant(value: Any, origin: Origin, path: KeyPath, lines: Mapping[KeyPath, int]) -> Node:
    """Wrap plain TOML values in nodes.

    value: A value of dicts, lists and scalars.
    origin: The origin of the whole value. If `lines` lacks the path of a node, the node gets the line of the table
        around it.
    path: The place of `value` in the document, a tuple of str and int.
    lines: The line of each path, from `positions.key_lines`. The mapping is empty for values that the user typed.
    """
    here = Origin(origin.file, lines[path], origin.override) if path in lines else origin
    if isinstance(value, Mapping):
        children: dict[str, Node] = {}
        for key, child in value.items():
            node = plant(child, here, (*path, str(key)), lines)
            children[str(key)] = _flat(node) if key == "sysctl" else node
        return Node(children, here)
    if isinstance(value, list | tuple):
        return Node([plant(child, here, (*path, index), lines) for index, child in enumerate(value)], here)
    return Node(value, here)


def _read_layers(path: Path, below: tuple[Path, ...]) -> Node:
    """Read a file. If this file extends another file, add the other file's values for the keys that this file does not
    set.

    `below` has the resolved paths of the files that extend this one, directly or indirectly. If this file extended one
    of these files, it would extend itself.
    """
    if path.resolve() in below:
        chain = " -> ".join(file.name for file in (*below, path))
        raise ScenarioError(f"{path}: extends itself ({chain})", "take one of the `extends` lines out")
    node = _with_presets(_read_file(path))
    extends = node.value.pop("extends", None)
    if extends is None:
        return node
    if extends.origin.is_of_a_run:
        rule = "the plan of a run stands alone, and reads no other file"
        raise ScenarioProblems([Problem(extends.origin, "extends", rule, "copy the plan to another name to change it")])
    if not isinstance(extends.value, str) or not extends.value:
        raise ScenarioProblems(
            [Problem(extends.origin, "extends", f"{extends.value!r} is not a file name", 'extends = "other.toml"')]
        )
    base_path = path.parent / extends.value
    if not base_path.is_file():
        rule = f"there is no file {base_path} to extend"
        raise ScenarioProblems([Problem(extends.origin, "extends", rule, "the name is relative to this file's folder")])
    base = _read_layers(base_path, (*below, path.resolve()))
    # A run directory is named after its scenario. A variant of a scenario has its own run directory, so the variant
    # does not inherit the scenario's name.
    base.value.pop("name", None)
    return merge(base, node)


def _with_presets(node: Node) -> Node:
    """Merge a layer over preset files. The ``access.preset`` and the stations of the layer name these files."""
    node = _with_preset(node)
    stations = node.get("stations")
    if stations is None or not isinstance(stations.value, list):
        return node
    filled = Node([_with_preset(station) for station in stations.value], stations.origin)
    return Node({**node.value, "stations": filled}, node.origin)


def _with_preset(node: Node) -> Node:
    """If ``access.preset`` of a layer or station names a file, add the values in that file. Values from the layer or
    station itself take precedence.

    The key `preset` gets the value that it has in the preset file, or its default. The key `preset_file` records the
    file's name and sha256, so that a plan no longer needs the file.
    """
    named = node.get("access", "preset")
    if named is None or not isinstance(named.value, str) or not named.value.endswith(".toml"):
        # A plan contains the profile's values, and its key `preset_file` names their origin.
        return node if node.get("access", "preset_file") is not None else _with_profile(node)

    def refused(origin: Origin, rule: str, hint: str) -> ScenarioProblems:
        return ScenarioProblems([Problem(origin, "access.preset", rule, hint)])

    if named.origin.is_of_a_run:
        rule = "the plan of a run stands alone, and reads no other file"
        raise refused(named.origin, rule, "copy the plan to another name to change it")
    path = named.origin.folder / Path(named.value).expanduser()
    if not path.is_file():
        hint = "a name is relative to the folder of the scenario, of --set to where you are; leowarp fit writes one"
        raise refused(named.origin, f"there is no file {path}", hint)
    file = _read_file(path)
    for key in file.value:
        if key != "access":
            raise refused(file.value[key].origin, f"{key} has no place in a preset", "a preset has [access] alone")
    access = file.get("access")
    if access is None or not isinstance(access.value, dict):
        raise refused(file.origin, f"{path} has no [access]", "write its keys below [access]")
    below = access.get("preset")
    if below is not None and isinstance(below.value, str) and below.value.endswith(".toml"):
        raise refused(below.origin, "a preset in a file cannot name another file", "write peak or off-peak")
    filled = {**access.value, "preset": Node("peak", file.origin) if below is None else below}
    own = {key: child for key, child in node.value["access"].value.items() if key != "preset"}
    return _with_profile(_over_file(node, filled, path, Node(own, node.origin)))


def _with_profile(node: Node) -> Node:
    """If ``access.profile`` of a layer or station names a profile with a file, merge the layer or station over this
    file."""
    named = node.get("access", "profile")
    path = None if named is None or not isinstance(named.value, str) else PROFILE_FILES.get(named.value)
    if path is None:
        return node
    access = node.value["access"]
    ours = dict(_read_file(path).value["access"].value)
    geometry = node.get("access", "geometry")
    if geometry is not None and geometry.value == "constellation":
        # With geometry = "constellation", base round trips follow from slant ranges.
        del ours["base_rtts"]
    return _over_file(node, ours, path, access)


def _over_file(node: Node, values: dict[str, Node], path: Path, own: Node) -> Node:
    """Merge `own`, the ``[access]`` of a layer or station, over the values of a file. The key `preset_file` records the
    file's name and sha256."""
    digest = plainfiles.sha256_of(path, plainfiles.MOST_TOML_BYTES, links=True)
    lower = Node(values | {"preset_file": Node(f"{path.name} {digest}", Origin(path, 1))}, node.value["access"].origin)
    return Node({**node.value, "access": _merge(lower, own)}, node.origin)


def _read_file(path: Path) -> Node:
    """Read a TOML file, and return its values as nodes."""
    try:
        # A user's scenario may be a symbolic link, but a link to a plan in a run directory is rejected.
        content = plainfiles.read(path, plainfiles.MOST_TOML_BYTES, links=path.name != PLAN)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError(f"there is no scenario file {path}", instead_of(path)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: is not UTF-8 text (byte {error.start})", "a scenario is TOML text") from None
    except (OSError, ValueError) as error:  # A file name that contains a NUL raises ValueError.
        why = error.strerror if isinstance(error, OSError) else error
        raise ScenarioError(f"cannot read the scenario {path}: {why}") from None
    try:
        # The headers are counted before the text is parsed, because each list element takes 0.2 ms.
        check_headers(path, text)
        values = _values(text)
        check_lists(path, values)
        return plant(values, Origin(path, 1), (), _lines(text))
    except RecursionError:
        raise ScenarioError(f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise ScenarioError(_syntax_message(path, str(error)), "this is not valid TOML (https://toml.io)") from None


# The results of `_values` and `_lines` are cached, because a study reads the same file for each combination. Treat the
# results as read-only.
@lru_cache(maxsize=4)
def _values(text: str) -> Mapping[str, Any]:
    return tomltext.loads(text)


@lru_cache(maxsize=4)
def _lines(text: str) -> Mapping[KeyPath, int]:
    return key_lines(text)


def _syntax_message(path: Path, message: str) -> str:
    """Rewrite a message of `tomllib` with the position in front, so that editors can jump there."""
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if match is None:
        return f"{path}: {message}"
    return f"{path}:{match[1]}: column {match[2]}: {message[: match.start()]}"


def _override_value(text: str) -> Any:
    """Parse a text as TOML. A shell removes the quotes of a text, so the text is no longer TOML. Such a text is
    returned unchanged.

    >>> _override_value("60"), _override_value("60 s")
    (60, '60 s')
    """
    try:
        # The text is read by the TOML parser, so that --set and a file treat numbers, lists and dates in the same way.
        parsed = tomllib.loads(f"value = {text.strip()}")
    except (ValueError, RecursionError):
        return text.strip()
    return parsed["value"] if len(parsed) == 1 else text.strip()


def override_key(text: str, origin: Origin) -> list[str]:
    """Split a dotted key into its parts.

    Raises ScenarioError if the text is not a dotted TOML key. The message begins with `origin`.

    >>> override_key("flows.0.start", Origin(Path("a.toml")))
    ['flows', '0', 'start']
    """
    try:
        # Keys are parsed as TOML because a key part that contains a dot is written in quotes.
        parts, value = [], tomllib.loads(f"{text.strip()} = 0")
        node: Any = value
        while isinstance(node, dict) and len(node) == 1:
            part, node = next(iter(node.items()))
            parts.append(part)
    except (ValueError, RecursionError):
        parts, node = [], None
    if node != 0 or not parts:
        raise ScenarioError(f"{origin}: {text!r} is not a dotted key", "write it like run.duration or flows.0.start")
    return parts


def _override_node(base: Node | None, parts: list[str], value: Node, origin: Origin, so_far: str) -> Node:
    """Return a tree to be merged over `base`. It contains only `value`, at the path `parts`.

    Merging replaces a list as a whole. Therefore, if the path goes through a list, the tree contains a copy of the list
    with one changed element. An index equal to the list's length adds an element.
    """
    if not parts:
        return value
    part, rest = parts[0], parts[1:]
    here = f"{so_far}.{part}" if so_far else part
    below = base.value if base is not None else {}
    if isinstance(below, list):
        # A number of six or more digits is not accepted as an index. Python's int() also rejects texts of thousands of
        # digits.
        index = int(part) if part.isdecimal() and len(part) < 6 else _places(below).get(part)
        if index is None or index > len(below):
            count = len(below)
            rule = f"{part!r} is not a place in the list {so_far}, which has {count} (0 is the first)"
            near = nearest(part, _places(below))
            guess = f"did you mean {so_far}.{near}? " if near else ""
            there = f"{so_far}.0 to {so_far}.{count - 1}, or " if count > 1 else f"{so_far}.0, or " if count else ""
            raise ScenarioProblems([Problem(origin, here, rule, f"{guess}write {there}{so_far}.{count} to add one")])
        old = below[index] if index < len(below) else Node({}, origin)
        new = _override_node(old, rest, value, origin, here)
        # If a station's override names a preset file, this file is merged here. As in a whole layer, the preset file's
        # values replace the values of lower layers.
        new = _with_preset(new) if rest else new
        return Node([*below[:index], merge(old, new), *below[index + 1 :]], origin)
    if not isinstance(below, dict):
        raise ScenarioProblems([Problem(origin, here, f"{so_far} is a single value and has no keys")])
    # `--set flows.0.source=A` creates the first flow of a scenario without flows. If the list were not created here,
    # the override would create a table named "0".
    if part in ("stations", "flows") and not so_far and rest and part not in below:
        below = {part: Node([], origin)}
    # A sysctl's name contains dots. In the key of an override, everything after "sysctl." is therefore one name. In a
    # file, `_flat` joins the parts of a sysctl's name.
    if part == "sysctl" and rest:
        rest = [".".join(rest)]
    child = below.get(part)
    if rest and child is not None and not isinstance(child.value, dict | list):
        raise ScenarioProblems([Problem(origin, here, f"{here} is a single value and has no keys")])
    return Node({part: _override_node(child, rest, value, origin, here)}, origin)


def _places(items: Sequence[Node]) -> dict[str, int]:
    """Return a dict from the name of each named table to its index in a list of stations or flows."""
    names = [item.get("name") for item in items]
    return {name.value: n for n, name in enumerate(names) if name is not None and isinstance(name.value, str)}


def _merge(lower: Node, upper: Node) -> Node:
    """Merge two layers. Tables are merged key by key. If one of the values is not a table, the upper value replaces the
    lower value."""
    if not (isinstance(lower.value, dict) and isinstance(upper.value, dict)):
        return upper
    merged = dict(lower.value)
    for key, node in upper.value.items():
        merged[key] = _merge(merged[key], node) if key in merged else node
    # Even if an override changes a key of the table, the table's origin is still the file.
    return Node(merged, lower.origin if upper.origin.override is not None else upper.origin)


def _without_governed(lower: Node, upper: Node) -> Node:
    """Return `lower` without the keys that `upper` governs. If `upper` names a preset, the removed keys later get their
    values from this preset."""
    filled = lower.get("access", "preset_file")
    if filled is not None and any(upper.get("access", key) is not None for key in ("preset", "profile")):
        # If the upper layer sets a preset or profile, all keys that the lower layer took from a preset or profile file
        # are removed.
        files = {filled.origin.file, *PROFILE_FILES.values()}
        of_file = [key for key, child in lower.value["access"].value.items() if child.origin.file in files]
        lower = _without(lower, [("access", key) for key in of_file])
    for governing, governed in _GOVERNS.items():
        setting = upper.get(*governing)
        if setting is not None and setting.value != _KEEPS.get(governing, "none"):
            lower = _without(lower, [(*governing[:-1], key) for key in governed])
    for name, section in upper.value.items() if isinstance(upper.value, dict) else ():
        # The hash of a file in a plan applies only to that file, so a new file name removes the hash.
        keys = section.value if isinstance(section.value, dict) else ()
        lower = _without(lower, [(name, f"{key}_sha256") for key in keys])
    if any(upper.get("access", key) is not None for key in ("clock", "phase", "period")):
        # A plan passes the reconfiguration schedule to handover-aware congestion controls in the keys `phase_ns` and
        # `period_ns`.
        lower = _without(
            lower, [("modules", name, key) for name in HANDOVER_AWARE for key in ("phase_ns", "period_ns")]
        )
    # A plan contains every sysctl of the guest and of the hosts. Sysctls follow from [tcp] and [guest]: if the upper
    # layer has one of these sections, the sysctls are derived again.
    if any(upper.get(section) is not None for section in ("tcp", "guest")):
        lower = _without(lower, [("sysctl",)])
    hosts, changed = lower.get("hosts"), upper.get("hosts")
    if hosts is not None and isinstance(hosts.value, dict):
        for host in hosts.value:
            # A change of [tcp] affects every host, and a change of the stations changes the hosts; both remove the
            # sysctls of all hosts.
            everywhere = upper.get("tcp") is not None or upper.get("stations") is not None
            if everywhere or (changed is not None and changed.get(host, "tcp") is not None):
                lower = _without(lower, [("hosts", host, "sysctl")])
    return lower


def _without(node: Node, paths: Iterable[tuple[str, ...]]) -> Node:
    """Return the node without the keys at `paths`. Keys from overrides stay, because no override has precedence over
    another one."""
    for path in paths:
        lower = node.get(*path)
        if lower is not None and lower.origin.override is None:
            children = dict(node.value)
            if len(path) == 1:
                del children[path[0]]
            else:
                children[path[0]] = _without(children[path[0]], [path[1:]])
            node = Node(children, node.origin)
    return node


def _flat(node: Node) -> Node:
    """Join nested tables into the dotted names of sysctls. TOML reads an unquoted ``net.ipv4.tcp_sack`` as three nested
    tables."""
    if not isinstance(node.value, dict):
        return node
    flat: dict[str, Node] = {}
    for key, child in node.value.items():
        if isinstance(child.value, dict):
            flat |= {f"{key}.{name}": leaf for name, leaf in _flat(child).value.items()}
        else:
            flat[key] = child
    return Node(flat, node.origin)


# Each entry maps a governing key to some neighbouring keys. When a higher layer sets the governing key, these
# neighbouring keys are removed.
_GOVERNS: dict[tuple[str, ...], tuple[str, ...]] = {
    **{(name, key): governed for name, medium in MEDIA.items() for key, governed in medium.GOVERNS.items()},
    **{(name, key): governed for name in ("isl", "ground") for key, governed in QueueKeys.GOVERNS.items()},
    ("name",): ("latitude", "longitude", "height"),  # for stations in a list, because an override may rename one
    ("packet_rate",): ("interval", "rate"),  # of a flow
    ("interval",): ("packet_rate",),
    ("flood",): ("interval", "packet_rate"),
    ("rate",): ("packet_rate",),
}

# If a governing key has the value given here (default: none), the keys that it governs are not removed. If a plan has a
# table, `--set jittered.distribution=table` must not remove the table's name.
_KEEPS: dict[tuple[str, ...], str] = {("jittered", "distribution"): "table"}
