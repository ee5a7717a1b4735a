// SPDX-License-Identifier: Apache-2.0
// Table of all changes of the chosen flow's path; with several runs, the effects of each change in every run.

import { heading, table } from "./panel";
import type { Run } from "./run";

const MOST_ROWS = 2000;

export function changesTable(runs: Run[], flowOf: (run: Run) => number, name: string, seek: (t_s: number) => void): HTMLElement[] {
  const run = runs[0];
  const there = run.document.flows[flowOf(run)]?.there;
  const mine = run.changes.filter((change) => change.pair === there);
  if (mine.length === 0) return [];
  const several = runs.length > 1;
  const head = several ? ["at, s", ...runs.map(({ document: d }) => `late, ${d.label}`)] : ["at, s", "ms", "late", "lost", "spurious"];
  const rows = mine.slice(0, MOST_ROWS).map((change) =>
    several
      ? [change.t_s, ...runs.map((each) => each.changes.find(({ t_s, pair }) => t_s === change.t_s && pair === change.pair)?.late ?? null)]
      : [change.t_s, `${change.before_ms?.toFixed(1) ?? "–"} → ${change.after_ms?.toFixed(1) ?? "–"}`, change.late, change.lost, change.vain],
  );
  const frame = document.createElement("div");
  frame.className = "scroll";
  frame.append(table(head, rows, (row) => seek(mine[row].t_s)));
  return [heading(name), frame];
}
