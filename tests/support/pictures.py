# SPDX-License-Identifier: Apache-2.0
"""Compares pictures of pages with reviewed ones (tests/pages/pictures/).

A picture must not depend on the machine's fonts. Pages therefore use the DejaVu Sans of Matplotlib, which the lock file
pins, and canvases draw no text. Pictures must not depend on antialiasing either. Pictures are therefore compared by the
means of squares: 8 x 8 pixels where there is text, and 4 x 4 on a canvas, where packets are dots of 3 pixels.
Chromium's GPU rasteriser (SwiftShader) gives the same results.
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
"""A reviewed picture has half the width and height of the page."""
COLOURS = 256
"""With maximum coverage no mean of 8 x 8 pixels is off by more than 7 of 255; with a median cut it is 46."""
APART = 16
"""Largest difference of a mean, out of 255, in any colour. A square with a larger difference counts as changed."""


@dataclass(frozen=True)
class Grain:
    """Limits for the comparison of a picture.

    means: Edge of a compared square, in pixels of the reviewed picture.
    most_ratio: Share of squares that may differ, because texts show version numbers.
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
    """Sets one font for the whole page, and removes texts from its canvases from the next drawing on."""
    faces = [
        [weight, base64.b64encode((_FONTS / name).read_bytes()).decode()]
        for weight, name in (("400", "DejaVuSans.ttf"), ("700", "DejaVuSans-Bold.ttf"))
    ]
    tab.run(_PINNED % faces)


def shown(tab, selector=None):
    """The visible page, or one element of it, as a picture in RGB."""
    clip = {}
    if selector is not None:
        left, top, width, height = tab.box(selector)
        scroll = tab.run("[scrollX, scrollY]")
        # Crops to whole pixels and whole squares.
        side = 8
        clip = {"clip": {"x": round(left + scroll[0]), "y": round(top + scroll[1]), "width": width // side * side,
                         "height": height // side * side, "scale": 1}}  # fmt: skip
    shot = tab.send("Page.captureScreenshot", format="png", **clip)
    return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


def apart(one, other, grain):
    """Squares that differ between two stored pictures, as (number of squares, number that may differ, mask)."""
    worst = ImageChops.difference(one.reduce(grain.means), other.reduce(grain.means))
    mask = worst.point(lambda value: 255 * (value > APART)).convert("L").point(lambda value: 255 * (value > 0))
    return mask.histogram()[255], max(int(grain.most_ratio * mask.width * mask.height), 1), mask


class Album:
    """Compares pictures with the reviewed pictures, or renews the reviewed pictures."""

    def __init__(self, renews):
        self.renews = renews

    def check(self, name, found, grain=TEXTS):
        """Fails if a picture differs from the reviewed picture."""
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
