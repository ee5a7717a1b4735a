// SPDX-License-Identifier: Apache-2.0
// The column beside the globe: the current change, the hops of the path, the selected satellite or link.

import { inWords } from "./load";
import { type Cell, changeInWords, gapsInWords, heading, hopRows, linkRows, paragraph, seconds, table } from "./panel";
import type { Run } from "./run";

/** The user's selection; a link is identified by the names of its ends. */
export interface Chosen {
  satellite: string;
  link: [string, string] | null;
}

const MOST_FLOWS = 20;

type Box = "now" | "chosen" | "hops";

export class Side {
  constructor(
    private readonly runs: Run[],
    private readonly boxes: Record<Box, HTMLElement>,
    /** Word for a path change. */
    private readonly word: string,
    private readonly flowOf: (run: Run) => number,
    private readonly chooseLink: (a: string, b: string) => void,
    private readonly chooseFlow: (flow: number) => void,
  ) {}

  /** Shows the state at a time; returns the text's first line. `next_s`: time of the next path change; null: none. */
  show(t_s: number, chosen: Chosen, next_s: number | null): string {
    const lines = this.runs.map((run) => {
      const flow = run.document.flows[this.flowOf(run)];
      let place = run.changeAt(t_s);
      while (place >= 0 && run.changes[place].pair !== flow.there) place--;
      const prefix = this.runs.length > 1 ? `${run.document.label}. ` : "";
      const text = place < 0 ? `No ${this.word.toLowerCase()} yet.` : changeInWords(run.changes[place], this.word);
      return prefix + text;
    });
    for (const run of this.runs) lines.push(...gapsInWords(run, t_s));
    lines.push(next_s === null ? "" : `Next at ${seconds(next_s)}.`);
    this.fill("now", lines.join("\n"), () => lines.filter((text) => text !== "").map((text) => paragraph(text)));
    this.showHops(t_s);
    this.showChosen(t_s, chosen);
    return lines[0];
  }

  /** Replaces the content of a box only if it changes, so that text being read or clicked does not move. */
  private fill(name: Box, key: string, content: () => HTMLElement[]): void {
    const box = this.boxes[name];
    if (box.dataset["key"] === key) return;
    box.dataset["key"] = key;
    box.replaceChildren(...content());
  }

  private showHops(t_s: number): void {
    const run = this.runs[0];
    const { rows, directions } = hopRows(run, run.document.flows[this.flowOf(run)].there, t_s);
    this.fill("hops", JSON.stringify(rows), () => {
      const hops = table(["hop", "ms", "waiting"], rows, (row) => {
        const link = run.document.links[directions[row]];
        if (link !== undefined) this.chooseLink(run.name(link.a), run.name(link.b));
      });
      return [heading(this.runs.length > 1 ? `Path of ${run.document.label}` : "Path"), hops];
    });
  }

  private showChosen(t_s: number, { satellite, link }: Chosen): void {
    const content: HTMLElement[] = [];
    for (const run of this.runs) {
      const name = this.runs.length > 1 ? `${run.document.label}: ` : "";
      const direction = link === null ? -1 : run.direction(...link);
      const number = satellite === "" ? -1 : run.satellite(satellite);
      if (link !== null && direction >= 0) {
        content.push(heading(`${name}${link[0]} → ${link[1]}`), table([], linkRows(run, direction, t_s)));
        if (run.document.flows.length > 1) content.push(...this.flowsOn(run, direction, t_s));
      } else if (link === null && number >= 0) {
        content.push(heading(`${name}${satellite}`), ...this.aboutSatellite(run, number, t_s));
      }
    }
    this.fill("chosen", content.map((element) => element.textContent).join("\n"), () => content);
  }

  /** Names of the flows over a link, each linked to its traces. */
  private flowsOn(run: Run, direction: number, t_s: number): HTMLElement[] {
    const flows = run.flowsOn(direction, t_s).slice(0, MOST_FLOWS);
    if (flows.length === 0) return [];
    return [table(["flows on it now"], flows.map((flow) => [run.flowName(flow)]), (row) => this.chooseFlow(flows[row]))];
  }

  private aboutSatellite(run: Run, satellite: number, t_s: number): HTMLElement[] {
    const places = run.sky!.at(t_s);
    const [x, y, z] = places.subarray(3 * satellite, 3 * satellite + 3);
    const radius = Math.hypot(x, y, z);
    const lat = (Math.asin(z / radius) * 180) / Math.PI;
    const lon = (Math.atan2(y, x) * 180) / Math.PI;
    const height_km = ((radius - 1) * run.sky!.document.radius_m) / 1e3;
    const where = `${Math.abs(lat).toFixed(1)}° ${lat < 0 ? "S" : "N"}, ${Math.abs(lon).toFixed(1)}° ${lon < 0 ? "W" : "E"}, ${height_km.toFixed(0)} km`;
    const mine = run.document.links.map((link, direction) => ({ link, direction })).filter(({ link }) => link.a === satellite);
    if (mine.length === 0) return [paragraph(where), paragraph("No path of this run ever used it.", "quiet")];
    const rows = mine.map(({ link, direction }): Cell[] => {
      const busy = run.load === null ? null : inWords(run.load.of(direction, t_s).busy, "busy");
      return [run.name(link.b), busy, run.queue(direction, t_s), run.dropped(direction, t_s), link.delivered_pkts ?? null];
    });
    const links = table(["link to", "busy", "waiting", "dropped", "carried, run"], rows, (row) =>
      this.chooseLink(run.name(mine[row].link.a), run.name(mine[row].link.b)),
    );
    return [paragraph(where), links];
  }
}
