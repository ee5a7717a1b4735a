# SPDX-License-Identifier: Apache-2.0
"""Make the reference page of `leowarp verify` from the table of stages.

``python tools/pages/verify_page.py FILE`` writes the page. ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from generated import write_or_check
from leowarp.verification.files import FileVerdict
from leowarp.verification.stages import STAGES, STUDIES
from leowarp.verification.verdicts import MEANINGS


def verify_page() -> str:
    """Return the page as Markdown. The same table of stages always gives the same bytes."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield from _table(("verdict", "meaning"), ((f"`{verdict}`", _FILES[verdict]) for verdict in FileVerdict))
    yield from _SECOND_RUN.splitlines()
    yield ""
    yield from _table(
        ("stage", "files", "compared", "left out or only reported"),
        ((stage.name, ", ".join(f"`{name}`" for name in stage.files), stage.how, stage.why) for stage in STAGES),
    )
    yield ""
    yield from _table(("verdict", "meaning"), ((f"`{verdict}`", meaning) for verdict, meaning in MEANINGS.items()))
    yield from _OF_STUDIES.splitlines()
    yield ""
    yield from _table(("part", "compared", "why not more"), STUDIES)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    heads = tuple(heads)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page. Return the exit status of `write_or_check`."""
    return write_or_check(verify_page(), "tools/pages/verify_page.py", arguments)


_FILES = {
    FileVerdict.INTACT: "the file has the sha256 in the manifest",
    FileVerdict.CHANGED: "the file has another sha256; `manifest.json` is not as leowarp wrote it",
    FileVerdict.UNLISTED: "the file exists, and the manifest does not list it",
    FileVerdict.MISSING: "the manifest lists the file, and it does not exist",
}

_INTRODUCTION = """\
# What `leowarp verify` compares

<!-- Made by `python tools/pages/verify_page.py`; do not edit. -->

```
leowarp verify RUN
leowarp verify RUN --files
```

`verify` makes two comparisons. If one of them finds a difference, the exit status is 1, and the last lines of the
output show the difference.

## The files

Every file of the directory is compared with its sha256 in `manifest.json`. With `--files`, `verify` makes only this
comparison: it boots no guest and draws no report. The manifest also contains a sha256 of its other entries. A signature
of the manifest (`manifest.json.sig`, `manifest.json.minisig`) does not count as a file of the run.
"""

_SECOND_RUN = """
`leowarp report`, `view` and `metrics --again` update the manifest only for the files that they write.

## The second run

A forger who changes a file can change its sha256, too. `verify` therefore runs the plan once more, and compares the two
runs stage by stage, in the order of the table. The verdict names the first stage that differs.
"""

_OF_STUDIES = """
The manifest names the maker of each file: the version of leowarp, the sha256 of its Python code, and the versions of
the libraries. The manifest's entry `later` lists the files that another version wrote later. A difference caused by
another version proves nothing. After such a difference, the exit status stays 0, and the verdict says that the stage is
not confirmed. To confirm the stage, install the leowarp version that the manifest names, and run its `leowarp verify`.

## Studies and reproductions

```
leowarp verify DIR --sample 5 --seed 2
```

`leowarp study` and `leowarp reproduce` write a manifest when they finish. This manifest lists every file, except the
files of kept run directories. Each kept run directory has its own manifest. While a study runs, and after an
interruption, there is no manifest, and `verify` says so. `--sample` is the number of runs that are repeated, and
`--seed` selects these runs.
"""


if __name__ == "__main__":
    sys.exit(main())
