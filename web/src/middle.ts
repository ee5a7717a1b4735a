// SPDX-License-Identifier: Apache-2.0

/** Longitude and latitude, deg, of the centre of some nodes, and the nodes' largest distance from the centre as seen
 * from above (Earth radii). */
export function middleOf(places: Float64Array, nodes: number[]): { lon: number; lat: number; widest: number } {
  const middle = [0, 0, 0];
  for (const node of nodes) for (const axis of [0, 1, 2]) middle[axis] += places[3 * node + axis];
  if (Math.hypot(...middle) < 1e-6) middle[0] = 1;
  const lon = (Math.atan2(middle[1], middle[0]) * 180) / Math.PI;
  const lat = (Math.atan2(middle[2], Math.hypot(middle[0], middle[1])) * 180) / Math.PI;
  const length = Math.hypot(...middle);
  // an orthographic projection maps an angle to its sine
  const away = nodes.map((node) => {
    const place = [0, 1, 2].map((axis) => places[3 * node + axis]);
    const along = place.reduce((sum, x, axis) => sum + (x * middle[axis]) / length, 0);
    return Math.sqrt(Math.max(place.reduce((sum, x) => sum + x * x, 0) - along * along, 0));
  });
  return { lon, lat, widest: Math.max(...away, 0.1) };
}
