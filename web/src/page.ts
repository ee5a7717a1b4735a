// SPDX-License-Identifier: Apache-2.0
// The page: one clock, and what stands where it does.

import { Clock, type Speed } from "./clock";
import type { PageDocument } from "./document";
import { type Camera, Globe } from "./globe";
import { readView, type View, writtenView } from "./hash";
import { BACK, PacketsOf, type UnderWay } from "./packets";
import { fillLegend, heading, paragraph, pathInWords, seconds, table } from "./panel";
import { type Marks, Plots } from "./plots";
import { Run } from "./run";
import { Scrubber } from "./scrubber";
import { Side } from "./side";
import { wrapped } from "./sky";
import { SkyView } from "./skyview";
import { Strip } from "./strip";
import { type Theme, theme } from "./theme";

const SPEEDS: Speed[] = ["auto", 0.005, 0.02, 0.1, 1, 10, 60];
/** How often the address is written while the page is used. */
const HASH_MS = 500;
const LOST_S = 0.03;
const REACH_PX = 14;
/** At first a path fills so much of the globe's radius, if the zoom lets it. */
const FILLED = 0.75;
const LEAST_ZOOM = 1.1;
const MOST_ZOOM = 3;

interface Pane {
  run: Run;
  packets: PacketsOf;
  globe: Globe | null;
  sky: SkyView | null;
  strip: Strip;
  readout: HTMLElement;
}

export class Page {
  readonly clock: Clock;
  readonly runs: Run[];
  private readonly panes: Pane[] = [];
  private readonly camera: Camera = { lon: 0, lat: 0, zoom: 1 };
  private colours: Theme;
  private flow = 0;
  private satellite = "";
  private link: [string, string] | null = null;
  private readonly show = { links: false, names: true, night: true, flows: false };
  /** Length of the span that the plots show around the clock; 0: the whole run. */
  private span_s = 0;
  private range: [number, number];
  private plots!: Plots;
  private scrubber!: Scrubber;
  private side!: Side;
  private dirty = true;
  private wall_ms = 0;
  private hashed_ms = 0;
  private worded_ms = 0;
  private told = "";
  private readonly marks: Marks[];
  private readonly parts: Record<string, HTMLElement> = {};
  /** Frames that were drawn, and how long drawing them took: for measurements. */
  readonly frames = { count: 0, drawing_ms: 0, first_ms: 0 };

  constructor(
    private readonly root: HTMLElement,
    document_: PageDocument,
  ) {
    this.runs = document_.runs.map((run, number) => new Run(run, number));
    const late = new Map<number, number>();
    for (const run of this.runs) {
      for (const change of run.changes) late.set(change.t_s, Math.max(late.get(change.t_s) ?? 0, change.late ?? 0));
    }
    this.marks = [...late].map(([t_s, count]) => ({ t_s, late: count })).sort((a, b) => a.t_s - b.t_s);
    const end_s = Math.max(...this.runs.map((run) => run.document.end_s));
    this.clock = new Clock(end_s, this.marks.map(({ t_s }) => t_s)); // prettier-ignore
    this.range = [0, end_s];
    this.colours = theme();
  }

  // --- what others may ask and tell: tests, and whoever has the page in another ---

  seek(t_s: number): void {
    this.clock.seek(t_s);
    this.changed();
  }

  play(): void {
    if (this.clock.t_s >= this.clock.end_s) this.clock.seek(0);
    this.clock.playing = true;
    this.changed();
  }

  pause(): void {
    this.clock.playing = false;
    this.changed();
    this.writeHash(true);
  }

  /** What the page shows of a run, at the instant of the clock. */
  state(number = 0) {
    const { run, packets } = this.panes[number];
    const t_s = this.clock.t_s;
    const flow = run.document.flows[this.flowOf(run)];
    const way = run.path(flow.there, t_s);
    const under = packets.underWay(t_s);
    return {
      t_s,
      playing: this.clock.playing,
      rate: this.clock.rate(),
      flow: this.flow,
      satellite: this.satellite,
      link: this.link,
      path: way === null ? null : way.path.nodes.map((node) => run.name(node)),
      delay_ms: way === null ? null : way.delays_s.reduce((a, b) => a + b, 0) * 1e3,
      queues: way === null ? [] : way.path.links.map((direction) => run.queue(direction, t_s)),
      packets_known: packets.known(t_s),
      packets: under.map((index) => ({
        sent_s: run.document.packets!.sent[index] * run.document.tick_s,
        flags: run.document.packets!.flags[index],
        flow: run.document.packets!.flow[index],
      })),
      range: this.range,
    };
  }

