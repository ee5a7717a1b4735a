// SPDX-License-Identifier: Apache-2.0
// Positions of satellites and stations at any time, in Earth-fixed coordinates, with the Earth's radius as the unit.

import type { SkyDocument } from "./document";

// Polynomial of degree 5 through six keyframes, evaluated between the third and the fourth; python/leowarp/view/sky.py
// states its error.
const BEFORE = 2;
const TAKEN = 6;

export class Sky {
  readonly satellites: number;
  /** x, y, z of each satellite, then of each station, at the time of the last `at`. */
  readonly places: Float64Array;
  private now = NaN;

  constructor(readonly document: SkyDocument) {
    this.satellites = document.satellites.length;
    this.places = new Float64Array(3 * (this.satellites + document.stations.length));
    document.stations.forEach((station, i) => {
      station.position_m.forEach((x, axis) => {
        this.places[3 * (this.satellites + i) + axis] = x / document.radius_m;
      });
    });
  }

  /** Positions at a time, s. */
  at(t_s: number): Float64Array {
    if (t_s === this.now) return this.places;
    this.now = t_s;
    const { keyframe_s, first_s, positions, unit_m, radius_m } = this.document;
    const width = 3 * this.satellites;
    const frames = positions.length / width;
    const place = (t_s - first_s) / keyframe_s;
    const begin = Math.min(Math.max(Math.floor(place) - BEFORE, 0), frames - TAKEN);
    const x = place - begin;
    const scale = unit_m / radius_m;
    this.places.fill(0, 0, width);
    for (let j = 0; j < TAKEN; j++) {
      let weight = scale;
      for (let m = 0; m < TAKEN; m++) if (m !== j) weight *= (x - m) / (j - m);
      const offset = (begin + j) * width;
      for (let i = 0; i < width; i++) this.places[i] += weight * positions[offset + i];
    }
    return this.places;
  }

  /** Pairs of linked satellites at a time, by the link rule at the previous route update; null: not on this page. */
  linked(t_s: number): [Int32Array, Int32Array, number[]] | null {
    const links = this.document.links;
    if (links === null) return null;
    const update = Math.floor(t_s / links.interval_s);
    const chosen: number[] = [];
    for (let i = 0; i < links.a.length && links.from[i] <= update; i++) if (update < links.until[i]) chosen.push(i);
    return [links.a, links.b, chosen];
  }

  /** Share of a link's acquisition that is over at a time, for a link of `linked`; 1: the link is available. */
  acquired(link: number, t_s: number): number {
    const { acquired_ms, from, interval_s } = this.document.links!;
    if (acquired_ms === undefined || acquired_ms[link] === 0) return 1;
    return Math.min((t_s - from[link] * interval_s) / (acquired_ms[link] / 1e3), 1);
  }

  /** Azimuth from north and elevation, deg, of a satellite as seen from a station at the time of the last `at`. */
  seen(station: number, satellite: number): [number, number] {
    const [ux, uy, uz] = this.document.stations[station].up;
    const [s, n] = [3 * satellite, 3 * (this.satellites + station)];
    const sight = [0, 1, 2].map((axis) => this.places[s + axis] - this.places[n + axis]);
    const level = Math.hypot(ux, uy) || 1;
    // east = z x up, north = up x east
    const east = (-uy * sight[0] + ux * sight[1]) / level;
    const up = ux * sight[0] + uy * sight[1] + uz * sight[2];
    const north = (-uz * ux * sight[0] - uz * uy * sight[1]) / level + level * sight[2];
    const azimuth = (Math.atan2(east, north) * 180) / Math.PI;
    return [(azimuth + 360) % 360, (Math.atan2(up, Math.hypot(east, north)) * 180) / Math.PI];
  }
}

/** Longitude and latitude, deg, at which the sun is in the zenith at a time (Unix, s); accurate to a degree. */
export function sunAt(unix_s: number): [number, number] {
  // Days since J2000; mean longitude and anomaly of the sun: Astronomical Almanac, low-precision formulas.
  const d = unix_s / 86400 - 10957.5;
  const rad = Math.PI / 180;
  const g = (357.529 + 0.98560028 * d) * rad;
  const q = 280.459 + 0.98564736 * d;
  const l = (q + 1.915 * Math.sin(g) + 0.02 * Math.sin(2 * g)) * rad;
  const e = (23.439 - 0.00000036 * d) * rad;
  const ascension = Math.atan2(Math.cos(e) * Math.sin(l), Math.cos(l)) / rad;
  const declination = Math.asin(Math.sin(e) * Math.sin(l)) / rad;
  const greenwich = 280.46061837 + 360.98564736629 * d;
  return [wrapped(ascension - greenwich), declination];
}

export function wrapped(deg: number): number {
  return ((((deg + 180) % 360) + 360) % 360) - 180;
}
