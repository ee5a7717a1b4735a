// SPDX-License-Identifier: Apache-2.0
// Load of links: utilisation, queues and drops, per time step and for the whole run.

import { MISSING } from "./container";
import type { Link, LoadDocument } from "./document";

export const MEASURES = ["busy", "queue", "drops"] as const;
export type Measure = (typeof MEASURES)[number];

/** Value of each measure for a direction or a satellite; null: unknown. */
export interface Values {
  busy: number | null;
  queue: number | null;
  drops: number | null;
}

export interface LoadRow extends Values {
  /** Number of a direction or of a satellite. */
  number: number;
}

/** Shares of a scale at which the next colour begins (`queueColour`), for the legend. */
export const CLASSES = [0, 0.02, 0.34, 0.8, 1];

export class Load {
  readonly step_s: number;
  /** Index of the first row of each step in the columns, which are sorted by step. */
  private readonly begins: Int32Array;
  private readonly direction: Int32Array;
  private readonly columns: Record<Measure, Int32Array>;
  private readonly whole: LoadRow[];
  /** Upper end of each measure's scale. */
  private readonly most: Record<Measure, number>;
  private now: { step: number; links: LoadRow[]; satellites: LoadRow[] } | null = null;

  constructor(
    readonly document: LoadDocument,
    private readonly links: Link[],
    /** Number of satellites: nodes below it are satellites. */
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
    // Sorted by step, so that the rows of a step are adjacent.
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

  /** Directions with any load in the step of a time, and satellites with the values of their outgoing links. */
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

  /** Values of all directions for the whole run. */
  get run(): { links: LoadRow[]; satellites: LoadRow[] } {
    return { links: this.whole, satellites: this.bySatellite(this.whole) };
  }

  /** Values of a direction in the step of a time; zero if the table has no row. */
  of(direction: number, t_s: number): Values {
    return this.at(t_s).links.find((row) => row.number === direction) ?? { busy: 0, queue: 0, drops: 0 };
  }

  /** Time of a direction's first maximum of a measure: the middle of that step, s. */
  peak(direction: number, measure: Measure): number {
    let [best, found] = [-1, 0];
    for (let step = 0; step + 1 < this.begins.length; step++) {
      for (let i = this.begins[step]; i < this.begins[step + 1]; i++) {
        if (this.direction[i] === direction && this.columns[measure][i] > best) [best, found] = [this.columns[measure][i], step];
      }
    }
    return (found + 0.5) * this.step_s;
  }

  /** Value as a share of the measure's scale: 0 to 1, or more if it exceeds the scale. */
  share(row: Values, measure: Measure): number {
    return (row[measure] ?? 0) / this.most[measure];
  }

  /** Upper end of the measure's scale: 1 for utilisation, a number of packets for the other measures. */
  scale(measure: Measure): number {
    return this.most[measure];
  }

  /** A satellite has the utilisation of its busiest link, its longest queue, and the drops of all its links. */
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

/** Rows sorted by a measure, largest first; unknown values last, ties by number. */
export function sorted(rows: LoadRow[], measure: Measure): LoadRow[] {
  return rows.slice().sort((a, b) => (b[measure] ?? -1) - (a[measure] ?? -1) || a.number - b.number);
}

function valuesOf(number: number, permille: number, queue: number, drops: number): LoadRow {
  const known = (value: number): number | null => (value === MISSING ? null : value);
  return { number, busy: permille === MISSING ? null : permille / 1000, queue: known(queue), drops: known(drops) };
}

/** A value with its unit: per cent of the rate's capacity, or packets. */
export function inWords(value: number | null, measure: Measure): string | null {
  return value === null ? null : measure === "busy" ? `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %` : String(value);
}

/** The measure with this name; null: there is none. */
export function measureNamed(name: string | undefined): Measure | null {
  return MEASURES.find((measure) => measure === name) ?? null;
}
