// SPDX-License-Identifier: Apache-2.0
// Which links are busy, hold queues or drop packets, step by step and in the whole run.

import { MISSING } from "./container";
import type { Link, LoadDocument } from "./document";

export const MEASURES = ["busy", "queue", "drops"] as const;
export type Measure = (typeof MEASURES)[number];

/** What a direction or a satellite has of each measure; null: not known. */
export interface Values {
  busy: number | null;
  queue: number | null;
  drops: number | null;
}

export interface LoadRow extends Values {
  /** A direction's number, or a satellite's. */
  number: number;
}

/** Shares of a scale at which the next colour begins (`queueColour`), for the legend. */
export const CLASSES = [0, 0.02, 0.34, 0.8, 1];

export class Load {
  readonly step_s: number;
  /** Where each step begins in the columns, which are by step. */
  private readonly begins: Int32Array;
  private readonly direction: Int32Array;
  private readonly columns: Record<Measure, Int32Array>;
  private readonly whole: LoadRow[];
  /** Upper end of each scale. */
  private readonly most: Record<Measure, number>;
  private now: { step: number; links: LoadRow[]; satellites: LoadRow[] } | null = null;

  constructor(
    readonly document: LoadDocument,
    private readonly links: Link[],
    /** Nodes below this number are satellites. */
    private readonly satellites: number,
  ) {
    this.step_s = document.step_s;
    const given = { busy: document.busy_permille, queue: document.queue_pkts, drops: document.dropped_pkts };
    const rows = document.steps.length;
    const [step, direction] = [new Int32Array(rows), new Int32Array(rows)];
    let at = 0;
    document.directions.forEach((each, i) => {
      let sum = 0;
      for (let row = 0; row < document.rows[i]; row++, at++) [step[at], direction[at]] = [(sum += document.steps[at]), each];
    });
    // By step: the rows of each are then one beside the other.
    const steps = rows === 0 ? 0 : step.reduce((most, each) => Math.max(most, each), 0) + 1;
    this.begins = new Int32Array(steps + 1);
    for (const each of step) this.begins[each + 1]++;
    for (let i = 0; i < steps; i++) this.begins[i + 1] += this.begins[i];
    const next = this.begins.slice();
    this.direction = new Int32Array(rows);
    this.columns = { busy: new Int32Array(rows), queue: new Int32Array(rows), drops: new Int32Array(rows) };
    for (let row = 0; row < rows; row++) {
      const place = next[step[row]]++;
      this.direction[place] = direction[row];
      for (const measure of MEASURES) this.columns[measure][place] = given[measure][row];
    }
    const { run } = document;
    this.whole = Array.from(run.directions, (number, i) => valuesOf(number, run.busy_permille[i], run.queue_pkts[i], run.dropped_pkts[i]));
    const limit = Math.max(0, ...links.map((link) => link.limit_pkts ?? 0));
    this.most = { busy: 1, queue: Math.max(limit, this.highest("queue"), 1), drops: Math.max(this.highest("drops"), 1) };
  }

  /** Directions with any load in the step of an instant, and satellites by their links that send. */
  at(t_s: number): { links: LoadRow[]; satellites: LoadRow[] } {
    const step = Math.floor(t_s / this.step_s + 1e-9);
    if (this.now?.step !== step) {
      const links: LoadRow[] = [];
      const { busy, queue, drops } = this.columns;
      const last = this.begins.length - 1;
      for (let i = this.begins[Math.min(step, last)]; i < this.begins[Math.min(step + 1, last)]; i++) {
        links.push(valuesOf(this.direction[i], busy[i], queue[i], drops[i]));
      }
      this.now = { step, links, satellites: this.bySatellite(links) };
    }
    return this.now;
  }

  /** The same of the whole run. */
  get run(): { links: LoadRow[]; satellites: LoadRow[] } {
    return { links: this.whole, satellites: this.bySatellite(this.whole) };
  }

  /** A direction's values in the step of an instant: nothing, if it is not told. */
  of(direction: number, t_s: number): Values {
    return this.at(t_s).links.find((row) => row.number === direction) ?? { busy: 0, queue: 0, drops: 0 };
  }

  /** When a direction had the most of a measure first: the middle of that step, s. */
  peak(direction: number, measure: Measure): number {
    let [best, found] = [-1, 0];
    for (let step = 0; step + 1 < this.begins.length; step++) {
      for (let i = this.begins[step]; i < this.begins[step + 1]; i++) {
        if (this.direction[i] === direction && this.columns[measure][i] > best) [best, found] = [this.columns[measure][i], step];
      }
    }
    return (found + 0.5) * this.step_s;
  }

  /** Share of the measure's scale: 0 to 1, above if there is more than the scale has. */
  share(row: Values, measure: Measure): number {
    return (row[measure] ?? 0) / this.most[measure];
  }

  /** Upper end of the measure's scale: 1 of what the rate carries, packets. */
  scale(measure: Measure): number {
    return this.most[measure];
  }

  /** A satellite is as busy as its busiest link, its queue is its longest, its drops are those of all its links. */
  private bySatellite(links: LoadRow[]): LoadRow[] {
    const found = new Map<number, LoadRow>();
    for (const row of links) {
      const number = this.links[row.number].a;
      if (number >= this.satellites) continue;
      const known = found.get(number);
      if (known === undefined) found.set(number, { ...row, number });
      else {
        for (const measure of MEASURES) {
          const [one, other] = [known[measure], row[measure]];
          if (one === null || other === null) known[measure] = null;
          else known[measure] = measure === "drops" ? one + other : Math.max(one, other);
        }
      }
    }
    return [...found.values()];
  }

  private highest(measure: Measure): number {
    return this.columns[measure].reduce((most, each) => Math.max(most, each), 0);
  }
}

/** Rows by a measure, the most first; unknown ones last, equal ones by number. */
export function sorted(rows: LoadRow[], measure: Measure): LoadRow[] {
  return rows.slice().sort((a, b) => (b[measure] ?? -1) - (a[measure] ?? -1) || a.number - b.number);
}

function valuesOf(number: number, permille: number, queue: number, drops: number): LoadRow {
  const known = (value: number): number | null => (value === MISSING ? null : value);
  return { number, busy: permille === MISSING ? null : permille / 1000, queue: known(queue), drops: known(drops) };
}

/** A value in its unit: per cent of what the rate carries, packets. */
export function inWords(value: number | null, measure: Measure): string | null {
  return value === null ? null : measure === "busy" ? `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %` : String(value);
}

/** The measure of that name; null: there is none. */
export function measureNamed(name: string | undefined): Measure | null {
  return MEASURES.find((measure) => measure === name) ?? null;
}
