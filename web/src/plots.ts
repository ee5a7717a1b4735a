// SPDX-License-Identifier: Apache-2.0
// Plots over time: rows of traces with a common axis and a cursor.

import uPlot from "uplot";
import { MISSING } from "./container";
import type { Run } from "./run";
import { lastAt } from "./search";
import type { Theme } from "./theme";

interface Trace {
  label: string;
  colour: string;
  width: number;
  x: number[];
  y: (number | null)[];
  points?: boolean;
  fill?: boolean;
}

interface Row {
  name: string;
  traces: Trace[];
  /** Limit above which values are clipped: data that fill a hole arrive in a burst of several times the capacity. */
  most: number;
  /** Names of a state's whole numbers from 0 on; empty for numeric values. */
  words: string[];
}

export interface Marks {
  t_s: number;
  late: number;
}

const HEIGHT = 74;
const CUT = 1.3;

export class Plots {
  private plots: uPlot[] = [];
  private heads: HTMLElement[] = [];
  private values: { element: HTMLElement; traces: Trace[]; words: string[] }[] = [];
  private range: [number, number];
  private shown = "";

  constructor(
    readonly element: HTMLElement,
    private readonly runs: Run[],
    private readonly end_s: number,
    private readonly marks: Marks[],
    private readonly onSeek: (t_s: number) => void,
    private readonly onSpan: (range: [number, number]) => void,
  ) {
    this.range = [0, end_s];
  }

  /** Draws the rows of a flow for each run (or of the first flow, if a run lacks it). */
  build(flow: number, colours: Theme): void {
    for (const plot of this.plots) plot.destroy();
    this.element.replaceChildren();
    [this.plots, this.heads, this.values] = [[], [], []];
    const rows = this.rows(flow, colours);
    rows.forEach((row, i) => this.addRow(row, colours, i === rows.length - 1));
    this.shown = "";
  }

  private rows(flow: number, colours: Theme): Row[] {
    const several = this.runs.length > 1;
    const rows: Row[] = [];
    const add = (name: string, of: (run: Run, colour: string) => Trace[], cut = false, words: string[] = []): void => {
      const traces = this.runs.flatMap((run) => of(run, several ? colours.runs[run.number % colours.runs.length] : colours.runs[0]));
      if (traces.some((trace) => trace.y.some((y) => y !== null))) rows.push({ name, traces, most: cut ? CUT * quantile(traces, 0.98) : Infinity, words });
    };
    const trace = (run: Run, colour: string, key: string, scale: number, what: string): Trace[] => {
      const of = run.document.flows[Math.min(flow, run.document.flows.length - 1)];
      const values = of.rows[key];
      return values === undefined ? [] : [{ ...grid(run, values, scale), label: several ? run.document.label : what, colour, width: 1.1 }];
    };
    add("goodput in order, Mbit/s", (run, colour) => trace(run, colour, "goodput_kbps", 1e-3, "goodput"), true);
    add("smoothed RTT, ms", (run, colour) => [
      ...trace(run, colour, "srtt_us", 1e-3, "smoothed RTT"),
      ...(several ? [] : propagation(run, flow, colours.quiet)),
    ]);
    add("probe, ms", (run, colour) => probes(run, flow, colour, several));
    add("congestion window, packets", (run, colour) => trace(run, colour, "cwnd_pkts", 1, "window"));
    add("mode of BBR", (run, colour) => trace(run, colour, "bbr_mode", 1, "mode"), false, this.runs[0].document.bbr_modes);
    add("waiting on the path, packets", (run, colour) => trace(run, colour, "queue_pkts", 1, "queue"));
    add("late, packets in 50 ms", (run, colour) => [
      ...trace(run, several ? colour : colours.late, "late_pkts", 50e-3 / run.document.step_s, "late"),
      ...(several ? [] : trace(run, colours.lost, "lost_pkts", 50e-3 / run.document.step_s, "lost")),
    ]);
    add("Es/N0 at the terminal, dB", (run, colour) => fading(run, colour, several));
    return rows;
  }

