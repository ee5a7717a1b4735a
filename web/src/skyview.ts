// SPDX-License-Identifier: Apache-2.0
// The sky above a dish: satellites by azimuth and elevation, the serving satellite, and the slots of the last minutes.

import type { Run } from "./run";
import { label, Surface } from "./surface";
import type { Theme } from "./theme";

const TRAIL_S = 60;
const STEP_S = 5;

export class SkyView {
  private readonly surface: Surface;
  private readonly station: number;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly run: Run,
  ) {
    this.surface = new Surface(canvas);
    this.station = Math.max(run.sky!.document.stations.findIndex(({ name }) => name === "terminal"), 0);
  }

  draw(t_s: number, pair: number, colours: Theme): void {
    this.surface.fit();
    const context = this.surface.cleared();
    const { width, height } = this.surface;
    const radius = Math.min(width, height) / 2 - 16;
    const [cx, cy] = [width / 2, height / 2];
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "center";
    for (const elevation of [0, 30, 60]) {
      // a label's halo is a second stroke
      [context.strokeStyle, context.lineWidth] = [colours.line, 1];
      context.beginPath();
      context.arc(cx, cy, (radius * (90 - elevation)) / 90, 0, 7);
      context.stroke();
      label(context, `${elevation}°`, cx, cy + (radius * (90 - elevation)) / 90 - 3, colours.quiet, colours.panel);
    }
    for (const [text, azimuth] of [["N", 0], ["E", 90], ["S", 180], ["W", 270]] as const) {
      const [x, y] = this.flat(cx, cy, radius + 9, azimuth, 0);
      label(context, text, x, y + 4, colours.quiet, colours.panel);
    }
    const sky = this.run.sky!;
    const serving = this.serving(pair, t_s);
    // Tracks of the satellites that served in the last slots; older tracks are paler.
    for (let back_s = TRAIL_S; back_s >= 0; back_s -= STEP_S) {
      const at_s = t_s - back_s;
      const satellite = at_s < 0 ? -1 : this.serving(pair, at_s);
      if (satellite < 0) continue;
      sky.at(at_s);
      const [x, y] = this.flat(cx, cy, radius, ...sky.seen(this.station, satellite));
      context.globalAlpha = 1 - back_s / (TRAIL_S + STEP_S);
      context.fillStyle = satellite === serving ? colours.path : colours.old;
      context.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    context.globalAlpha = 1;
    sky.at(t_s);
    for (let satellite = 0; satellite < sky.satellites; satellite++) {
      const [azimuth, elevation] = sky.seen(this.station, satellite);
      if (elevation < 0) continue;
      const [x, y] = this.flat(cx, cy, radius, azimuth, elevation);
      context.beginPath();
      context.arc(x, y, satellite === serving ? 5 : 2.2, 0, 7);
      context.fillStyle = satellite === serving ? colours.path : colours.satellite;
      context.fill();
      if (satellite !== serving) continue;
      context.font = "600 11px system-ui, sans-serif";
      label(context, `${this.run.name(satellite)}, ${elevation.toFixed(0)}°`, cx, cy + radius + 12, colours.ink, colours.panel);
    }
  }

  private serving(pair: number, t_s: number): number {
    const drawn = this.run.path(pair, t_s)?.path.drawn ?? [];
    return drawn.find((node) => node < this.run.sky!.satellites) ?? -1;
  }

  /** North is up and east is to the left, as seen when looking up. */
  private flat(cx: number, cy: number, radius: number, azimuth: number, elevation: number): [number, number] {
    const [away, angle] = [(radius * (90 - elevation)) / 90, (azimuth * Math.PI) / 180];
    return [cx - away * Math.sin(angle), cy - away * Math.cos(angle)];
  }
}