  /** Where satellites are on the globe of a run, px of its canvas, by name. */
  places(number = 0): Record<string, { x: number; y: number; visible: boolean }> {
    this.drawNow();
    const { run, globe } = this.panes[number];
    if (globe === null) return {};
    return Object.fromEntries(
      run.document.sky!.satellites.map((name, satellite) => [name, globe.place(satellite)]),
    );
  }

  look(lon: number, lat: number, zoom: number): void {
    Object.assign(this.camera, { lon: wrapped(lon), lat: Math.min(Math.max(lat, -90), 90), zoom: Math.min(Math.max(zoom, 0.6), 12) });
    this.changed();
  }

  drawNow(): void {
    this.dirty = true;
    this.draw();
  }

  // --- start ---

  start(): void {
    this.build();
    const view = readView(location.hash);
    this.lookAtPath();
    this.clock.seek(this.firstInstant());
    this.restore(view);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.clock.playing = view.play ?? (view.t === undefined && !still);
    this.changed();
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.told) this.restore(readView(location.hash));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new ResizeObserver(() => {
      this.plots.fit();
      this.changed();
    }).observe(this.root);
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Two seconds before the change with the most late packets: there is the most to see. */
  private firstInstant(): number {
    const best = this.marks.reduce<Marks | null>((most, mark) => (most === null || mark.late > most.late ? mark : most), null);
    return best === null ? 0 : Math.max(best.t_s - 2, 0);
  }

  private restore(view: View): void {
    if (view.t !== undefined) this.clock.seek(view.t);
    if (view.flow !== undefined && this.runs[0].document.flows[view.flow] !== undefined) this.chooseFlow(view.flow);
    if (view.sat !== undefined) this.chooseSatellite(view.sat);
    if (view.link !== undefined) {
      const ends = view.link.split(">");
      if (ends.length === 2) this.chooseLink(ends[0], ends[1]);
    }
    if (view.speed !== undefined) {
      const speed = view.speed === "auto" ? "auto" : Number(view.speed);
      if (SPEEDS.includes(speed)) this.setSpeed(speed);
    }
    if (view.span !== undefined && view.span >= 0) this.setSpan(view.span);
    if (view.lon !== undefined && view.lat !== undefined) this.look(view.lon, view.lat, view.zoom ?? 1);
    this.changed();
  }

  private lookAtPath(): void {
    const run = this.runs[0];
    if (run.sky === null) return;
    const places = run.sky.at(0);
    const way = run.path(run.document.flows[0]?.there ?? 0, this.firstInstant());
    const nodes = way?.path.drawn ?? [];
    const middle = [0, 0, 0];
    for (const node of nodes) for (const axis of [0, 1, 2]) middle[axis] += places[3 * node + axis];
    if (Math.hypot(...middle) < 1e-6) middle[0] = 1;
    const lon = (Math.atan2(middle[1], middle[0]) * 180) / Math.PI;
    const lat = (Math.atan2(middle[2], Math.hypot(middle[0], middle[1])) * 180) / Math.PI;
    // As near as the path fits: sin is what an orthographic projection makes of an angle.
    const length = Math.hypot(...middle);
    const widest = Math.max(
      ...nodes.map((node) => {
        const place = [0, 1, 2].map((axis) => places[3 * node + axis]);
        const along = place.reduce((sum, x, axis) => sum + (x * middle[axis]) / length, 0);
        return Math.sqrt(Math.max(place.reduce((sum, x) => sum + x * x, 0) - along * along, 0));
      }),
      0.1,
    );
    this.look(lon, lat * 0.85, Math.min(Math.max(FILLED / widest, LEAST_ZOOM), MOST_ZOOM));
  }

