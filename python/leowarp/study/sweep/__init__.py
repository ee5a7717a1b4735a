# SPDX-License-Identifier: Apache-2.0
"""Many runs from one file: a product of parameters and seeds, made in parallel, resumable, in one data set."""

from leowarp.study.sweep.display import StudyProgress
from leowarp.study.sweep.engine import StudyResult, run_study
from leowarp.study.sweep.file import StudyFile
from leowarp.study.sweep.plans import StudyRun

__all__ = ["StudyFile", "StudyProgress", "StudyResult", "StudyRun", "run_study"]
