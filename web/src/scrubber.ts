// SPDX-License-Identifier: Apache-2.0
// Time bar of the whole run: position of the clock, path changes, and number of late packets at each.

import type { Marks } from "./plots";
import { Surface } from "./surface";
import type { Theme } from "./theme";

export class Scrubber {
  private readonly surface: Surface;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly end_s: number,
    private readonly marks: Marks[],
    private readonly windows: [number, number][],
    onSeek: (t_s: number) => void,
  ) {
    this.surface = new Surface(canvas);
    const seek = (event: PointerEvent): void => {
      const box = canvas.getBoundingClientRect();
      onSeek(((event.clientX - box.left) / Math.max(box.width, 1)) * end_s);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) seek(event);
    });
  }

  draw(t_s: number, range: [number, number], colours: Theme): void {
    this.surface.fit();
    const context = this.surface.cleared();
    const { width, height } = this.surface;
    const x = (t: number): number => (t / this.end_s) * width;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    context.fillStyle = colours.graticule;
    if (range[1] - range[0] < this.end_s) context.fillRect(x(range[0]), 0, Math.max(x(range[1]) - x(range[0]), 1), height);
    const most = Math.max(...this.marks.map((mark) => mark.late), 1);
    for (const mark of this.marks) {
      const high = mark.late > 0 ? 7 + (height - 9) * Math.sqrt(mark.late / most) : 5;
      context.fillStyle = mark.late > 0 ? colours.late : colours.quiet;
      context.fillRect(x(mark.t_s) - 1, height - high, 2, high);
    }
    context.fillStyle = colours.packet;
    for (const [begin, end] of this.windows) context.fillRect(x(begin), height - 2, Math.max(x(end) - x(begin), 1.5), 2);
    context.fillStyle = colours.ink;
    context.fillRect(x(t_s) - 1, 0, 2, height);
    this.canvas.setAttribute("aria-valuenow", t_s.toFixed(2));
  }
}
