# SPDX-License-Identifier: Apache-2.0
"""Fit recordings that were made from profiles with known parameters. Count how often the intervals of a fit contain
these parameters.

    PYTHONPATH=tests python design/fit-coverage.py [--seeds 100] [--jobs 2] [--rows coverage.jsonl]

For each scenario key and each kind of recording, the script prints three values. The first value is the number of seeds
whose interval (nominal level 99 %) contains the true value. The second value is the median estimate. The third value is
the median width of the intervals. No kernel runs: pings are computed from the profile's tables. If the row of a fit is
in the file already, the fit is not repeated.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from support.fitted import KINDS, estimates_of, truths


def fitted(name: str, seed: int) -> dict[str, object]:
    """Return a row of the file. A row has the kind of recording, the seed, and the fitted estimates."""
    return {"kind": name, "seed": seed, "found": estimates_of(name, seed)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=None)
    parser.add_argument("--kind", choices=[*KINDS], default=None)
    options = parser.parse_args()
    wanted = [
        (name, seed)
        for seed in range(options.first, options.first + options.seeds)
        for name in KINDS
        if options.kind in (None, name)
    ]
    rows = {}
    if options.rows is not None and options.rows.exists():
        for line in options.rows.read_text().splitlines():
            row = json.loads(line)
            rows[row["kind"], row["seed"]] = row
    with ProcessPoolExecutor(options.jobs) as pool:
        todo = [pool.submit(fitted, *one) for one in wanted if one not in rows]
        for done in as_completed(todo):
            row = done.result()
            rows[row["kind"], row["seed"]] = row
            if options.rows is not None:
                with options.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print("| recording | key | truth | held | of | median | width |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in dict.fromkeys(name for name, _ in wanted):
        of_kind = [rows[one]["found"] for one in wanted if one[0] == name]
        for key, truth in truths(KINDS[name]).items():
            told = np.array([found[key] for found in of_kind if key in found])
            if len(told):
                value, low, high = told.T
                held = int(((low <= truth) & (truth <= high)).sum())
                median, width = np.median(value), np.median(high - low)
                print(f"| {name} | {key} | {truth:.4g} | {held} | {len(told)} | {median:.4g} | {width:.3g} |")


if __name__ == "__main__":
    main()
