# SPDX-License-Identifier: Apache-2.0
"""`reproduce("frederiksen2024")` makes all runs and figures of a study, a verdict for each claim, and one page.

Each study is a module that implements `Room` (see `discovery`). The module may belong to a Python distribution other
than leowarp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.base.errors import LeowarpError, ScenarioError
from leowarp.base.layout import MANIFEST
from leowarp.base.printable import clean
from leowarp.study.claim import ROW_KEYS, Claim, judged
from leowarp.study.discovery import room_of
from leowarp.study.making import Making, Material
from leowarp.study.page import write_study_page
from leowarp.study.sweep.manifest import REPRODUCTION, remove_manifest, write_manifest


@dataclass(frozen=True)
class Reproduction:
    """A study that was reproduced.

    Attributes
    ----------
    path : Path
        The directory of the reproduction.
    page : Path
        The path of `index.html`.
    claims : list of dict
        The rows of `claims.json`: number, says, figure, test, by_construction, verdict, measured, numbers, cause,
            samples.
    failures : dict of name to LeowarpError
        The error of each run that could not be made. The key is the name of the run. Claims that need a failed run have
        the verdict "cannot be told".
    cost : str
        The measured cost of the runs, as text. The text is "" if the cost is only in the manifest of each run.
    left_out : list of str
        The tools that this machine lacks. The study omits the parts that need a missing tool. Each entry has the
        command that installs the tool.
    """

    path: Path
    page: Path
    claims: list[dict[str, Any]]
    failures: dict[str, LeowarpError]
    cost: str = ""
    left_out: list[str] = field(default_factory=list)


def reproduce(
    key: str, out: str | Path | None = None, *, samples: int | None = None, duration: str | None = None,
    quick: bool | None = None, fetch: bool | None = None, path: str | Path | None = None,
    capacity: str | Path | None = None, scheduler: str | None = None, at_once: int | None = None,
    kernel: Path | str | None = None, force: bool = False, progress: bool | Callable[[Any], None] = True,
) -> Reproduction:  # fmt: skip
    """Make the missing runs of a study, its figures, the table of claims, and its page.

    Parameters
    ----------
    key : str
        The key of the study in `leowarp.study.studies()`.
    out : path, optional
        The directory, by default `reproductions/<key>`. With a recording (`path`), the default is
        `reproductions/<key>-<name of the recording>`.
    samples : int, optional
        For `frederiksen2024`: the number of conditions under which claims are checked, by default all 9. A condition is
        a combination of TCP stack, links, times and skies. With a smaller number, only the first conditions of the list
        are used.
    duration : str, optional
        For `frederiksen2024`: the length of every run, instead of the study's own, for example "60 s". With another
            length, the result is only a trial and not a reproduction.
    quick : bool, optional
        True to make a smaller version of the study. `frederiksen2024`: three conditions, and runs of 200 s.
            `torres2020`: every eighth jitter,
        and 3 seeds (the full study has 62 jitters and 30 seeds). `huston2024`: 3 of 20 seeds, and every 24th capacity
        test. `tauran2018`: 2 of 5 seeds, at 3 of 7 SNRs. `cures`: 4 of 40 changes, and 2 of 4 TCPs. `programs`: 28 of
        132 runs. A later full reproduction uses the runs of the quick one again, except for `frederiksen2024`.
    fetch : bool, optional
        For `programs`: True to build missing QUIC stacks, whose sources are downloaded from package registries.
    path, capacity : path, optional
        For `huston2024`: a recording of a dish (irtt, ping, LeoReplayer, a table). `capacity` is a file with the dish's
        capacity, for a recording that has none. With a recording, the sessions run over its replay.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers make the runs. It applies to all studies except `frederiksen2024`
            and `programs`.
    at_once, kernel, force, progress
        See `leowarp.run_many`. For a study with many runs, `progress` is called with each `StudyProgress`.

    Returns
    -------
    Reproduction

    Raises
    ------
    ScenarioError
        If there is no such study or option, or if the directory was not made by leowarp.
    HostError
        If the machine lacks something that every run needs.
    LeowarpError
        If every run of the study failed. The exception is the error of the first run.

    >>> again = reproduce("torres2020", quick=True)                                    # doctest: +SKIP
    >>> {claim["number"]: claim["verdict"] for claim in again.claims}                  # doctest: +SKIP
    """
    room = room_of(key)
    # False means that the user did not set the flag.
    given = {
        "samples": samples, "duration": duration, "quick": quick or None, "fetch": fetch or None,
        "path": path, "capacity": capacity, "scheduler": scheduler,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    # If an unknown option were ignored, the user would assume that it had an effect.
    for name in options:
        if name not in room.OPTIONS:
            own = ", ".join(f"--{option}" for option in room.OPTIONS)
            raise ScenarioError(f"the study {key} has no option --{name}", hint=f"its own are: {own}")
    # A study over a recording gives other results than over the profile, so it has a directory of its own.
    name = key if path is None else f"{key}-{Path(path).stem}"
    folder = Path(out) if out is not None else Path("reproductions") / name
    if (why := plainfiles.why_not_plain(folder)) is not None:
        raise ScenarioError(
            f"cannot make the study {key} in {folder}: {why}, and nothing is written through one",
            hint="choose another directory with --out",
        )
    # The directory is created only after the checks, so that an unknown study or option leaves no directory behind.
    folder.mkdir(parents=True, exist_ok=True)
    remove_manifest(folder)
    material = room.make(Making(folder, at_once, kernel, force, progress), **options)
    # Claims are checked again at each start, so a changed test of a claim needs no new runs.
    rows = _judge_all(room.CLAIMS, material)
    recorded.write_json(folder / "claims.json", {"study": key, "runs": material.runs, "claims": rows})
    # Failed runs come first, because the reader must see which runs are missing from the verdicts.
    warnings = [error.message for error in material.failures.values()] + material.left_out + material.warnings
    page = write_study_page(
        folder, room.TITLE, room.LEAD, rows, material.figures, material.sections, warnings,
        _command(key, out, options),
    )  # fmt: skip
    groups = [path for path in folder.iterdir() if (path / MANIFEST).is_file()]
    write_manifest(folder, REPRODUCTION, {"name": key}, groups)
    return Reproduction(folder, page, rows, material.failures, material.cost, material.left_out)


def _judge_all(claims: Sequence[Claim], material: Material) -> list[dict[str, Any]]:
    """Return one row of `claims.json` per claim. If some runs of a claim failed or were not requested, the verdict is
    "cannot be told", and the row says why the first one is missing."""
    rows = []
    absent = material.skipped | {slug: error.message for slug, error in material.failures.items()}
    for claim in claims:
        missing = [slug for slug in claim.runs if slug in absent]
        # If a run of the claim is missing, a verdict from the remaining runs would be about a different claim.
        if missing:
            row = {key: getattr(claim, key) for key in ROW_KEYS}
            why = absent[missing[0]]
            rows.append(row | {"runs": list(claim.runs), "verdict": "cannot be told", "measured": why, "numbers": {},
                               "cause": "", "samples": []})  # fmt: skip
        else:
            rows.append(clean(judged(claim, material.samples)))
    return rows


def _command(key: str, out: str | Path | None, options: Mapping[str, Any]) -> str:
    """The shell command that repeats this reproduction, as text for the page.

    >>> _command("torres2020", None, {"quick": True})
    'leowarp reproduce torres2020 --quick'
    """
    words = [f"leowarp reproduce {key}"]
    if out is not None:
        words.append(f"--out {out}")
    for name, value in options.items():
        text = str(value)
        words.append(f"--{name}" if value is True else f"--{name} " + (f"'{text}'" if " " in text else text))
    return " ".join(words)
