# SPDX-License-Identifier: Apache-2.0
"""Compare screenshots with reviewed screenshots (tests/pages/pictures/).

A screenshot must not depend on the fonts of the machine. The text of pages is in DejaVu Sans, from the locked
Matplotlib version. Canvases draw no text. The comparison uses means over squares, so that antialiasing has no effect.
The squares have 8 x 8 pixels for text, and 4 x 4 pixels on a canvas, where packets are dots of 3 pixels.
"""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pytest
from PIL import Image, ImageChops

REVIEWED = Path(__file__).resolve().parents[1] / "pages" / "pictures"
FOUND = Path(__file__).resolve().parents[2] / "build" / "pictures"
KEPT = 2
"""A reviewed screenshot has the page's width and height, each divided by this factor."""
COLOURS = 256
"""The number of colours in a stored screenshot. With the method "maximum coverage", the mean of each 8 x 8 square is
off by at most 7 of 255. With "median cut", it would be off by up to 46."""
APART = 16
"""In each colour, the mean of a square may differ from the reviewed mean by at most this value, out of 255."""


@dataclass(frozen=True)
class Grain:
    """The method by which a screenshot is compared.

    means: Squares with edges of this length are compared, in pixels of the reviewed screenshot.
    most_ratio: The share of the squares that may change, because texts contain version numbers.
    """

    means: int
    most_ratio: float


TEXTS = Grain(4, 0.001)
CANVAS = Grain(2, 0.0002)

_FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_PINNED = """(async () => {
  const faces = %s;
  for (const [weight, data] of faces) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    document.fonts.add(await new FontFace('pinned', bytes.buffer, {weight}).load());
  }
  const style = document.createElement('style');
  style.textContent = '* { font-family: pinned !important; transition: none !important; }';
  document.head.append(style);
  for (const method of ['fillText', 'strokeText']) CanvasRenderingContext2D.prototype[method] = () => {};
  await document.fonts.ready;
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
})()"""


def pin(tab):
    """Set one font for the page. From then on, the page's canvases draw no text."""
    faces = [
        [weight, base64.b64encode((_FONTS / name).read_bytes()).decode()]
        for weight, name in (("400", "DejaVuSans.ttf"), ("700", "DejaVuSans-Bold.ttf"))
    ]
    tab.run(_PINNED % faces)


def shown(tab, selector=None):
    """Return the visible page, or one of its elements, as an RGB image."""
    clip = {}
    if selector is not None:
        left, top, width, height = tab.box(selector)
        scroll = tab.run("[scrollX, scrollY]")
        # The picture is cut to whole pixels of the reviewed picture and to whole squares.
        side = 8
        clip = {"clip": {"x": round(left + scroll[0]), "y": round(top + scroll[1]), "width": width // side * side,
                         "height": height // side * side, "scale": 1}}  # fmt: skip
    shot = tab.send("Page.captureScreenshot", format="png", **clip)
    return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


def apart(one, other, grain):
    """Compare two stored screenshots. Return the number of changed squares, the number of squares that may change, and
    a mask of the changed squares."""
    worst = ImageChops.difference(one.reduce(grain.means), other.reduce(grain.means))
    mask = worst.point(lambda value: 255 * (value > APART)).convert("L").point(lambda value: 255 * (value > 0))
    return mask.histogram()[255], max(int(grain.most_ratio * mask.width * mask.height), 1), mask


class Album:
    """A set of reviewed screenshots. Tests compare new screenshots with them, or replace them."""

    def __init__(self, renews):
        self.renews = renews

    def check(self, name, found, grain=TEXTS):
        """Fail if a screenshot differs from the reviewed one."""
        kept = found.reduce(KEPT)
        path = REVIEWED / f"{name}.png"
        if self.renews:
            REVIEWED.mkdir(exist_ok=True)
            few = kept.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            few.save(path, optimize=True)
            return
        assert path.exists(), f"there is no reviewed {path.name}: make pictures"
        reviewed = Image.open(path).convert("RGB")
        same_size = reviewed.size == kept.size
        count, most, mask = apart(kept, reviewed, grain) if same_size else (None, None, None)
        if same_size and count <= most:
            return
        FOUND.mkdir(parents=True, exist_ok=True)
        kept.save(FOUND / f"{name}.png")
        if mask is not None:
            mask.resize(kept.size).save(FOUND / f"{name}-differs.png")
        what = f"{count} squares differ, {most} may" if same_size else f"it is {kept.size} and not {reviewed.size}"
        pytest.fail(f"{name}: {what}. Look at {FOUND}/{name}.png beside {path}; if it is right: make pictures")


@pytest.fixture
def album(request):
    return Album(request.config.getoption("--renew-pictures"))
