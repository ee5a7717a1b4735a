# SPDX-License-Identifier: Apache-2.0
"""What a frame of the page of `leowarp view` costs, drawn by software, and when its first picture is there.

Chromium without a graphics card; processor time of all its processes, so that a busy machine does not matter. A page is
as fast as 1 s / (the larger of the two columns): script and drawing run beside each other on two cores.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from leowarp import view  # noqa: E402
from leowarp.guest.own_time import everything, trees  # noqa: E402
from support.chromium import PROGRAM, Browser  # noqa: E402
from support.synthetic.run import PLAN_TOML, write_synthetic_run  # noqa: E402

SIZE = (1400, 1000)
FRAMES = 150
# As many as Starlink's first generation has; its shells are several, this is one.
WALKER = """[constellation]
pattern = "delta"
planes = 76
satellites_per_plane = 58
altitude = "550 km"
inclination = "53 deg"

[isl]
rule = "plus-grid"
"""


def cpu_s(browser):
    """Processor time of a browser's processes so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for pid in trees([browser.process.pid], everything()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / ticks


def measured(browser, page, what, script=""):
    """Prints a line of the table."""
    tab = browser.open(f"{page.as_uri()}#t=19.5&speed=0.02", SIZE)
    first_ms = tab.run("leowarp.frames.first_ms")
    tab.run(f"{script}; leowarp.frames.count = leowarp.frames.drawing_ms = 0; leowarp.play()")
    before = cpu_s(browser)
    tab.wait(f"leowarp.frames.count >= {FRAMES}")
    spent = cpu_s(browser) - before
    count, drawing_ms = tab.run("[leowarp.frames.count, leowarp.frames.drawing_ms]")
    tab.run("leowarp.pause()")
    print(f"{what:44} {drawing_ms / count:8.1f} {1e3 * spent / count:8.1f} {first_ms:8.0f}", flush=True)


def main():
    if PROGRAM is None:
        sys.exit("no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    print(f"{'':44} {'script':>8} {'all':>8} {'first':>8}")
    print(f"{f'page of {SIZE[0]} x {SIZE[1]}':44} {'ms/frame':>8} {'ms/frame':>8} {'ms':>8}")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder) / "profile", SIZE)
        try:
            for name, toml in (
                ("648", PLAN_TOML),
                ("4408", PLAN_TOML.replace('[constellation]\npreset = "oneweb-study"\n', WALKER)),
            ):
                run = write_synthetic_run(Path(folder) / name, toml)
                page = view.write_view([run], Path(folder) / f"{name}.html")
                measured(browser, page, f"{name} satellites, packets under way")
                measured(browser, page, f"{name} satellites, all links", "leowarp.show.links = true")
            for given in sys.argv[1:]:
                measured(browser, Path(given), Path(given).name)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
