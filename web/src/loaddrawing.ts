// SPDX-License-Identifier: Apache-2.0
// The load of links and satellites on the globe: width and colour.

import type { Load, LoadRow, Measure } from "./load";
import type { Run } from "./run";
import { queueColour, type Theme } from "./theme";

/** Line width on the globe: minimum at almost no load, and additional width at full scale. */
export const LEAST_PX = 1.4;
export const MORE_PX = 5;

export interface LoadScene {
  load: Load;
  measure: Measure;
}

const NONE_PX = 0.6;

const drawn = new WeakMap<LoadRow[], Partial<Record<Measure, LoadRow[]>>>();

/** Links with traffic at a time, with the larger value of both directions; the largest is last, and so on top. */
export function loadedLinks(run: Run, { load, measure }: LoadScene, t_s: number): LoadRow[] {
  const { links } = load.at(t_s);
  // The list of loaded links stays the same from frame to frame until the next step.
  const known = drawn.get(links)?.[measure];
  if (known !== undefined) return known;
  const nodes = run.sky === null ? 0 : run.sky.places.length / 3;
  const most = new Map<number, LoadRow>();
  for (const row of links) {
    const { a, b } = run.document.links[row.number];
    if (Math.max(a, b) >= nodes) continue;
    const key = Math.min(a, b) * nodes + Math.max(a, b);
    const other = most.get(key);
    if (other === undefined || (other[measure] ?? 0) < (row[measure] ?? 0)) most.set(key, row);
  }
  const found = [...most.values()].sort((a, b) => (a[measure] ?? 0) - (b[measure] ?? 0));
  drawn.set(links, { ...drawn.get(links), [measure]: found });
  return found;
}

/** Draws the links with `line`, then the satellites as discs at the positions from `place`. */
export function drawLoad(
  context: CanvasRenderingContext2D, run: Run, scene: LoadScene, t_s: number, colours: Theme,
  line: (a: number, b: number, colour: string, width: number) => void,
  place: (node: number) => { x: number; y: number; visible: boolean },
): void {
  const { load, measure } = scene;
  for (const row of loadedLinks(run, scene, t_s)) {
    const { a, b } = run.document.links[row.number];
    const share = load.share(row, measure);
    // The link carried traffic, but its value of this measure is zero.
    if (!row[measure]) line(a, b, colours.quiet, NONE_PX);
    else line(a, b, queueColour(colours, share), LEAST_PX + MORE_PX * Math.min(share, 1));
  }
  for (const row of load.at(t_s).satellites) {
    if (!row[measure]) continue;
    const at = place(row.number);
    if (!at.visible) continue;
    const share = load.share(row, measure);
    context.beginPath();
    context.arc(at.x, at.y, 2.2 + 4.5 * Math.sqrt(Math.min(share, 1)), 0, 7);
    context.fillStyle = queueColour(colours, share);
    context.fill();
    context.strokeStyle = colours.page;
    context.lineWidth = 1;
    context.stroke();
  }
} // prettier-ignore