  private addRow(row: Row, colours: Theme, last: boolean): void {
    const head = document.createElement("div");
    head.className = "plot-head";
    const name = document.createElement("span");
    name.textContent = row.name;
    head.append(name);
    for (const trace of row.traces) {
      const chip = document.createElement("span");
      chip.className = "chip";
      chip.style.setProperty("--colour", trace.colour);
      const value = document.createElement("b");
      chip.append(`${trace.label} `, value);
      head.append(chip);
      this.values.push({ element: value, traces: [trace], words: row.words });
    }
    const box = document.createElement("div");
    box.className = "plot";
    this.element.append(head, box);
    const data = uPlot.join(row.traces.map((trace) => [trace.x, trace.y] as uPlot.AlignedData));
    const axis = { stroke: colours.quiet, grid: { stroke: colours.line, width: 0.5 }, ticks: { show: false } };
    const isState = row.words.length > 0;
    const places = row.words.map((_, place) => place);
    const ofStates = { splits: () => places, values: () => row.words, font: "7px sans-serif", space: 1 };
    const plot = new uPlot(
      {
        width: Math.max(box.clientWidth, 200),
        height: HEIGHT + (last ? 20 : 0),
        legend: { show: false },
        cursor: { show: false },
        padding: [5, 8, last ? 0 : 5, 0],
        scales: {
          x: { time: false, range: () => this.range },
          y: { range: (_u, low, high) => (isState ? [-0.5, places.length - 0.5] : spread(low, high, row.most)) },
        },
        series: [
          {},
          ...row.traces.map((trace) => ({
            label: trace.label,
            stroke: trace.colour,
            width: trace.width,
            spanGaps: false,
            points: { show: trace.points ?? false, size: 3, fill: trace.colour },
            paths: trace.points ? () => null : isState ? uPlot.paths.stepped!({ align: 1 }) : undefined,
          })),
        ],
        axes: [
          { ...axis, show: last, size: 20, gap: 2, values: (_u, ticks) => ticks.map((t) => `${t} s`) },
          { ...axis, size: 46, gap: 3, space: 26, ...(isState ? ofStates : {}) },
        ],
        hooks: { drawClear: [(u) => this.drawMarks(u, colours)] },
      },
      data,
      box,
    );
    const cursor = document.createElement("div");
    cursor.className = "cursor";
    plot.over.append(cursor);
    this.heads.push(cursor);
    this.plots.push(plot);
    this.listen(plot);
  }

  private drawMarks(u: uPlot, colours: Theme): void {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    for (const mark of this.marks) {
      if (mark.t_s < this.range[0] || mark.t_s > this.range[1]) continue;
      const x = Math.round(left + ((mark.t_s - this.range[0]) / (this.range[1] - this.range[0])) * width);
      u.ctx.fillStyle = mark.late > 0 ? colours.change : colours.line;
      u.ctx.fillRect(x, top, Math.max(1, devicePixelRatio), height);
    }
    u.ctx.restore();
  }

  private listen(plot: uPlot): void {
    const instant = (event: PointerEvent | WheelEvent): number => {
      const box = plot.over.getBoundingClientRect();
      const share = (event.clientX - box.left) / Math.max(box.width, 1);
      return this.range[0] + share * (this.range[1] - this.range[0]);
    };
    plot.over.style.touchAction = "pan-y";
    plot.over.addEventListener("pointerdown", (event) => {
      plot.over.setPointerCapture(event.pointerId);
      this.onSeek(instant(event));
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (plot.over.hasPointerCapture(event.pointerId)) this.onSeek(instant(event));
    });
    plot.over.addEventListener("dblclick", () => this.onSpan([0, this.end_s]));
    plot.over.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        const [t, factor] = [instant(event), Math.exp(0.002 * (event.deltaY || event.deltaX))];
        const begin = Math.max(t - (t - this.range[0]) * factor, 0);
        this.onSpan([begin, Math.min(Math.max(t + (this.range[1] - t) * factor, begin + 0.05), this.end_s)]);
      },
      { passive: false },
    );
  }

  /** Shows a time span, with the cursor at a time. */
  show(range: [number, number], t_s: number): void {
    const key = range.join();
    if (key !== this.shown) {
      this.shown = key;
      this.range = range;
      for (const plot of this.plots) plot.setScale("x", { min: range[0], max: range[1] });
    }
    const share = (t_s - range[0]) / (range[1] - range[0]);
    for (const [i, head] of this.heads.entries()) {
      head.hidden = share < 0 || share > 1;
      head.style.transform = `translateX(${share * this.plots[i].over.clientWidth}px)`;
    }
    for (const { element, traces, words } of this.values) {
      const [trace] = traces;
      const place = lastAt(trace.x, t_s);
      const y = place < 0 ? null : trace.y[place];
      const text = y === null || y === undefined ? "–" : (words[y] ?? shownNumber(y));
      if (element.textContent !== text) element.textContent = text;
    }
  }

  fit(): void {
    for (const [i, plot] of this.plots.entries()) {
      const width = plot.root.parentElement!.clientWidth;
      if (width !== plot.width) plot.setSize({ width, height: HEIGHT + (i === this.plots.length - 1 ? 20 : 0) });
    }
  }
}

