// SPDX-License-Identifier: Apache-2.0
// Legend of the load on the globe, and the sorted table beside it, whose rows select links and satellites.

import { CLASSES, inWords, type Load, type LoadRow, type Measure, measureNamed, MEASURES, sorted } from "./load";
import { LEAST_PX, MORE_PX } from "./loaddrawing";
import { heading, paragraph } from "./panel";
import type { Run } from "./run";
import type { Chosen } from "./side";

/** More rows than anyone reads, but few enough to be redrawn ten times per second. */
const MOST_ROWS = 40;
const HEADS: Record<Measure, string> = { busy: "busy", queue: "queue", drops: "drops" };

export interface LoadActs {
  measure(measure: Measure): void;
  link(a: string, b: string, t_s: number | null): void;
  satellite(name: string): void;
}

export class LoadBox {
  private what: "links" | "satellites" = "links";
  private when: "now" | "run" = "now";
  private key = "";

  constructor(
    private readonly box: HTMLElement,
    private readonly legend: HTMLElement,
    private readonly runs: Run[],
    private readonly acts: LoadActs,
  ) {}

  show(measure: Measure | null, t_s: number, chosen: Chosen): void {
    const loads = this.runs.filter((run) => run.load !== null);
    const parts = measure === null ? [] : loads.map((run) => ({ run, rows: this.rows(run.load!, measure, t_s) }));
    const key = JSON.stringify([measure, this.what, this.when, chosen, parts.map(({ rows }) => rows)]);
    if (key === this.key) return;
    this.key = key;
    this.box.hidden = this.legend.hidden = measure === null;
    if (measure === null) {
      this.box.replaceChildren();
      this.legend.replaceChildren();
      return;
    }
    const again = (): void => this.show(measure, t_s, chosen);
    const { step_s } = loads[0].load!;
    const second = step_s === 1 ? "this second" : `these ${step_s} s`;
    const top = document.createElement("div");
    top.className = "choices";
    top.append(
      choice("links", this.what === "links", () => ((this.what = "links"), again())),
      choice("satellites", this.what === "satellites", () => ((this.what = "satellites"), again())),
      choice(second, this.when === "now", () => ((this.when = "now"), again())),
      choice("whole run", this.when === "run", () => ((this.when = "run"), again())),
    );
    // Sorting and selecting keep the keyboard focus, so that keyboard users continue at the same element.
    const focus = this.box.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["focus"] : undefined;
    this.box.replaceChildren(heading("Load"), top);
    for (const { run, rows } of parts) {
      if (parts.length > 1) this.box.append(paragraph(run.document.label, "quiet"));
      this.box.append(this.table(run, rows, measure, chosen));
      const left = this.count(run.load!, t_s) - rows.length;
      if (left > 0) this.box.append(paragraph(`and ${left} more`, "quiet"));
    }
    if (focus !== undefined) this.box.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
    this.fillLegend(loads[0].load!, measure, second);
  }

  private all(load: Load, t_s: number): LoadRow[] {
    return (this.when === "now" ? load.at(t_s) : load.run)[this.what];
  }

  private count(load: Load, t_s: number): number {
    return this.all(load, t_s).length;
  }

  private rows(load: Load, measure: Measure, t_s: number): LoadRow[] {
    return sorted(this.all(load, t_s), measure).slice(0, MOST_ROWS);
  }