  // --- elements ---

  private build(): void {
    const make = <K extends keyof HTMLElementTagNameMap>(tag: K, name: string, parent: HTMLElement): HTMLElementTagNameMap[K] => {
      const element = document.createElement(tag);
      element.className = name;
      parent.append(element);
      return element;
    };
    this.root.replaceChildren();
    const top = make("header", "top", this.root);
    const first = this.runs[0].document;
    make("h1", "", top).textContent = [...new Set(this.runs.map(({ document: d }) => d.name))].join(", ");
    const about = make("p", "about", top);
    about.textContent = `${first.flows.length} flow${first.flows.length > 1 ? "s" : ""}, ${seconds(first.end_s)}` +
      ` · seed ${first.seed} · Linux ${first.kernel} · leowarp ${first.leowarp}`; // prettier-ignore
    const warnings = this.runs.flatMap(({ document: d }) => d.warnings.map((text) => (this.runs.length > 1 ? `${d.label}: ${text}` : text)));
    if (warnings.length > 0) {
      const box = make("details", "warnings", top);
      make("summary", "", box).textContent = `Check before you trust the result (${warnings.length})`;
      for (const text of warnings) box.append(paragraph(text));
    }
    const bar = make("div", "bar", this.root);
    const stage = make("div", "stage", this.root);
    const left = make("div", "left", stage);
    const views = make("div", "views", left);
    const strips = make("div", "strips", left);
    const side = make("aside", "side", stage);
    const boxes = { now: make("div", "now", side), chosen: make("div", "chosen", side), hops: make("div", "hops", side) };
    const chooseLink = (a: string, b: string): void => this.chooseLink(a, b);
    this.side = new Side(this.runs, boxes, this.word(), (run) => this.flowOf(run), chooseLink);
    this.parts["changes"] = make("div", "changes", side);
    this.runs.forEach((run) => this.panes.push(this.pane(run, views, make)));
    for (const pane of this.panes) strips.append(pane.strip.canvas.parentElement!);
    if (this.runs.some((run) => run.document.packets !== null)) fillLegend(make("p", "legend", strips));
    const spans = make("div", "spans", this.root);
    const box = make("div", "plots", this.root);
    this.plots = new Plots(box, this.runs, this.clock.end_s, this.marks, (t) => this.scrub(t), (range) => this.setRange(range)); // prettier-ignore
    this.buildBar(bar, make);
    this.buildSpans(spans, make);
    this.plots.build(this.flow, this.colours);
    this.buildChanges();
    const foot = make("footer", "foot", this.root);
    foot.append(
      paragraph(
        "Where a packet is between leaving and arriving is drawn, not measured: it moves with the delays of its links " +
          "and waits where its path had queues when it left. When it left and arrived, by which path, and what became " +
          "of it is the trace's. Packets are held only around changes (blue below the bar). Land: Natural Earth.",
      ),
    );
    this.parts["live"] = make("div", "unseen", this.root);
    this.parts["live"].setAttribute("aria-live", "polite");
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private pane(run: Run, views: HTMLElement, make: any): Pane {
    const frame = make("figure", "pane", views) as HTMLElement;
    const colour = this.colours.runs[run.number % this.colours.runs.length];
    const caption = make("figcaption", "", frame) as HTMLElement;
    const name = make("b", "", caption) as HTMLElement;
    name.textContent = run.document.label;
    if (this.runs.length > 1) name.style.color = colour;
    const readout = make("span", "readout", caption) as HTMLElement;
    let globe: Globe | null = null;
    let sky: SkyView | null = null;
    if (run.sky !== null) {
      const canvas = make("canvas", "globe", frame) as HTMLCanvasElement;
      canvas.setAttribute("role", "img");
      canvas.tabIndex = 0;
      globe = new Globe(canvas, run);
      this.listen(canvas, globe, run);
      if (run.document.medium === "access") {
        const above = make("canvas", "sky", frame) as HTMLCanvasElement;
        above.setAttribute("role", "img");
        above.setAttribute("aria-label", "The sky above the dish: satellites by azimuth and elevation");
        sky = new SkyView(above, run);
      }
    }
    const stripBox = document.createElement("div");
    stripBox.className = "strip";
    if (this.runs.length > 1) make("b", "strip-name", stripBox).textContent = run.document.label;
    const canvas = make("canvas", "", stripBox) as HTMLCanvasElement;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The path hop by hop: links, queues, packets");
    const strip = new Strip(canvas, run);
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const direction = strip.directionAt(event.clientX - box.left, event.clientY - box.top);
      const link = run.document.links[direction];
      if (link !== undefined) this.chooseLink(run.name(link.a), run.name(link.b));
    });
    return { run, packets: new PacketsOf(run), globe, sky, strip, readout };
  }

  private buildBar(bar: HTMLElement, make: any): void {
    const button = (text: string, title: string, act: () => void): HTMLButtonElement => {
      const element = make("button", "", bar) as HTMLButtonElement;
      element.textContent = text;
      element.title = title;
      element.setAttribute("aria-label", title);
      element.addEventListener("click", act);
      return element;
    };
    const word = this.word();
    this.parts["play"] = button("▶", "Play or pause (space)", () => this.toggle());
    this.parts["play"].classList.add("play");
    button("◀ change", `${word} before (left arrow)`, () => this.jump(-1)).disabled = this.marks.length === 0;
    button("change ▶", `Next ${word.toLowerCase()} (right arrow)`, () => this.jump(1)).disabled = this.marks.length === 0;
    this.parts["time"] = make("output", "time", bar);
    const speed = make("select", "", bar) as HTMLSelectElement;
    speed.title = "Speed (+ and -)";
    speed.setAttribute("aria-label", "Speed");
    for (const each of SPEEDS) {
      const option = make("option", "", speed) as HTMLOptionElement;
      option.value = String(each);
      option.textContent = each === "auto" ? "slow at changes" : `${each} ×`;
    }
    speed.addEventListener("change", () => this.setSpeed(speed.value === "auto" ? "auto" : Number(speed.value)));
    this.parts["speed"] = speed;
    const flows = this.runs[0].document.flows;
    if (flows.length > 1) {
      const choice = make("select", "flow", bar) as HTMLSelectElement;
      choice.setAttribute("aria-label", "Flow");
      flows.forEach((_, number) => {
        const option = make("option", "", choice) as HTMLOptionElement;
        option.value = String(number);
        option.textContent = this.runs[0].flowName(number);
      });
      choice.addEventListener("change", () => this.chooseFlow(Number(choice.value)));
      this.parts["flow"] = choice;
    }
    const scrub = make("canvas", "scrub", bar) as HTMLCanvasElement;
    scrub.setAttribute("role", "slider");
    scrub.setAttribute("aria-label", "Time, s");
    scrub.setAttribute("aria-valuemin", "0");
    scrub.setAttribute("aria-valuemax", String(this.clock.end_s));
    const windows = this.runs[0].document.packets?.windows ?? [];
    this.scrubber = new Scrubber(scrub, this.clock.end_s, this.marks, windows, (t) => this.scrub(t));
    const options: [keyof typeof this.show, string, boolean][] = [
      ["links", "all links (l)", this.runs.some((run) => run.sky?.document.links)],
      ["names", "names (n)", this.runs.some((run) => run.sky !== null)],
      ["night", "night (d)", this.runs.some((run) => run.sky !== null)],
      ["flows", "all flows (f)", flows.length > 1],
    ] as [keyof typeof this.show, string, boolean][];
    for (const [key, text, useful] of options) {
      if (!useful) continue;
      const box = make("label", "option", bar) as HTMLLabelElement;
      const input = make("input", "", box) as HTMLInputElement;
      input.type = "checkbox";
      input.checked = this.show[key];
      input.addEventListener("change", () => {
        this.show[key] = input.checked;
        this.changed();
      });
      box.append(` ${text}`);
      this.parts[`show-${key}`] = input;
    }
    button("◐", "Light or dark", () => {
      const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
      document.documentElement.dataset["theme"] = dark ? "light" : "dark";
      this.recolour();
    });
  }

  private buildSpans(spans: HTMLElement, make: any): void {
    const text = make("span", "", spans) as HTMLElement;
    text.textContent = "Traces over";
    for (const [span_s, name] of [[0, "the run"], [60, "60 s"], [10, "10 s"], [2, "2 s"]] as const) {
      if (span_s >= this.clock.end_s) continue;
      const button = make("button", "", spans) as HTMLButtonElement;
      button.textContent = name;
      button.dataset["span"] = String(span_s);
      button.addEventListener("click", () => this.setSpan(span_s));
    }
    const hint = make("span", "hint", spans) as HTMLElement;
    hint.textContent = "drag: cursor · Ctrl + wheel: zoom · double-click: the run";
  }

  private buildChanges(): void {
    const box = this.parts["changes"];
    box.replaceChildren();
    const run = this.runs[0];
    const there = run.document.flows[this.flowOf(run)]?.there;
    const mine = run.changes.filter((change) => change.pair === there);
    if (mine.length === 0) return;
    box.append(heading(`${this.word()}s`));
    const several = this.runs.length > 1;
    const head = several ? ["at, s", ...this.runs.map(({ document: d }) => `late, ${d.label}`)] : ["at, s", "ms", "late", "lost", "spurious"];
    const rows = mine.slice(0, 2000).map((change) =>
      several
        ? [change.t_s, ...this.runs.map((each) => each.changes.find(({ t_s, pair }) => t_s === change.t_s && pair === change.pair)?.late ?? null)]
        : [change.t_s, `${change.before_ms?.toFixed(1) ?? "–"} → ${change.after_ms?.toFixed(1) ?? "–"}`, change.late, change.lost, change.vain],
    );
    const element = table(head, rows, (row) => this.seek(mine[row].t_s));
    const frame = document.createElement("div");
    frame.className = "scroll";
    frame.append(element);
    box.append(frame);
  }

  // --- what the user does ---

  private word(): string {
    return this.runs.every(({ document: d }) => d.medium === "access") ? "Reconfiguration" : "Route change";
  }

  private flowOf(run: Run): number {
    return Math.min(this.flow, run.document.flows.length - 1);
  }

  private toggle(): void {
    if (this.clock.playing) this.pause();
    else this.play();
  }

  private jump(step: 1 | -1): void {
    const there = this.clock.neighbour(step);
    if (there === null) return;
    this.clock.seek(there);
    this.changed();
    this.writeHash(true);
  }

  private scrub(t_s: number): void {
    this.clock.playing = false;
    this.seek(t_s);
  }

  private setSpeed(speed: Speed): void {
    this.clock.speed = speed;
    (this.parts["speed"] as HTMLSelectElement).value = String(speed);
    this.changed();
  }

  private setSpan(span_s: number): void {
    this.span_s = span_s >= this.clock.end_s ? 0 : span_s;
    if (this.span_s === 0) this.range = [0, this.clock.end_s];
    this.changed();
  }

  private setRange(range: [number, number]): void {
    this.range = range;
    this.span_s = range[1] - range[0] >= this.clock.end_s ? 0 : range[1] - range[0];
    this.changed();
  }

  private chooseFlow(flow: number): void {
    this.flow = flow;
    const choice = this.parts["flow"] as HTMLSelectElement | undefined;
    if (choice !== undefined) choice.value = String(flow);
    this.plots.build(flow, this.colours);
    this.buildChanges();
    this.changed();
  }

  private chooseSatellite(name: string): void {
    this.satellite = this.runs.some((run) => run.satellite(name) >= 0) ? name : "";
    this.link = null;
    this.changed();
  }

  private chooseLink(a: string, b: string): void {
    const known = this.runs.some((run) => run.direction(a, b) >= 0);
    this.link = known ? [a, b] : null;
    this.satellite = "";
    this.changed();
  }

  private listen(canvas: HTMLCanvasElement, globe: Globe, run: Run): void {
    let from: { x: number; y: number; lon: number; lat: number } | null = null;
    let moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, lon: this.camera.lon, lat: this.camera.lat };
      moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (Math.hypot(dx, dy) > 4) moved = true;
      if (!moved) return;
      // A point of the Earth follows the pointer: a radius is a radian.
      const degrees = 57.3 / ((Math.min(canvas.clientWidth, canvas.clientHeight) / 2 / 1.22) * this.camera.zoom);
      this.look(from.lon - dx * degrees, from.lat + dy * degrees, this.camera.zoom);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from !== null && !moved) {
        const box = canvas.getBoundingClientRect();
        this.pick(event.clientX - box.left, event.clientY - box.top, globe, run);
      }
      from = null;
      this.writeHash(true);
    });
    canvas.addEventListener("pointercancel", () => (from = null));
    canvas.addEventListener("dblclick", () => this.lookAtPath());
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.look(this.camera.lon, this.camera.lat, this.camera.zoom * Math.exp(-0.0015 * event.deltaY));
      },
      { passive: false },
    );
  }

  private pick(x: number, y: number, globe: Globe, run: Run): void {
    const node = globe.nodeAt(x, y, REACH_PX);
    if (node >= 0 && node < run.sky!.satellites) {
      this.chooseSatellite(run.name(node));
      return;
    }
    const way = run.path(run.document.flows[this.flowOf(run)].there, this.clock.t_s);
    const found = way === null ? null : globe.hopAt(x, y, [way.path], REACH_PX);
    const direction = found === null ? -1 : run.hopDirection(found.path, found.hop);
    const link = run.document.links[direction];
    if (link !== undefined) this.chooseLink(run.name(link.a), run.name(link.b));
    else this.chooseSatellite("");
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName)) return;
    if (target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter")) return;
    const flip = (key: keyof typeof this.show): void => {
      const input = this.parts[`show-${key}`] as HTMLInputElement | undefined;
      if (input === undefined) return;
      this.show[key] = input.checked = !this.show[key];
    };
    const small_s = this.clock.speed === "auto" ? 0.01 : Math.min(Number(this.clock.speed) / 10, 1);
    const acts: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowRight: () => (event.shiftKey ? this.scrub(this.clock.t_s + small_s) : this.jump(1)),
      ArrowLeft: () => (event.shiftKey ? this.scrub(this.clock.t_s - small_s) : this.jump(-1)),
      Home: () => this.seek(0),
      End: () => this.seek(this.clock.end_s),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      l: () => flip("links"),
      n: () => flip("names"),
      d: () => flip("night"),
      f: () => flip("flows"),
      Escape: () => this.chooseSatellite(""),
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
    this.changed();
  }

  private faster(step: 1 | -1): void {
    const place = SPEEDS.indexOf(this.clock.speed) + step;
    this.setSpeed(SPEEDS[Math.min(Math.max(place, 0), SPEEDS.length - 1)]);
  }

  private recolour(): void {
    this.colours = theme();
    this.plots.build(this.flow, this.colours);
    this.changed();
  }

  // --- drawing ---

  private changed(): void {
    this.dirty = true;
  }

  private frame(now: number): void {
    // A page that was hidden has slept: then the clock goes on from where it was.
    const wall_s = Math.min((now - this.wall_ms) / 1000, 0.1);
    this.wall_ms = now;
    if (this.clock.playing) {
      this.clock.advance(wall_s);
      this.dirty = true;
    }
    if (this.dirty) {
      const begin = performance.now();
      this.draw();
      if (this.frames.count === 0) this.frames.first_ms = performance.now();
      this.frames.count += 1;
      this.frames.drawing_ms += performance.now() - begin;
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  private draw(): void {
    if (!this.dirty) return;
    this.dirty = false;
    const t_s = this.clock.t_s;
    if (this.span_s > 0) this.follow();
    for (const pane of this.panes) this.drawPane(pane, t_s);
    this.plots.show(this.range, t_s);
    this.scrubber.draw(t_s, this.range, this.colours);
    const play = this.parts["play"];
    const sign = this.clock.playing ? "❚❚" : "▶";
    if (play.textContent !== sign) play.textContent = sign;
    const rate = this.clock.rate();
    const digits = rate < 0.5 || !this.clock.playing ? 3 : rate < 5 ? 2 : 1;
    this.parts["time"].textContent = `${t_s.toFixed(digits)} s · ${rate >= 1 ? rate.toFixed(0) : rate.toPrecision(1)} ×`;
    this.words(t_s);
    this.writeHash(false);
  }

  /** Keeps the clock within the span that the plots show. */
  private follow(): void {
    const [begin, end] = this.range;
    const t_s = this.clock.t_s;
    const inside = t_s > begin + 0.1 * this.span_s && t_s < end - 0.2 * this.span_s;
    if (inside && Math.abs(end - begin - this.span_s) < 1e-9) return;
    const first = Math.min(Math.max(t_s - 0.35 * this.span_s, 0), this.clock.end_s - this.span_s);
    this.range = [first, first + this.span_s];
  }

  private drawPane(pane: Pane, t_s: number): void {
    const { run, packets, globe, sky, strip } = pane;
    const flow = this.flowOf(run);
    const { there } = run.document.flows[flow];
    const under = packets
      .underWay(t_s)
      .map((index) => packets.place(index, t_s))
      .filter((packet): packet is UnderWay => packet !== null);
    const lost = packets.lost(t_s, LOST_S);
    const pairs = this.show.flows ? [there, ...new Set(run.document.flows.map((each) => each.there))] : [there];
    const direction = this.link === null ? -1 : run.direction(...this.link);
    const link = run.document.links[direction];
    const onGlobe = link !== undefined && run.sky !== null && Math.max(link.a, link.b) < run.sky.places.length / 3;
    globe?.draw({
      t_s,
      camera: this.camera,
      colours: this.colours,
      pairs,
      allLinks: this.show.links,
      names: this.show.names,
      night: this.show.night,
      packets: this.show.flows ? under : under.filter((packet) => packet.flow === flow),
      lost: this.show.flows ? lost : lost.filter((packet) => packet.flow === flow),
      chosenSatellite: run.satellite(this.satellite),
      chosenLink: onGlobe ? [link.a, link.b] : null,
    });
    sky?.draw(t_s, there, this.colours);
    strip.draw(t_s, flow, under, lost, this.colours, direction);
    const mine = under.filter((packet) => packet.flow === flow);
    const back = mine.filter((packet) => packet.flags & BACK).length;
    const count = packets.known(t_s) ? { there: mine.length - back, back } : null;
    const text = pathInWords(run, there, t_s, count);
    if (pane.readout.textContent !== text) pane.readout.textContent = text;
  }

  /** Texts beside the globe; ten times a second are enough for reading. */
  private words(t_s: number): void {
    const now = performance.now();
    if (this.clock.playing && now - this.worded_ms < 100) return;
    this.worded_ms = now;
    const said = this.side.show(t_s, { satellite: this.satellite, link: this.link }, this.clock.neighbour(1));
    if (!this.clock.playing) this.tell(t_s, said);
  }

  private tell(t_s: number, text: string): void {
    const told = `${seconds(t_s)}. ${text}`;
    if (this.parts["live"].textContent !== told) this.parts["live"].textContent = told;
    for (const { globe, run } of this.panes) globe?.canvas.setAttribute("aria-label", `Globe of ${run.document.label} at ${told}`);
  }

  private writeHash(now: boolean): void {
    const at = performance.now();
    if (!now && (this.clock.playing || at - this.hashed_ms < HASH_MS)) return;
    this.hashed_ms = at;
    const view: View = {
      t: Number(this.clock.t_s.toFixed(4)),
      sat: this.satellite || undefined,
      link: this.link === null ? undefined : this.link.join(">"),
      flow: this.flow || undefined,
      speed: this.clock.speed === "auto" ? undefined : String(this.clock.speed),
      span: this.span_s > 0 ? Number(this.span_s.toFixed(3)) : undefined,
      lon: Number(this.camera.lon.toFixed(2)),
      lat: Number(this.camera.lat.toFixed(2)),
      zoom: Number(this.camera.zoom.toFixed(2)),
    };
    this.told = writtenView(view);
    // The frame of a notebook has no address of its own to write.
    if (location.protocol !== "about:" && location.hash !== this.told) history.replaceState(null, "", this.told);
  }
}
