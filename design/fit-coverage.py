# SPDX-License-Identifier: Apache-2.0
"""Whether a fit gives the parameters of a recording that the profile itself made back within their intervals.

    PYTHONPATH=tests python design/fit-coverage.py [--seeds 100] [--minutes 15]

Of each key and kind of recording: in how many of the seeds the 95 % interval holds the truth, the median of the
estimates, and the median width of the intervals. No kernel: pings are walked over the profile's tables.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from support.fitted import KINDS, estimates_of, truths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kind", choices=[*KINDS], default=None)
    options = parser.parse_args()
    rows = []
    for name, kind in KINDS.items():
        if options.kind not in (None, name):
            continue
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(options.first, options.first + options.seeds):
            for key, estimate in estimates_of(kind, seed).items():
                found.setdefault(key, []).append(estimate)
        for key, values in found.items():
            value, low, high = np.array(values).T
            truth = truths(kind)[key]
            held = int(((low <= truth) & (truth <= high)).sum())
            rows.append((name, key, truth, held, len(values), float(np.median(value)), float(np.median(high - low))))
    if options.json:
        print(json.dumps(rows))
        return
    print("| recording | key | truth | held | of | median | width |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, key, truth, held, of, median, width in rows:
        print(f"| {name} | {key} | {truth:.4g} | {held} | {of} | {median:.4g} | {width:.3g} |")


if __name__ == "__main__":
    main()
