// SPDX-License-Identifier: Apache-2.0
// Texts of the page: the current change, the path hop by hop, the selected satellite or link.

import { make } from "./elements";
import { inWords } from "./load";
import type { Change, Run } from "./run";

export type Cell = string | number | null;

/** A table; texts are inserted as text nodes, so that names cannot become markup. */
export function table(head: string[], rows: Cell[][], onRow?: (row: number) => void): HTMLTableElement {
  const element = document.createElement("table");
  const line = (cells: Cell[], kind: "th" | "td"): HTMLTableRowElement => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const box = document.createElement(kind);
      box.textContent = cell === null ? "–" : String(cell);
      row.append(box);
    }
    return row;
  };
  if (head.length > 0) element.createTHead().append(line(head, "th"));
  const body = element.createTBody();
  rows.forEach((cells, i) => {
    const row = line(cells, "td");
    if (onRow !== undefined) {
      row.className = "pick";
      row.tabIndex = 0;
      row.addEventListener("click", () => onRow(i));
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter") onRow(i);
      });
    }
    body.append(row);
  });
  return element;
}

export function paragraph(text: string, name = ""): HTMLElement {
  const element = document.createElement("p");
  element.className = name;
  element.textContent = text;
  return element;
}

export function heading(text: string): HTMLElement {
  const element = document.createElement("h2");
  element.textContent = text;
  return element;
}

/** Meanings of the packets' colours. */
export function fillLegend(legend: HTMLElement): void {
  const kinds: [string, string][] = [
    ["packet", "left on the path in force"], ["packet-old", "left on another"], ["late", "will come late"],
    ["again", "sent again"], ["ack", "ACK, reply"], ["lost", "× lost here"],
  ]; // prettier-ignore
  for (const [name, text] of kinds) {
    const chip = document.createElement("span");
    chip.className = "chip";
    chip.style.setProperty("--colour", `var(--${name})`);
    chip.textContent = text;
    legend.append(chip);
  }
}

/** Legend for links in a gap, dishes that hold, and links that are being acquired; only for runs with any of these. */
export function fillGapLegend(parent: HTMLElement, runs: Run[]): void {
  const ever = runs.map((run) => run.interrupted);
  const chips: [string, string, boolean][] = [
    ["dashed", "link in a gap", ever.some(({ gaps }) => gaps)],
    ["ring", "dish on hold", ever.some(({ holds }) => holds)],
    ["dashed thin", "laser being acquired, if all links are shown", ever.some(({ acquired }) => acquired)],
  ];
  if (!chips.some(([, , shown]) => shown)) return;
  const legend = make("p", "legend", parent);
  for (const [kind, text, shown] of chips) {
    if (!shown) continue;
    const chip = document.createElement("span");
    chip.className = `chip ${kind}`;
    chip.style.setProperty("--colour", "var(--gap)");
    chip.textContent = text;
    legend.append(chip);
  }
}

/** Links in a gap and dishes that hold, in a sentence each. */
export function gapsInWords(run: Run, t_s: number): string[] {
  return run.gaps(t_s).map(({ a, b, end_s }) => {
    const what = a === b ? `The dish of ${run.name(a)} holds` : `The link ${run.name(a)} - ${run.name(b)} is in a gap`;
    return `${what} until ${seconds(end_s)}.`;
  });
}

/** Kind and effects of a change, in a sentence or two. */
export function changeInWords(change: Change, word: string): string {
  const ms = (value: number | null): string => (value === null ? "no path" : `${value.toFixed(2)} ms`);
  const [before, after] = [change.before_ms, change.after_ms];
  const step = before === null || after === null ? "" : after < before ? ", a shorter path" : after > before ? ", a longer path" : "";
  const counts = [
    count(change.late, "late"),
    count(change.lost, "lost"),
    count(change.again, "sent again") + (change.vain ? ` (${change.vain} spurious)` : ""),
    change.left ? `${change.left} waited on the links it left` : "",
  ].filter((text) => text !== "");
  const done = counts.length === 0 ? "Nothing came late or was lost." : `Until the next, at most 5 s: ${counts.join(", ")}.`;
  return `${word} at ${seconds(change.t_s)}: ${ms(before)} → ${ms(after)}${step}. ${done}`;
}

function count(value: number | null, what: string): string {
  return value ? `${value} ${what}` : "";
}

export function seconds(t_s: number): string {
  return `${Number(t_s.toFixed(3))} s`;
}

