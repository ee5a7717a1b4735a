// SPDX-License-Identifier: Apache-2.0
// Colours of the canvases, from the style sheet's variables.

const NAMES = [
  "ink", "quiet", "line", "panel", "page", "ocean", "land", "coast", "graticule", "night", "satellite", "isl", "path",
  "old", "late", "lost", "again", "ack", "packet", "packet-old", "change", "calm", "busy", "full", "pick", "gap",
] as const; // prettier-ignore

export type Theme = Record<(typeof NAMES)[number], string> & { runs: string[] };

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const found = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  const runs = [1, 2, 3, 4, 5, 6].map((i) => style.getPropertyValue(`--run${i}`).trim());
  return { ...found, runs } as Theme;
}

/** Colour of a queue: empty, filling, full. */
export function queueColour(colours: Theme, fill: number): string {
  return fill < 0.02 ? colours.path : fill < 0.34 ? colours.calm : fill < 0.8 ? colours.busy : colours.full;
}
