// SPDX-License-Identifier: Apache-2.0
// State of one run at any time: the current path and its delays, queues, drops, changes.

import { MISSING } from "./container";
import type { Path, RunDocument } from "./document";
import { Load } from "./load";
import { lastAt } from "./search";
import { Sky } from "./sky";

export interface InForce {
  path: Path;
  /** Time since which the pair has used this path, s. */
  since_s: number;
  /** Delay of each link, s. */
  delays_s: number[];
}

export interface Change {
  t_s: number;
  pair: number;
  before_ms: number | null;
  after_ms: number | null;
  late: number | null;
  lost: number | null;
  again: number | null;
  vain: number | null;
  left: number | null;
}

/** A time in which no packet passes a link; `a` = `b`: a dish that holds packets. */
export interface Gap {
  a: number;
  b: number;
  end_s: number;
}

export class Run {
  readonly sky: Sky | null;
  readonly load: Load | null;
  readonly changes: Change[];
  /** For each pair: offset of the delays of each row, and offset of the delays of the path that the row replaces. */
  private readonly offsets: { row: Int32Array; left: Int32Array }[];
  private readonly queues = new Map<number, { t: Float64Array; pkts: Int32Array }>();

  constructor(
    readonly document: RunDocument,
    readonly number: number,
  ) {
    this.sky = document.sky === null ? null : new Sky(document.sky);
    const { load } = document;
    this.load = load === null ? null : new Load(load, document.links, document.sky?.satellites.length ?? 0);
    const { steps, rows, directions, pkts } = document.queues;
    let at = 0;
    directions.forEach((direction, i) => {
      const t = new Float64Array(rows[i]);
      let sum = 0;
      for (let row = 0; row < rows[i]; row++) t[row] = sum += steps[at + row];
      this.queues.set(direction, { t, pkts: pkts.subarray(at, at + rows[i]) });
      at += rows[i];
    });
    this.offsets = document.pairs.map(({ path, paths }) => {
      const [row, left] = [new Int32Array(path.length), new Int32Array(path.length)];
      let [sum, sumLeft] = [0, 0];
      for (let i = 0; i < path.length; i++) {
        [row[i], left[i]] = [sum, sumLeft];
        if (path[i] >= 0) sum += paths[path[i]].links.length;
        if (i > 0 && path[i - 1] >= 0 && path[i] >= 0 && path[i] !== path[i - 1]) sumLeft += paths[path[i - 1]].links.length;
      }
      return { row, left };
    });
    const c = document.changes;
    this.changes = Array.from(c.t, (tick, i) => ({
      t_s: tick * document.tick_s,
      pair: c.pair[i],
      before_ms: scaled(c.delay_before_us[i], 1e-3),
      after_ms: scaled(c.delay_after_us[i], 1e-3),
      late: scaled(c.late_pkts[i]),
      lost: scaled(c.lost_pkts[i]),
      again: scaled(c.retransmissions_pkts[i]),
      vain: scaled(c.spurious_retransmissions_pkts[i]),
      left: scaled(c.queue_left_pkts[i]),
    }));
  }

  /** Name of a node. */
  name(node: number): string {
    const satellites = this.sky?.satellites ?? 0;
    return node < satellites ? this.document.sky!.satellites[node] : this.document.others[node - satellites];
  }

  /** Number of a satellite by name; -1: no satellite has this name. */
  satellite(name: string): number {
    return this.document.sky?.satellites.indexOf(name) ?? -1;
  }

  /** Number of a link's direction by the names of its ends; -1: no such link exists. */
  direction(a: string, b: string): number {
    return this.document.links.findIndex((link) => this.name(link.a) === a && this.name(link.b) === b);
  }

  /** The current path of a pair; null: the pair has no path. */
  path(pair: number, t_s: number): InForce | null {
    const { t, path } = this.document.pairs[pair];
    const row = lastAt(t, this.tick(t_s));
    if (row < 0 || path[row] < 0) return null;
    let first = row;
    while (first > 0 && path[first - 1] === path[row]) first--;
    return this.forced(pair, row, first);
  }

  /** The path before the current one, and the time of its replacement; null: there was no earlier path. */
  replaced(pair: number, t_s: number): (InForce & { until_s: number }) | null {
    const { t, path, left_us } = this.document.pairs[pair];
    const row = lastAt(t, this.tick(t_s));
    let first = row;
    while (first > 0 && path[first - 1] === path[row]) first--;
    if (first <= 0 || path[first - 1] < 0) return null;
    const found = this.forced(pair, first - 1, first - 1);
    // The link delays of this path still follow the satellites; if there is no path now, the delays at the replacement
    // are used.
    const offset = this.offsets[pair].left[first];
    if (path[first] >= 0) found.delays_s = found.delays_s.map((_, i) => left_us[offset + i] / 1e6);
    return { ...found, until_s: t[first] * this.document.tick_s };
  }

