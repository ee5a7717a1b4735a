# SPDX-License-Identifier: Apache-2.0
"""`python -m leowarp`."""

from leowarp.cli import main

if __name__ == "__main__":
    main()