/** Delay and queues of the current path, and its number of packets in flight; null: unknown at this time. */
export function pathInWords(run: Run, pair: number, t_s: number, underWay: { there: number; back: number } | null): string {
  const way = run.path(pair, t_s);
  if (way === null) return "no path";
  const queued = way.path.links.reduce((sum, each) => sum + run.queue(each, t_s), 0);
  const counts = underWay === null ? "" : `, under way: ${underWay.there} there, ${underWay.back} back`;
  return `${(way.delays_s.reduce((a, b) => a + b, 0) * 1e3).toFixed(2)} ms, ${queued} waiting${counts}`;
}

/** Each hop of the current path: from, to, delay, waiting packets. */
export function hopRows(run: Run, pair: number, t_s: number): { rows: Cell[][]; directions: number[] } {
  const way = run.path(pair, t_s);
  if (way === null) return { rows: [], directions: [] };
  const { path, delays_s } = way;
  const direct = path.links.length === path.nodes.length - 1;
  const rows = path.links.map((direction, link): Cell[] => {
    const ends = run.document.links[direction];
    const [a, b] = direct || ends === undefined ? [path.nodes[link], path.nodes[link + 1]] : [ends.a, ends.b];
    const waiting = direction < 0 ? null : run.queue(direction, t_s);
    return [`${run.name(a)} → ${run.name(b)}`, (delays_s[link] * 1e3).toFixed(2), waiting];
  });
  return { rows, directions: path.links };
}

const MOST_NUMBERS = 6;

/** All known facts about a direction of a link. */
export function linkRows(run: Run, direction: number, t_s: number): Cell[][] {
  const link = run.document.links[direction];
  const lost = run.document.drops;
  const flows = run.flowsOn(direction, t_s);
  const load = run.load?.of(direction, t_s) ?? null;
  const back = run.load === null ? -1 : run.direction(run.name(link.b), run.name(link.a));
  const second = run.load === null || run.load.step_s === 1 ? "this second" : `these ${run.load.step_s} s`;
  const ofLoad: Cell[][] = load === null ? [] : [
    [`busy, ${second}`, inWords(load.busy, "busy")],
    [`busy the other way, ${second}`, back < 0 ? null : inWords(run.load!.of(back, t_s).busy, "busy")],
    [`longest queue, ${second}`, load.queue],
    [`dropped, ${second}`, load.drops],
  ]; // prettier-ignore
  return [
    ...ofLoad,
    ["waiting now", `${run.queue(direction, t_s)} of ${link.limit_pkts ?? "any number of"} packets`],
    ["most at once, whole run", link.queue_max_pkts ?? null],
    ["dropped until now", lost.of > lost.t.length ? `at least ${run.dropped(direction, t_s)}` : run.dropped(direction, t_s)],
    ["carried, whole run", link.delivered_pkts ?? null],
    ["dropped, whole run", [link.dropped_queue_pkts, link.dropped_loss_pkts, link.dropped_down_pkts]
      .reduce<number | null>((sum, x) => (x === null || x === undefined ? sum : (sum ?? 0) + x), null)],
    ["flows on it now", flows.length === 0 ? "none" : flows.length > MOST_NUMBERS ? `${flows.length}` : flows.join(", ")],
  ]; // prettier-ignore
}

/** Fills the head of the page: the runs and their warnings. */
export function fillTop(top: HTMLElement, runs: Run[]): void {
  const first = runs[0].document;
  make("h1", "", top).textContent = [...new Set(runs.map(({ document: d }) => d.name))].join(", ");
  const about = make("p", "about", top);
  about.textContent = `${first.flows.length} flow${first.flows.length > 1 ? "s" : ""}, ${seconds(first.end_s)}` +
    ` · seed ${first.seed} · Linux ${first.kernel} · leowarp ${first.leowarp}`; // prettier-ignore
  const warnings = runs.flatMap(({ document: d }) => d.warnings.map((text) => (runs.length > 1 ? `${d.label}: ${text}` : text)));
  if (warnings.length === 0) return;
  const box = make("details", "warnings", top);
  make("summary", "", box).textContent = `Check before you trust the result (${warnings.length})`;
  for (const text of warnings) box.append(paragraph(text));
}

/** The drawing style of packets. */
export function footnote(): HTMLElement {
  return paragraph(
    "Where a packet is between leaving and arriving is drawn, not measured: it moves with the delays of its links " +
      "and waits where its path had queues when it left. When it left and arrived, by which path, and what became " +
      "of it is the trace's. Packets are held only around changes (blue below the bar). Land: Natural Earth.",
  );
}