  /** A path of a pair by id, with its delays at a time, or with the last delays before this time. */
  byId(pair: number, id: number, t_s: number): InForce | null {
    const { t, path, paths } = this.document.pairs[pair];
    for (let row = lastAt(t, this.tick(t_s)); row >= 0; row--) {
      if (path[row] >= 0 && (paths[path[row]].id ?? path[row]) === id) return this.forced(pair, row, row);
    }
    return null;
  }

  private forced(pair: number, row: number, first: number): InForce {
    const { t, path, paths, delays_us } = this.document.pairs[pair];
    const found = paths[path[row]];
    const offset = this.offsets[pair].row[row];
    const delays_s = found.links.map((_, i) => delays_us[offset + i] / 1e6);
    return { path: found, since_s: t[first] * this.document.tick_s, delays_s };
  }

  /** Gaps of links and holds of dishes at a time. */
  gaps(t_s: number): Gap[] {
    const { gaps, tick_s } = this.document;
    if (gaps === undefined) return [];
    const found: Gap[] = [];
    const now = this.tick(t_s);
    for (let i = lastAt(gaps.t, now); i >= 0; i--) {
      if (gaps.t[i] + gaps.lasts[i] > now) found.push({ a: gaps.a[i], b: gaps.b[i], end_s: (gaps.t[i] + gaps.lasts[i]) * tick_s });
    }
    return found;
  }

  /** Whether links of this run are ever in a gap or need to be acquired, and whether a dish ever holds. */
  get interrupted(): { gaps: boolean; holds: boolean; acquired: boolean } {
    const { gaps, sky } = this.document;
    const holds = gaps === undefined ? [] : Array.from(gaps.a, (a, i) => a === gaps.b[i]);
    const acquired = sky?.links?.acquired_ms?.some((ms) => ms > 0) ?? false;
    return { gaps: holds.includes(false), holds: holds.includes(true), acquired };
  }

  /** Number of packets waiting in a direction of a link. */
  queue(direction: number, t_s: number): number {
    const series = this.queues.get(direction);
    if (series === undefined) return 0;
    const row = lastAt(series.t, this.tick(t_s));
    return row < 0 || series.pkts[row] === MISSING ? 0 : series.pkts[row];
  }

  limit(direction: number): number {
    return this.document.links[direction]?.limit_pkts ?? 500;
  }

  /** Maximum number of waiting packets of each direction that had a queue. */
  get waited(): number[] {
    return [...this.queues.keys()];
  }

  /** Number of packets dropped on a direction until a time. */
  dropped(direction: number, t_s: number): number {
    const { t, direction: where } = this.document.drops;
    let sum = 0;
    for (let i = lastAt(t, this.tick(t_s)); i >= 0; i--) if (where[i] === direction) sum++;
    return sum;
  }

  /** Flows active at a time whose path, in either direction, uses a direction of a link. */
  flowsOn(direction: number, t_s: number): number[] {
    const pairs = new Map<number, boolean>();
    const leads = (pair: number): boolean => {
      if (!pairs.has(pair)) pairs.set(pair, this.path(pair, t_s)?.path.links.includes(direction) ?? false);
      return pairs.get(pair)!;
    };
    return this.document.flows.flatMap(({ start_s, end_s, there, back }, number) =>
      start_s <= t_s && t_s < end_s && (leads(there) || leads(back)) ? [number] : [],
    );
  }

  /** Number of the last change until a time; -1: there was no change yet. */
  changeAt(t_s: number): number {
    return lastAt(this.document.changes.t, this.tick(t_s));
  }

  /** Direction whose queue belongs to a hop of a drawn path. */
  hopDirection(path: Path, hop: number): number {
    const [hops, links] = [path.drawn.length - 1, path.links.length];
    if (links === hops) return path.links[hop];
    // On a mobile channel the last link is the last hop, or the first hop on the return path; all other links together
    // form one hop.
    const fading = this.document.medium === "mobile" && links === 2;
    if (fading) {
      const away = this.document.links[path.links[0]]?.kind === "gsl";
      return away ? path.links[hop === 0 ? 0 : 1] : path.links[hop === hops - 1 ? 1 : 0];
    }
    return path.links[0] ?? -1;
  }

  tick(t_s: number): number {
    // The tolerance is a millionth of a tick, so that a time written with fewer digits is still reached.
    return t_s / this.document.tick_s + 1e-6;
  }

  /** Name of a flow with its number, which distinguishes flows with equal names. */
  flowName(number: number): string {
    return `${number}: ${this.document.flows[number].name}`;
  }
}

export function scaled(value: number, scale = 1): number | null {
  return value === MISSING ? null : value * scale;
}
