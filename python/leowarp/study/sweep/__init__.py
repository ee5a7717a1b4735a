# SPDX-License-Identifier: Apache-2.0
"""Many runs from one file: a product of parameters and seeds, made in parallel, resumable, in one data set.

Steps of a study by module; each module imports only those before it:

    file (text) -> expand (plans, checked) -> plans (identities, `plans.parquet`) -> session (batches to workers)
    -> rows (a run as a row) -> store (`results/`, one Parquet data set) -> page (`index.html`)

`engine.run_study` performs all steps in one call; `status`, `again` and `estimate` inspect a study without continuing
it. The user's guide is docs/guides/studies.md.
"""

from leowarp.study.sweep.display import StudyProgress
from leowarp.study.sweep.engine import StudyResult, run_study
from leowarp.study.sweep.parameters.file import StudyFile
from leowarp.study.sweep.plans import StudyRun

__all__ = ["StudyFile", "StudyProgress", "StudyResult", "StudyRun", "run_study"]