  private table(run: Run, rows: LoadRow[], measure: Measure, chosen: Chosen): HTMLElement {
    const frame = document.createElement("div");
    frame.className = "scroll loads";
    if (rows.length === 0) {
      frame.append(paragraph("No link carried anything.", "quiet"));
      return frame;
    }
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const first = document.createElement("th");
    first.textContent = this.what === "links" ? "link" : "satellite";
    head.append(first);
    for (const each of MEASURES) {
      const cell = document.createElement("th");
      if (each === measure) cell.setAttribute("aria-sort", "descending");
      const press = document.createElement("button");
      press.textContent = HEADS[each];
      press.dataset["focus"] = each;
      press.addEventListener("click", () => this.acts.measure(each));
      cell.append(press);
      head.append(cell);
    }
    const body = table.createTBody();
    for (const each of rows) {
      const row = body.insertRow();
      const { name, act, picked } = this.target(run, each, measure, chosen);
      row.className = picked ? "pick picked" : "pick";
      row.tabIndex = 0;
      row.dataset["focus"] = name;
      row.insertCell().textContent = name;
      for (const kind of MEASURES) row.insertCell().textContent = inWords(each[kind], kind) ?? "–";
      row.addEventListener("click", act);
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter") act();
      });
    }
    frame.append(table);
    return frame;
  }

  private target(run: Run, row: LoadRow, measure: Measure, chosen: Chosen): { name: string; act: () => void; picked: boolean } {
    if (this.what === "satellites") {
      const name = run.name(row.number);
      return { name, act: () => this.acts.satellite(name), picked: chosen.link === null && chosen.satellite === name };
    }
    const link = run.document.links[row.number];
    const [a, b] = [run.name(link.a), run.name(link.b)];
    // For the whole run, a row shows the time of its maximum.
    const act = (): void => this.acts.link(a, b, this.when === "run" ? run.load!.peak(row.number, measure) : null);
    return { name: `${a} → ${b}`, act, picked: chosen.link !== null && chosen.link[0] === a && chosen.link[1] === b };
  }

  private fillLegend(load: Load, measure: Measure, second: string): void {
    const words: Record<Measure, string> = {
      busy: `Busy: bits sent in ${second}, by when they left, of what the link's rate carries; a satellite: its busiest link.`,
      queue: `Queue: most packets waiting at once in ${second}; a satellite: its longest.`,
      drops: `Drops: packets that the link dropped in ${second}; a satellite: all its links.`,
    };
    const colours = ["path", "calm", "busy", "full"];
    const chips = colours.flatMap((colour, i) => {
      const text = span(CLASSES[i], CLASSES[i + 1], load.scale(measure), measure);
      if (text === null) return [];
      return [chipOf(colour, LEAST_PX + MORE_PX * CLASSES[i], text)];
    });
    if (measure !== "busy") chips.unshift(chipOf("quiet", 0.6, measure === "queue" ? "nothing waited" : "nothing dropped"));
    this.legend.replaceChildren(...chips, paragraph(words[measure]));
  }
}

/** Range of values of a colour as text; null: it contains no whole number of packets. */
function span(from: number, until: number, scale: number, measure: Measure): string | null {
  if (measure === "busy") return until < 1 ? `${100 * from} to ${100 * until} %` : `${100 * from} % and more`;
  const [least, most] = [Math.max(Math.ceil(from * scale), 1), until < 1 ? Math.ceil(until * scale) - 1 : scale];
  return most < least ? null : least === most ? `${least} pkts` : `${least} to ${most} pkts`;
}

function chipOf(colour: string, thick_px: number, text: string): HTMLElement {
  const chip = document.createElement("span");
  chip.className = "chip load-chip";
  chip.style.setProperty("--colour", `var(--${colour})`);
  chip.style.setProperty("--thick", `${thick_px.toFixed(1)}px`);
  chip.textContent = text;
  return chip;
}

function choice(text: string, on: boolean, act: () => void): HTMLButtonElement {
  const element = document.createElement("button");
  element.textContent = text;
  element.dataset["focus"] = text;
  element.setAttribute("aria-pressed", String(on));
  element.addEventListener("click", act);
  return element;
}

/** Selector of the measure; null: only the paths. */
export function loadChoice(choose: (measure: Measure | null) => void): HTMLSelectElement {
  const element = document.createElement("select");
  element.setAttribute("aria-label", "Load of all links");
  element.title = "What is shown of all links (b)";
  for (const [value, text] of [["", "paths"], ["busy", "load: busy"], ["queue", "load: queues"], ["drops", "load: drops"]]) {
    const option = document.createElement("option");
    [option.value, option.textContent] = [value, text];
    element.append(option);
  }
  element.addEventListener("change", () => choose(measureNamed(element.value)));
  return element;
}
