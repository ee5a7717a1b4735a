# SPDX-License-Identifier: Apache-2.0
"""Compare recordings of real links with a repetition of the measurement in the guest (`leowarp validate`).

`public` lists recordings that everybody can fetch. `quantities` computes the compared numbers. `made` repeats the
measurement in the guest, over a replay of the recording and over profiles. `compared` gives distances and verdicts, and
`page` shows the results.
"""

from leowarp.validation.compared import LIMIT_RATIO, Skipped, Validated, validate
from leowarp.validation.public import PUBLIC
