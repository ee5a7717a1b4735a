# SPDX-License-Identifier: Apache-2.0
"""The stored results of the kernel's own algorithms. The page compares an exam with these results.

`python -m leowarp.exam.references DIR...` stores the results of the exams in these directories. Run it after cases or
results have changed. For an exam with several seeds, the command stores the values and verdicts of all seeds.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.exam.taken import read

ALGORITHMS = ("cubic", "reno", "bbr", "bbr3")
"""The algorithms whose results are in `stored/`, in the order of the page. bbr3 is the BBR in the kernel 6.12+bbr3."""
KEPT = ("case", "suite", "verdict", "value", "value_in_words", "limit", "limit_in_words", "decided", "at_ns")
"""Only these keys of a case's row are stored. The paths of runs are valid only on the exam's machine."""
KERNEL = ("kernel", "linux_version", "linux_sha256")
_FOLDER = Path(str(resources.files("leowarp.exam"))) / "stored"


def references() -> dict[str, dict[str, Any]]:
    """Return the stored document of each algorithm: `Exam.document` with fewer keys per case."""
    files = {name: _FOLDER / f"{name}.json" for name in ALGORITHMS}
    return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.is_file()}


def store(document: dict[str, Any]) -> Path:
    """Store the results of an exam, and return the path of the written file."""
    name = "bbr3" if "bbr3" in str(document["kernel"]["kernel"]) else document["algorithm"]
    kept = {key: document[key] for key in ("schema", "algorithm", "leowarp_version", "counts")}
    kept["kernel"] = {key: document["kernel"][key] for key in KERNEL}
    # Each case is on one line of the file, so that a diff shows which cases have changed.
    rows = [json.dumps({key: row[key] for key in KEPT}) for row in document["cases"]]
    text = json.dumps(kept, sort_keys=True)[:-1] + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n"
    return _write(f"{name}.json", text)


def store_seeds(document: dict[str, Any]) -> Path:
    """Store the values and verdicts of an exam with several seeds, and return the path of the written file."""
    rows = [f"{json.dumps(row['case'])}: {json.dumps(row['seeds'])}" for row in document["cases"]]
    return _write(f"{document['algorithm']}-seeds.json", "{\n" + ",\n".join(rows) + "\n}\n")


def _write(name: str, text: str) -> Path:
    path = _FOLDER / name
    path.parent.mkdir(exist_ok=True)
    plainfiles.write(path, text.encode())
    return path


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        result = read(Path(folder))
        print(store_seeds(result) if any("seeds" in row for row in result["cases"]) else store(result))
