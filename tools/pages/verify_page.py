# SPDX-License-Identifier: Apache-2.0
"""The reference page of `leowarp verify`, made from the table of stages.

``python tools/pages/verify_page.py FILE`` writes the page; ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from generated import write_or_check
from leowarp.verification.files import FileVerdict
from leowarp.verification.stages import STAGES, STUDIES
from leowarp.verification.verdicts import MEANINGS


def verify_page() -> str:
    """The page as Markdown; the same table of stages always gives the same bytes."""
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
    """Write or check the page; returns the exit status of `write_or_check`."""
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

`verify` has two parts. The exit status is 1 if either finds a difference; the last lines name it.

## The files

Every file of the directory is compared with its sha256 in `manifest.json`. `--files` does this part alone: nothing is
booted or drawn. The manifest has a sha256 of its own. A signature beside it (`manifest.json.sig`,
`manifest.json.minisig`) does not count as a file of the run.
"""

_SECOND_RUN = """
`leowarp report`, `view` and `metrics --again` list only the files that they write.

## The second run

A forger who changes a file can change its sha256, too. So the plan is run once more, and each stage is compared in the
order of the stages. The verdict names the first stage that differs.
"""

_OF_STUDIES = """
The manifest names the maker of each file: the version of leowarp, the sha256 of its Python code, and the versions of
the libraries. Files that another version wrote later are in `later`. A difference caused by another version proves
nothing. So the status stays 0, and the verdict says that the stage is not confirmed. To confirm it, verify with the
version that the manifest names.

## Studies and reproductions

```
leowarp verify DIR --sample 5 --seed 2
```

`leowarp study` and `leowarp reproduce` write a manifest when they finish. It lists every file; a run directory that
was kept is listed by its own manifest. While a study runs, and after an interruption, there is no manifest, and
`verify` says so. `--sample` says how many runs are re-run, `--seed` selects them.
"""


if __name__ == "__main__":
    sys.exit(main())
