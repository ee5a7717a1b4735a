// SPDX-License-Identifier: Apache-2.0
// The control bar: play, jump, speed, flow, load, time, and the selection of the drawn elements.

import type { Clock, Speed } from "./clock";
import { make, makeButton, makeChoice, makeTick } from "./elements";
import type { Measure } from "./load";
import { loadChoice } from "./loadbox";
import type { Shown } from "./pane";
import type { Marks } from "./plots";
import type { Run } from "./run";
import { Scrubber } from "./scrubber";
import type { Theme } from "./theme";

export const SPEEDS: Speed[] = ["auto", 0.005, 0.02, 0.1, 1, 10, 60];

export interface BarActs {
  toggle(): void;
  jump(step: 1 | -1): void;
  speed(speed: Speed): void;
  flow(flow: number): void;
  load(measure: Measure | null): void;
  scrub(t_s: number): void;
  changed(): void;
  recolour(): void;
}

export class Bar {
  private readonly play: HTMLButtonElement;
  private readonly time: HTMLOutputElement;
  private readonly speed: HTMLSelectElement;
  private readonly flow: HTMLSelectElement | null = null;
  private readonly load: HTMLSelectElement | null = null;
  private readonly scrubber: Scrubber;
  private readonly ticks: Partial<Record<keyof Shown, HTMLInputElement>> = {};

  /** `word`: the word for a path change. */
  constructor(
    bar: HTMLElement,
    runs: Run[],
    private readonly clock: Clock,
    marks: Marks[],
    word: string,
    private readonly show: Shown,
    acts: BarActs,
  ) {
    this.play = makeButton(bar, "▶", "Play or pause (space)", () => acts.toggle());
    this.play.classList.add("play");
    makeButton(bar, "◀ change", `${word} before (left arrow)`, () => acts.jump(-1)).disabled = marks.length === 0;
    makeButton(bar, "change ▶", `Next ${word.toLowerCase()} (right arrow)`, () => acts.jump(1)).disabled = marks.length === 0;
    this.time = make("output", "time", bar);
    const speeds = SPEEDS.map((each): [string, string] => [String(each), each === "auto" ? "slow at changes" : `${each} ×`]);
    this.speed = makeChoice(bar, "", "Speed", speeds, (value) => acts.speed(value === "auto" ? "auto" : Number(value)));
    this.speed.title = "Speed (+ and -)";
    const flows = runs[0].document.flows;
    if (flows.length > 1) {
      const names = flows.map((_, number): [string, string] => [String(number), runs[0].flowName(number)]);
      this.flow = makeChoice(bar, "flow", "Flow", names, (value) => acts.flow(Number(value)));
    }
    if (runs.some((run) => run.load !== null && run.sky !== null)) {
      this.load = bar.appendChild(loadChoice((measure) => acts.load(measure)));
    }
    const scrub = make("canvas", "scrub", bar);
    scrub.setAttribute("role", "slider");
    scrub.setAttribute("aria-label", "Time, s");
    scrub.setAttribute("aria-valuemin", "0");
    scrub.setAttribute("aria-valuemax", String(clock.end_s));
    const windows = runs[0].document.packets?.windows ?? [];
    this.scrubber = new Scrubber(scrub, clock.end_s, marks, windows, (t) => acts.scrub(t));
    const options: [keyof Shown, string, boolean][] = [
      ["links", "all links (l)", runs.some((run) => run.sky?.document.links)],
      ["names", "names (n)", runs.some((run) => run.sky !== null)],
      ["night", "night (d)", runs.some((run) => run.sky !== null)],
      ["flows", "all flows (f)", flows.length > 1],
    ] as [keyof Shown, string, boolean][];
    for (const [key, text, useful] of options) {
      if (!useful) continue;
      this.ticks[key] = makeTick(bar, text, show[key], (ticked) => {
        show[key] = ticked;
        acts.changed();
      });
    }
    makeButton(bar, "◐", "Light or dark", () => {
      const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
      document.documentElement.dataset["theme"] = dark ? "light" : "dark";
      acts.recolour();
    });
  }

  /** Whether the page has load data to choose from. */
  get hasLoad(): boolean {
    return this.load !== null;
  }

  setSpeed(speed: Speed): void {
    this.speed.value = String(speed);
  }

  setFlow(flow: number): void {
    if (this.flow !== null) this.flow.value = String(flow);
  }

  setLoad(measure: Measure | null): void {
    if (this.load !== null) this.load.value = measure ?? "";
  }

  flip(key: keyof Shown): void {
    const tick = this.ticks[key];
    if (tick !== undefined) this.show[key] = tick.checked = !this.show[key];
  }

  draw(range: [number, number], colours: Theme): void {
    const { t_s, playing } = this.clock;
    this.scrubber.draw(t_s, range, colours);
    const sign = playing ? "❚❚" : "▶";
    if (this.play.textContent !== sign) this.play.textContent = sign;
    const rate = this.clock.rate();
    const digits = rate < 0.5 || !playing ? 3 : rate < 5 ? 2 : 1;
    this.time.textContent = `${t_s.toFixed(digits)} s · ${rate >= 1 ? rate.toFixed(0) : rate.toPrecision(1)} ×`;
  }
}
