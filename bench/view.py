# SPDX-License-Identifier: Apache-2.0
"""Measure how fast a browser without a graphics card draws the page of `leowarp view`. The results are a frame's cost,
the frames per second, and the time until the first picture.

The page runs in Chromium without a graphics card. *Script* is the processor time that the page needs to draw. *All* is
the processor time of all Chromium processes. Other load on the machine does not change these times. Two values are
measured over 12 s of real time. They need an idle machine. They are the frames per second (at most 60) and the 95th
percentile of frame times.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from leowarp import view  # noqa: E402
from leowarp.guest.machine.own_time import everything, trees  # noqa: E402
from support.chromium import PROGRAM, Browser  # noqa: E402
from support.synthetic.run import PLAN_TOML, write_synthetic_run  # noqa: E402

SIZE = (1400, 1000)
PLAYED_S = 12
COUNTED = """new Promise((done) => {
  const times = []; const next = (now) => { times.push(now); requestAnimationFrame(next); };
  leowarp.frames.count = leowarp.frames.drawing_ms = 0;
  leowarp.play();
  requestAnimationFrame(next);
  setTimeout(() => {
    leowarp.pause();
    const { count, drawing_ms } = leowarp.frames;
    const steps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
    done([count, drawing_ms, times[times.length - 1] - times[0], steps[Math.floor(0.95 * steps.length)]]);
  }, %d);
})"""
# The shell has as many satellites as all shells of Starlink's first generation together.
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
    """Return the processor time in s that a browser's processes have used so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for pid in trees([browser.process.pid], everything()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / ticks


def measured(browser, address, what, script="0"):
    """Measure a page, and print a line of the table."""
    tab = browser.open(address, SIZE)
    first_ms = tab.run("leowarp.frames.first_ms")
    tab.run(f"{script}, leowarp.drawNow()")
    before = cpu_s(browser)
    count, drawing_ms, wall_ms, slow_ms = tab.run(COUNTED % (1000 * PLAYED_S))
    spent = cpu_s(browser) - before
    print(
        f"{what:44} {drawing_ms / count:8.1f} {1e3 * spent / count:8.1f} {1e3 * count / wall_ms:8.1f} {slow_ms:8.1f} "
        f"{first_ms:8.0f}",
        flush=True,
    )
    tab.send("Page.close")


def main():
    if PROGRAM is None:
        sys.exit("no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    print(f"{f'page of {SIZE[0]} x {SIZE[1]}':44}   script      all   frames  slowest    first")
    print(f"{f'load {os.getloadavg()[0]:.1f} at the start':44} ms/frame ms/frame      1/s       ms       ms")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder) / "profile", SIZE)
        try:
            for name, toml in (
                ("648", PLAN_TOML),
                ("4408", PLAN_TOML.replace('[constellation]\npreset = "oneweb-study"\n', WALKER)),
            ):
                run = write_synthetic_run(Path(folder) / name, toml)
                page = view.write_view([run], Path(folder) / f"{name}.html").as_uri()
                change = f"{page}#t=19.9&speed=0.02"
                measured(browser, change, f"{name} satellites, packets under way")
                measured(browser, change, f"{name} satellites, all links", "leowarp.show.links = true")
            for given in sys.argv[1:]:
                path, _, fragment = given.partition("#")
                measured(browser, f"{Path(path).resolve().as_uri()}#{fragment}", f"{Path(path).name} {fragment}")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
