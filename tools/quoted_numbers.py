# SPDX-License-Identifier: Apache-2.0
"""Compare the numbers that pages quote with the results of runs. docs/numbers.toml lists the runs, and how each number
is computed.

    python tools/quoted_numbers.py                  # each number as it is quoted, against the stored results
    python tools/quoted_numbers.py --again          # repeats every run (or only NAME ...), prints changes
    python tools/quoted_numbers.py --store NAME ... # the same, and stores the results

Exit status 1 means that a page or a repeated run differs from a stored number.
"""

import argparse
import builtins
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "numbers.toml"
STORE = ROOT / "docs" / "numbers"
COSTS = {"cpu_s", "wall_s"}
VERSIONS = {"leowarp_version", "linux_version", "linux_sha256"}
# The output of a command must not depend on the user's terminal. PYTHONPATH is set because scripts in design/ import
# tests/support.
SURROUNDINGS = {"COLUMNS": "120", "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "tests")}
_FIELD = re.compile(r"\{([^{}]+?)(?::([^{}:]*))?\}")
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
_FILE = re.compile(r"^<!-- (?:file|study): (\S+) -->\n+```\w*\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Made:
    """The recipe of a result. The user's commands run in a directory with `examples/` and the files that `page` shows.

    values: A Python expression for each name. The expression may use `run` (the last run directory that a command
        made), `table(name)` (its metrics `name.*`), `answers` (the output of commands with `--json`) and `here` (the
        directory). The expression may also use the modules `lw`, `np` and `pd`, and the values of earlier names. A
        table has a row for each instant and flow. Flow -1 is the path. Values whose name begins with `_` are not
        stored.
    long: True if the result takes more than about ten seconds. Only this script computes such a result again. The tests
        skip it.
    """

    name: str
    make: tuple[str, ...]
    page: str = ""
    values: dict[str, str] = field(default_factory=dict)
    long: bool = False


@dataclass(frozen=True)
class Stored:
    """A stored result. `stored.late_pkts` is looked up in the list of values, then among the scalars of flow 0, and
    then among the scalars of the run. `stored[1].late_pkts` is a scalar of flow 1."""

    result: dict[str, Any]
    flow: int = 0

    def __getattr__(self, name: str) -> Any:
        """Return the value with this name. If there is no such value, return the flow's scalar with this name. If the
        flow has none, return the run's scalar. Raises AttributeError if nothing has this name."""
        summary = self.result.get("summary", {})
        flows = summary.get("flows", [])
        for of in (self.result.get("values", {}), flows[self.flow] if flows else {}, summary):
            if name in of:
                return of[name]
        raise AttributeError(f"no stored number {name}")

    def __getitem__(self, flow: int) -> "Stored":
        """Return the stored result for the flow with the number `flow`."""
        return Stored(self.result, flow)


def listed(path: Path = LIST) -> tuple[dict[str, Made], list[dict[str, str]], list[dict[str, str]]]:
    """Read the list. Return three values: a dict from name to run, the quoted texts, and the printed blocks.

    path: docs/numbers.toml.
    """
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    runs = {name: Made(name, **{**of, "make": tuple(of["make"])}) for name, of in text.get("runs", {}).items()}
    return runs, text.get("quoted", []), text.get("printed", [])


def stored(names: Sequence[str], store: Path = STORE) -> dict[str, Stored]:
    """Return the stored results by name. Names have `_` for `-`, so that expressions can contain them. Results that are
    not stored yet are left out."""
    paths = {name.replace("-", "_"): store / f"{name}.json" for name in names}
    return {name: Stored(json.loads(path.read_text(encoding="utf-8"))) for name, path in paths.items() if path.exists()}


def rendered(text: str, results: dict[str, Stored]) -> str:
    """Replace each `{expression:format}` in `text` with the stored number that the expression selects, in Python's
    format.

    Examples
    --------
    >>> rendered("{reno.late_pkts:,} packets", {"reno": Stored({"summary": {"flows": [{"late_pkts": 3802}]}})})
    '3,802 packets'
    """
    names = {"__builtins__": builtins, **results}

    def number(match: re.Match[str]) -> str:
        # Evaluating the expression is safe, because it comes from a file of the source tree.
        return format(eval(match[1].strip(), names), match[2] or "")

    return _FIELD.sub(number, text)


def wrong_quotes(quotes: list[dict[str, str]], results: dict[str, Stored], root: Path = ROOT) -> Iterator[str]:
    """Yield one line for each quoted text whose numbers differ from the stored numbers."""
    for quote in quotes:
        try:
            text = rendered(quote["text"], results)
        except Exception as error:  # any error of an expression is reported, with the place of the expression
            yield f"{quote['page']}: {quote['text']!r:.70}: {error}"
            continue
        if one_line(text) not in one_line((root / quote["page"]).read_text(encoding="utf-8")):
            yield f"{quote['page']}: the stored results make this: {one_line(text)}"


def wrong_blocks(blocks: list[dict[str, str]], results: dict[str, Stored], root: Path = ROOT) -> Iterator[str]:
    """Yield a message for each wrong line of a printed block. Each line must be at the same place in the stored output.

    A block is the first fenced block of its page that contains the text `block`. A line `...` in a block stands for
    omitted lines.
    """
    for block in blocks:
        texts = [text for text in _FENCE.findall((root / block["page"]).read_text()) if block["block"] in text]
        if not texts:
            yield f"{block['page']}: no fenced block with {block['block']!r}"
            continue
        found = results.get(block["run"].replace("-", "_"))
        if found is None:
            yield f"{block['page']}: nothing is stored of the run {block['run']}"
            continue
        of = found.result["printed"]
        printed = iter([one_line(line) for lines in of.values() for line in lines])
        for line in texts[0].splitlines():
            wanted = one_line(line)
            if wanted not in ("", "...") and wanted not in printed:
                yield f"{block['page']}: {block['run']} does not print, at this place: {wanted}"
                break


def one_line(text: str) -> str:
    """Replace each run of white space in a text by one blank, because pages break lines anywhere."""
    return " ".join(text.split())


def made(run: Made, scratch: Path) -> dict[str, Any]:
    """Run the commands of a result in `scratch`. Return the result in its stored form.

    Raises SystemExit with the stderr of a command that fails.
    """
    # Pages contain commands as a user types them, so the scratch directory must contain `examples` and `design`.
    for name in ("examples", "design"):
        if not (scratch / name).exists():
            (scratch / name).symlink_to(ROOT / name)
    for name, text in _FILE.findall((ROOT / run.page).read_text(encoding="utf-8")) if run.page else ():
        (scratch / name).write_text(text, encoding="utf-8")
    printed: dict[str, list[str]] = {}
    answers: list[Any] = []
    out = None
    for command in run.make:
        words = shlex.split(command)
        if words[:2] == ["leowarp", "run"]:
            out = scratch / words[words.index("--out") + 1]
            # With --keep, a complete run is used again; a run is complete if it has a manifest.
            if (out / "manifest.json").exists():
                continue
            words.append("--no-report")
        program = {"leowarp": [sys.executable, "-m", "leowarp"], "python": [sys.executable]}.get(words[0], words[:1])
        done = subprocess.run(
            [*program, *words[1:]], cwd=scratch, env={**os.environ, **SURROUNDINGS}, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{run.name}: {command}: status {done.returncode}\n{done.stderr}")
        if "--json" in words:
            answers.append(json.loads(done.stdout))
        elif words[:2] != ["leowarp", "run"]:
            printed[command] = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    return json.loads(json.dumps(result(run, scratch, out, answers, printed), default=float))


def result(
    run: Made, here: Path, out: Path | None, answers: list[Any], printed: dict[str, list[str]]
) -> dict[str, Any]:
    """Return a result in the form that is stored. It contains the commands, versions, the last run's scalars, the
    quoted values, and printed lines."""
    import numpy as np
    import pandas as pd

    import leowarp as lw

    found: dict[str, Any] = {"make": list(run.make), "leowarp_version": lw.__version__}
    names: dict[str, Any] = {"lw": lw, "np": np, "pd": pd, "here": here, "answers": answers}
    if out is not None:
        opened = lw.open(out)
        # With another kernel, numbers may differ, so its version is stored
        found |= {name: opened.manifest["kernel"][name] for name in ("linux_version", "linux_sha256")}
        found["summary"] = known(opened.summary)
        long = opened.metrics()

        def table(name: str) -> pd.DataFrame:
            rows = long[long["metric"].str.startswith(f"{name}.") & long["t_ns"].notna()]
            rows = rows.assign(metric=rows["metric"].str.removeprefix(f"{name}."))
            rows = rows.assign(flow=rows["flow"].fillna(-1))
            return rows.pivot(index=["flow", "t_ns"], columns="metric", values="value").reset_index()

        names |= {"run": opened, "table": table}
    if run.values:
        found["values"] = {}
        for name, text in run.values.items():
            names[name] = eval(text, names)
            if not name.startswith("_"):
                found["values"][name] = plain(names[name])
    if printed:
        found["printed"] = printed
    return found


def known(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without costs and null values, both in the run and in its flows."""
    kept = {name: value for name, value in summary.items() if value is not None and name not in COSTS}
    return {**kept, "flows": [known({**flow, "flows": None}) for flow in kept["flows"]]} if "flows" in kept else kept


def plain(value: Any) -> Any:
    """Convert a number, list or table row to plain Python, without the row's missing values."""
    if hasattr(value, "to_dict"):
        return {str(name): plain(each) for name, each in value.to_dict().items() if each == each}
    return value.tolist() if hasattr(value, "tolist") else value


def moved(old: Any, new: Any, name: str) -> Iterator[str]:
    """Yield one line for each value (leaf) that differs. Floats are compared to 12 digits, because mathematics
    libraries differ in the last bits."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from moved(old.get(key), new.get(key), f"{name}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from moved(one, other, f"{name}.{number}")
    elif isinstance(old, float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=1e-12, abs_tol=1e-300):
            yield f"{name}: {old} -> {new}"
    elif old != new:
        yield f"{name}: {old} -> {new}"


def again(run: Made, place: Path | None = None) -> dict[str, Any]:
    """Make a result again, in a new directory or in a directory of `place`."""
    if place is not None:
        (place / run.name).mkdir(parents=True, exist_ok=True)
        return made(run, place / run.name)
    scratch = Path(tempfile.mkdtemp(prefix="leowarp-numbers-"))
    try:
        return made(run, scratch)
    finally:
        shutil.rmtree(scratch)


def changes(run: Made, new: dict[str, Any], store: Path = STORE) -> list[str]:
    """Return one line for each difference between a new result and the stored one. Differences in the versions of
    leowarp and Linux are ignored.

    If there is no stored result, the whole new result counts as a difference.
    """
    path = store / f"{run.name}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return list(
        moved(*({name: each for name, each in of.items() if name not in VERSIONS} for of in (old, new)), run.name)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--keep", type=Path, help="make the runs here, and take those that are here already")
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    runs, quotes, blocks = listed()
    wrong: list[str] = []
    if wanted.again or wanted.store:
        for name in wanted.names or runs:
            new = again(runs[name], wanted.keep)
            different = changes(runs[name], new)
            print(f"{name}: {len(different) or 'nothing'} moved", flush=True)
            if wanted.store:
                text = json.dumps(new, indent=1, sort_keys=True, ensure_ascii=False)
                (STORE / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            else:
                wrong += different
    results = stored(list(runs))
    wrong += [*wrong_quotes(quotes, results), *wrong_blocks(blocks, results)]
    print("\n".join(wrong) or f"{len(quotes)} quoted texts and {len(blocks)} printed blocks are as the runs gave them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