function grid(run: Run, values: Int32Array, scale: number): { x: number[]; y: (number | null)[] } {
  const x = Array.from(values, (_, i) => Math.round(i * run.document.step_s * 1e6) / 1e6);
  return { x, y: Array.from(values, (value) => (value === MISSING ? null : value * scale)) };
}

/** Propagation delay of the round trip: the RTT without queues. */
function propagation(run: Run, flow: number, colour: string): Trace[] {
  const of = run.document.flows[Math.min(flow, run.document.flows.length - 1)];
  const values = of.rows["srtt_us"];
  if (values === undefined) return [];
  const { x } = grid(run, values, 1);
  const y = x.map((t) => {
    const [there, back] = [run.path(of.there, t), run.path(of.back, t)];
    if (there === null || back === null) return null;
    return [...there.delays_s, ...back.delays_s].reduce((a, b) => a + b, 0) * 1e3;
  });
  return [{ label: "without queues", colour, width: 1, x, y }];
}

function probes(run: Run, flow: number, colour: string, several: boolean): Trace[] {
  const of = run.document.flows[Math.min(flow, run.document.flows.length - 1)];
  if (of.probes === null) return [];
  const x = Array.from(of.probes.sent, (tick) => tick * run.document.tick_s);
  const y = Array.from(of.probes.took_us, (took) => (took === MISSING ? null : took / 1e3));
  const what = of.probes.is_round_trip ? "round trip" : "one way";
  return [{ label: several ? run.document.label : what, colour, width: 1, x, y, points: true }];
}

function fading(run: Run, colour: string, several: boolean): Trace[] {
  const found = run.document.fading;
  if (found === null) return [];
  const mean = { ...grid(run, found.mean_cdb, 1e-2), label: several ? run.document.label : "mean", colour, width: 1.1 };
  return several ? [mean] : [mean, { ...grid(run, found.smallest_cdb, 1e-2), label: "least", colour, width: 0.5 }];
}

function quantile(traces: Trace[], share: number): number {
  const known = traces.flatMap(({ y }) => y.filter((value): value is number => value !== null)).sort((a, b) => a - b);
  return known[Math.floor(share * (known.length - 1))] || Infinity;
}

function spread(low: number | null, high: number | null, most: number): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (high > most) return [0, most];
  const bottom = low >= 0 ? 0 : low * 1.05;
  return [bottom, high > bottom ? high + 0.06 * (high - bottom) : bottom + 1];
}

export function shownNumber(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size === Math.round(size) ? 0 : 2);
}

/** Changes of all runs, sorted by time. */
export function marksOf(runs: Run[]): Marks[] {
  const late = new Map<number, number>();
  for (const run of runs) {
    for (const change of run.changes) late.set(change.t_s, Math.max(late.get(change.t_s) ?? 0, change.late ?? 0));
  }
  return [...late].map(([t_s, count]) => ({ t_s, late: count })).sort((a, b) => a.t_s - b.t_s);
}

/** The most interesting time: two seconds before the change with the most late packets. */
export function firstInstant(marks: Marks[]): number {
  const best = marks.reduce<Marks | null>((most, mark) => (most === null || mark.late > most.late ? mark : most), null);
  return best === null ? 0 : Math.max(best.t_s - 2, 0);
}
