# SPDX-License-Identifier: Apache-2.0
"""A study: many runs from one file, with all combinations of parameters and seeds. The runs are made in parallel, and
their results form one data set. An interrupted study can be continued.

The steps of a study and their modules. Each module imports only modules of earlier steps:

    file (text) -> expand (checked plans) -> plans (identities, `plans.parquet`) -> session (batches for workers) ->
    rows (a run as a row) -> store (`results/`, one Parquet data set) -> page (`index.html`)

`engine.run_study` executes all steps in one call. `status`, `again` and `estimate` examine a study but do not continue
it. The user's guide is docs/guides/studies.md.
"""

from leowarp.study.sweep.display import StudyProgress
from leowarp.study.sweep.engine import StudyResult, run_study
from leowarp.study.sweep.parameters.file import StudyFile
from leowarp.study.sweep.plans import StudyRun
