# SPDX-License-Identifier: Apache-2.0
"""`reproduce("frederiksen2024")`: all runs of a study, its figures, a verdict on each claim, one page.

A study is a module of its own, a `Room` (`discovery`), in this distribution or in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.base.errors import LeowarpError, ScenarioError
from leowarp.base.layout import MANIFEST
from leowarp.study.claim import ROW_KEYS, Claim, judged
from leowarp.study.discovery import room_of
from leowarp.study.making import Making, Material
from leowarp.study.page import write_study_page
from leowarp.study.sweep.manifest import REPRODUCTION, remove_manifest, write_manifest


@dataclass(frozen=True)
class Reproduction:
    """A reproduced study.

    Attributes
    ----------
    path : Path
        Its directory.
    page : Path
        `index.html`.
    claims : list of dict
        As in `claims.json`: number, says, figure, test, by_construction, verdict, measured, numbers, cause, samples.
    failures : dict of slug to LeowarpError
        Runs that could not be made; claims that need them stand as "cannot be told".
    cost : str
        What the runs took, as measured; "" where each run's manifest says it.
    left_out : list of str
        What this machine lacks, so that the study was made without it: a sentence each, with what to type.
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
    """Makes a study's runs (those that are not there yet), figures, claims table and page.

    Parameters
    ----------
    key : str
        One of `leowarp.study.studies()`.
    out : path, optional
        Directory; `reproductions/<key>` if not given, over a recording `reproductions/<key>-<its name>`.
    samples : int, optional
        `frederiksen2024`: under how many conditions (stacks of TCP and links, times, skies) its claims are checked,
        from the first; all 9 if not given.
    duration : str, optional
        `frederiksen2024`: length of every run instead of the study's, e.g. "60 s": a trial, not a reproduction.
    quick : bool, optional
        `frederiksen2024`: three conditions, and runs of 200 s; `torres2020`: every eighth jitter and 3 seeds instead of
        62 and 30; `huston2024`: 3 seeds of 20 and one capacity test in 24; `tauran2018`: 2 seeds of 5 at 3 of 7 SNRs;
        `cures`: 4 changes of 40 and 2 TCPs of 4; `programs`: 28 runs of 132. A full reproduction later keeps them,
        except those of `frederiksen2024`.
    fetch : bool, optional
        `programs`: build the QUIC stacks that are not there, from their registries.
    path, capacity : path, optional
        `huston2024`: a recording of a dish (irtt, ping, LeoReplayer, a table), and what it could carry if the recording
        does not say it. Its sessions then run over a replay.
    scheduler : str, optional
        All but `frederiksen2024` and `programs`: address of a Dask scheduler whose workers make the runs.
    at_once, kernel, force, progress
        As for `leowarp.run_many`; a study of many runs calls `progress` with each `StudyProgress`.

    Returns
    -------
    Reproduction

    Raises
    ------
    ScenarioError
        If there is no such study, it has no such option, or the directory is none of ours.
    HostError
        If the machine lacks something that every run needs.
    LeowarpError
        The first failure, if no run could be made at all.

    >>> again = reproduce("torres2020", quick=True)                                    # doctest: +SKIP
    >>> {claim["number"]: claim["verdict"] for claim in again.claims}                  # doctest: +SKIP
    """
    room = room_of(key)
    # `quick` and `fetch` are flags, and false is the same as not given.
    given = {
        "samples": samples, "duration": duration, "quick": quick or None, "fetch": fetch or None,
        "path": path, "capacity": capacity, "scheduler": scheduler,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    # Not passed over: an option without effect would look obeyed.
    for name in options:
        if name not in room.OPTIONS:
            own = ", ".join(f"--{option}" for option in room.OPTIONS)
            raise ScenarioError(f"the study {key} has no option --{name}", hint=f"its own are: {own}")
    # Over a recording it is another study than over the profile: neither takes the other's page.
    name = key if path is None else f"{key}-{Path(path).stem}"
    folder = Path(out) if out is not None else Path("reproductions") / name
    if (why := plainfiles.why_not_plain(folder)) is not None:
        raise ScenarioError(
            f"cannot make the study {key} in {folder}: {why}, and nothing is written through one",
            hint="choose another directory with --out",
        )
    # Only now: a study or option that does not exist leaves no directory behind.
    folder.mkdir(parents=True, exist_ok=True)
    remove_manifest(folder)
    material = room.make(Making(folder, at_once, kernel, force, progress), **options)
    # Claims are checked anew at each start, from the runs that are there: a changed test needs no new runs.
    rows = _judge_all(room.CLAIMS, material)
    recorded.write_json(folder / "claims.json", {"study": key, "runs": material.runs, "claims": rows})
    # Failed runs first: whoever reads the page must see what the verdicts rest on.
    warnings = [error.message for error in material.failures.values()] + material.left_out + material.warnings
    page = write_study_page(
        folder, room.TITLE, room.LEAD, rows, material.figures, material.sections, warnings,
        _command(key, out, options),
    )  # fmt: skip
    groups = [path for path in folder.iterdir() if (path / MANIFEST).is_file()]
    write_manifest(folder, REPRODUCTION, {"name": key}, groups)
    return Reproduction(folder, page, rows, material.failures, material.cost, material.left_out)


def _judge_all(claims: Sequence[Claim], material: Material) -> list[dict[str, Any]]:
    """A row per claim. One whose runs failed or were left out "cannot be told", with the reason of the first of them in
    place of the measured value.
    """
    rows = []
    absent = material.skipped | {slug: error.message for slug, error in material.failures.items()}
    for claim in claims:
        missing = [slug for slug in claim.runs if slug in absent]
        # Some of its runs failed or were not asked for. A verdict on the others would be a verdict on another claim.
        if missing:
            row = {key: getattr(claim, key) for key in ROW_KEYS}
            why = absent[missing[0]]
            rows.append(row | {"runs": list(claim.runs), "verdict": "cannot be told", "measured": why, "numbers": {},
                               "cause": "", "samples": []})  # fmt: skip
        else:
            rows.append(_json_safe(judged(claim, material.samples)))
    return rows


def _json_safe(value: Any) -> Any:
    """Numbers as JSON has them: numpy's as Python's, nan as null.

    >>> _json_safe({1: (float("nan"), 2.0)})
    {'1': [None, 2.0]}
    """
    if isinstance(value, dict):
        return {str(key): _json_safe(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(inner) for inner in value]
    # numpy's scalars; json.dumps refuses them.
    if hasattr(value, "item"):
        value = value.item()
    # nan is the one number that is not itself; JSON has no word for it.
    if isinstance(value, float) and value != value:
        return None
    return value


def _command(key: str, out: str | Path | None, options: Mapping[str, Any]) -> str:
    """The command that gives the same again, for the page.

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
