# SPDX-License-Identifier: Apache-2.0
"""The element sets of a file that a plan uses. Each satellite has one element set, and excluded satellites have
none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import guess, one_of
from leowarp.ephemeris.elements import ElementFile, check_once, element_file, names_of
from leowarp.ephemeris.frames import julian_date
from leowarp.ephemeris.sgp4_orbits import Element, Sgp4Orbits, epoch_of
from leowarp.scenario.schema import Constellation, Run

DECAYED = "decayed"
"""This word in `constellation.leave_out` stands for all satellites without an orbit during the run."""
NEAREST = "nearest epoch"
_LISTED = 10
"""The maximum number of names in the hint about an unknown satellite."""


def selected(constellation: Constellation, run: Run) -> tuple[Sgp4Orbits, tuple[str, ...]]:
    """Choose satellites from a constellation's file, as the keys `leave_out` and `element_sets` specify.

    Returns: The satellites, and sentences, one line each. The sentences are about skipped element sets, duplicates,
        satellites that were left out, and the elements' age.

    Raises ScenarioError for the same reasons as `element_file`. Also raised if a satellite has several element sets
        and `element_sets` is "refuse", or if `leave_out` names a satellite that is not in the file. Also raised if
        elements are too old, or if satellites have no orbit during the run. The message names all these satellites.
    """
    assert constellation.tle is not None
    file = element_file(constellation.tle.path)
    sentences = file.sentences
    elements = list(file.elements)
    epoch = datetime.fromisoformat(constellation.epoch).replace(tzinfo=UTC)
    if constellation.element_sets == NEAREST:
        elements = _nearest(file, epoch, run.start_ns, sentences)
    check_once(file.path, elements)
    names, kept = _named_kept(file.path, elements, constellation.leave_out, sentences)
    orbits = Sgp4Orbits(
        file=str(file.path),
        names=names,
        elements=kept,
        epoch=epoch,
        start_ns=run.start_ns,
        # A header says that the file lists the satellites plane by plane. If satellites are left out, this is no longer
        # true.
        header=file.header if len(kept) == len(file.elements) else None,
    )
    # The age of the elements is checked before positions are computed. If their year is wrong, the error therefore
    # names their date, and not an SGP4 error code.
    if DECAYED not in constellation.leave_out:
        sentences += orbits.age_warnings(run.duration_ns)
    orbits = _without_lost(orbits, run.duration_ns, sentences, leave=DECAYED in constellation.leave_out)
    if DECAYED in constellation.leave_out:
        sentences += orbits.age_warnings(run.duration_ns)
    return orbits, tuple(sentences)


def _nearest(file: ElementFile, epoch: datetime, start_ns: int, sentences: list[str]) -> list[Element]:
    """Choose for each satellite the element set whose epoch is nearest to the run's start. The result is in the order
    of the file.

    If two sets are equally near, the earlier set is used. The later set was not known yet at the run's start.
    """
    day, fraction = julian_date(epoch)
    begin_d = day + fraction + start_ns / 86_400e9
    sets: dict[int, list[Element]] = {}
    for element in file.elements:
        sets.setdefault(element.catalogue_number, []).append(element)
    chosen = []
    for number, several in sets.items():
        for other in several[1:]:
            _check_same_satellite(file.path, number, several[0], other)
        ages_d = [begin_d - each.satrec.jdsatepoch - each.satrec.jdsatepochF for each in several]
        order = sorted(range(len(several)), key=lambda at: (abs(ages_d[at]), -ages_d[at]))
        best = several[order[0]]
        for at in order[1:]:
            if ages_d[at] == ages_d[order[0]] and _orbit(several[at]) != _orbit(best):
                raise ScenarioError(
                    f"{file.path}:{several[at].line}: catalogue number {number} has other elements of the same "
                    f"epoch at line {best.line}, so neither is the nearest",
                    "take one of them out",
                )
        chosen.append(best)
    left = len(file.elements) - len(chosen)
    if left:
        sentences.append(
            f"{file.path.name}: {len(file.elements)} element sets of {len(chosen)} satellites; of each satellite the "
            f"set nearest to the begin of the run is used, {left} were skipped"
        )
    return sorted(chosen, key=lambda element: element.line)


def _check_same_satellite(path: Path, number: int, one: Element, other: Element) -> None:
    """Reject two satellites with the same number. One of the satellites would be lost. Hand-made files, for example,
    repeat the number 00000."""
    if one.name == other.name or (one.designator and one.designator == other.designator):
        return
    raise ScenarioError(
        f"{path}:{other.line}: catalogue number {number} is {other.name or 'without a name'!r} here and "
        f"{one.name or 'without a name'!r} at line {one.line}, with another designator: these are two satellites",
        "give each satellite a catalogue number of its own",
    )


def _orbit(element: Element) -> tuple[float, ...]:
    orbit = element.satrec
    return (orbit.no_kozai, orbit.ecco, orbit.inclo, orbit.nodeo, orbit.argpo, orbit.mo, orbit.bstar)


def _named_kept(
    path: Path, elements: list[Element], leave_out: Sequence[str], sentences: list[str]
) -> tuple[list[str], list[Element]]:
    """Return the names and elements of the satellites that `leave_out` does not name. The names do not depend on which
    satellites are left out."""
    names = names_of(elements)
    known: dict[str, list[int]] = {}
    for at, (name, element) in enumerate(zip(names, elements, strict=True)):
        # A user may name a satellite by its name in the tables, by its name in the file, or by its catalogue number.
        for each in {name, element.name, str(element.catalogue_number)} - {""}:
            known.setdefault(each, []).append(at)
    left: set[int] = set()
    for word in leave_out:
        if word == DECAYED:
            continue
        found = known.get(word)
        if found is None or len(found) > 1:
            count = "no satellite" if found is None else f"{len(found)} satellites"
            proposed = names if found is None else [names[at] for at in found]
            raise ScenarioError(
                f"constellation.leave_out: {path.name} has {count} called {word!r}",
                one_of(word, proposed, "its satellites:")
                if len(proposed) <= _LISTED
                else f"{guess(word, proposed)}leowarp ephemeris FILE prints all names",
            )
        left.update(found)
    if left:
        listed = ", ".join(names[at] for at in sorted(left))
        sentences.append(f"{path.name}: {len(left)} of {len(names)} satellites left out by name: {listed}")
    kept = [at for at in range(len(names)) if at not in left]
    if not kept:
        raise ScenarioError("constellation.leave_out leaves no satellite", "take some names out of it")
    return [names[at] for at in kept], [elements[at] for at in kept]


def _without_lost(orbits: Sgp4Orbits, duration_ns: int, sentences: list[str], *, leave: bool) -> Sgp4Orbits:
    """Return `orbits` without the satellites that have no orbit during the run (`Sgp4Orbits.lost`).

    leave: Whether satellites without an orbit are left out, and named in `sentences`. If False, they are an error.
    """
    lost = orbits.lost(duration_ns)
    if not lost:
        return orbits
    file, names, elements = Path(orbits.file), orbits.names, orbits.elements
    listed = "; ".join(
        f"{names[at]} (line {elements[at].line}, elements of {epoch_of(elements[at].satrec):%Y-%m-%dT%H:%M:%SZ}): {why}"
        for at, why in lost.items()
    )
    what = f"{len(lost)} of {len(names)} satellites have no orbit during the run"
    if not leave:
        first = next(iter(lost))
        some = ", ".join(f'"{names[at]}"' for at in lost)
        raise ScenarioError(
            f"{file}:{elements[first].line}: {what}: {listed}",
            f'leave all of them out: constellation.leave_out = ["{DECAYED}"], or by name: [{some}]; typed: '
            f"--leave-out {DECAYED}. Or bring constellation.epoch nearer to their epochs",
        )
    kept = [at for at in range(len(names)) if at not in lost]
    if not kept:
        raise ScenarioError(
            f"{file}: {what}: {listed}", "bring constellation.epoch nearer to the epochs of the elements"
        )
    sentences.append(f"{file.name}: {what} and are left out: {listed}")
    return replace(orbits, names=[names[at] for at in kept], elements=[elements[at] for at in kept], header=None)
