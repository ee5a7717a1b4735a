// SPDX-License-Identifier: Apache-2.0
// The page: one clock, and what stands where it does.

import { changesTable } from "./changes";
import { Clock, type Speed } from "./clock";
import type { PageDocument } from "./document";
import { type Camera, Globe } from "./globe";
import { readView, type View, writtenView } from "./hash";
import { type Measure, measureNamed, MEASURES } from "./load";
import { LoadBox, loadChoice } from "./loadbox";
import type { LoadScene } from "./loaddrawing";
import { middleOf } from "./middle";
import { BACK, PacketsOf, type UnderWay } from "./packets";
import { fillLegend, paragraph, pathInWords, seconds } from "./panel";
import { type Marks, Plots } from "./plots";
import { listen } from "./pointer";
import { Run } from "./run";
import { Scrubber } from "./scrubber";
import { Side } from "./side";
import { wrapped } from "./sky";
import { SkyView } from "./skyview";
import { Strip } from "./strip";
import { fillSpans } from "./spans";
import { type Theme, theme } from "./theme";

const SPEEDS: Speed[] = ["auto", 0.005, 0.02, 0.1, 1, 10, 60];
/** How often the address is written while the page is used. */
const HASH_MS = 500;
const LOST_S = 0.03;
const REACH_PX = 14;
const NEAR_PX = 6;
const MANY_FLOWS = 8;
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
  private measure: Measure | null = null;
  private loadBox!: LoadBox;
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
      load: this.measure,
      loads: this.measure === null ? [] : run.load?.at(t_s).links.map(({ number: at, ...values }) => ({ link: run.document.links[at], ...values })),
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
    if (this.many) {
      this.setLoad(MEASURES[0]);
      // Most of many flows are short: the one that there is the most to see of.
      const lives = this.runs[0].document.flows.map(({ start_s, end_s }) => end_s - start_s);
      this.chooseFlow(lives.indexOf(Math.max(...lives)));
    }
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
    if (view.load !== undefined) this.setLoad(measureNamed(view.load));
    if (view.span !== undefined && view.span >= 0) this.setSpan(view.span);
    if (view.lon !== undefined && view.lat !== undefined) this.look(view.lon, view.lat, view.zoom ?? 1);
    this.changed();
  }

  private lookAtPath(): void {
    const run = this.runs[0];
    if (run.sky === null) return;
    const places = run.sky.at(0);
    const way = run.path(run.document.flows[this.flowOf(run)]?.there ?? 0, this.firstInstant());
    // Of many flows no path is the one to look at.
    const nodes = this.many ? run.sky.document.stations.map((_, i) => run.sky!.satellites + i) : (way?.path.drawn ?? []);
    const { lon, lat, widest } = middleOf(places, nodes);
    this.look(lon, lat * 0.85, Math.min(Math.max(FILLED / widest, LEAST_ZOOM), MOST_ZOOM));
  }

  /** Turns the globe to nodes of which one is hidden. */
  private turnTo(run: Run, nodes: number[]): void {
    const globe = this.panes[run.number].globe;
    if (globe === null || nodes.some((node) => 3 * node >= run.sky!.places.length)) return;
    this.drawNow();
    if (nodes.every((node) => globe.place(node).visible)) return;
    const { lon, lat } = middleOf(run.sky!.at(this.clock.t_s), nodes);
    this.look(lon, lat * 0.85, this.camera.zoom);
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
    const loads = make("div", "load", side);
    const boxes = { now: make("div", "now", side), chosen: make("div", "chosen", side), hops: make("div", "hops", side) };
    const chooseLink = (a: string, b: string): void => this.chooseLink(a, b);
    this.side = new Side(this.runs, boxes, this.word(), (run) => this.flowOf(run), chooseLink, (flow) => this.chooseFlow(flow));
    this.parts["changes"] = make("div", "changes", side);
    this.runs.forEach((run) => this.panes.push(this.pane(run, views, make)));
    const acts = {
      measure: (measure: Measure) => this.setLoad(measure),
      link: (a: string, b: string, t_s: number | null) => {
        if (t_s !== null) this.scrub(t_s);
        this.chooseLink(a, b, true);
      },
      satellite: (name: string) => this.chooseSatellite(name, true),
    };
    this.loadBox = new LoadBox(loads, make("div", "legend load-legend", views), this.runs, acts);
    for (const pane of this.panes) strips.append(pane.strip.canvas.parentElement!);
    if (this.runs.some((run) => run.document.packets !== null)) fillLegend(make("p", "legend", strips));
    const spans = make("div", "spans", this.root);
    const box = make("div", "plots", this.root);
    this.plots = new Plots(box, this.runs, this.clock.end_s, this.marks, (t) => this.scrub(t), (range) => this.setRange(range)); // prettier-ignore
    this.buildBar(bar, make);
    fillSpans(spans, this.clock.end_s, (span_s) => this.setSpan(span_s));
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
      const drawn = globe;
      listen(canvas, {
        camera: () => this.camera,
        look: (lon, lat, zoom) => this.look(lon, lat, zoom),
        pick: (x, y) => this.pick(x, y, drawn, run),
        done: () => this.writeHash(true),
        home: () => this.lookAtPath(),
      });
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
    if (this.runs.some((run) => run.load !== null && run.sky !== null)) {
      this.parts["load"] = bar.appendChild(loadChoice((measure) => this.setLoad(measure)));
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

  private buildChanges(): void {
    const table = changesTable(this.runs, (run) => this.flowOf(run), `${this.word()}s`, (t_s) => this.seek(t_s));
    this.parts["changes"].replaceChildren(...table);
  }

  // --- what the user does ---

  /** So many flows that the network is of interest before a path. */
  private get many(): boolean {
    return this.runs[0].document.flows.length > MANY_FLOWS && this.parts["load"] !== undefined;
  }

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

  /** What is shown of all links; null: the paths alone. */
  private setLoad(measure: Measure | null): void {
    const choice = this.parts["load"] as HTMLSelectElement | undefined;
    if (choice === undefined) return;
    this.measure = measure;
    choice.value = measure ?? "";
    this.changed();
  }

  private loadOf(run: Run): LoadScene | null {
    return this.measure === null || run.load === null ? null : { load: run.load, measure: this.measure };
  }

  private chooseSatellite(name: string, turn = false): void {
    const run = this.runs.find((each) => each.satellite(name) >= 0);
    this.satellite = run === undefined ? "" : name;
    this.link = null;
    if (turn && run !== undefined) this.turnTo(run, [run.satellite(name)]);
    this.changed();
  }

  private chooseLink(a: string, b: string, turn = false): void {
    const run = this.runs.find((each) => each.direction(a, b) >= 0);
    this.link = run === undefined ? null : [a, b];
    this.satellite = "";
    const link = run?.document.links[run.direction(a, b)];
    if (turn && run !== undefined && link !== undefined) this.turnTo(run, [link.a, link.b]);
    this.changed();
  }

  private pick(x: number, y: number, globe: Globe, run: Run): void {
    const satellite = (reach: number): string => {
      const node = globe.nodeAt(x, y, reach);
      return node >= 0 && node < run.sky!.satellites ? run.name(node) : "";
    };
    const near = satellite(NEAR_PX);
    if (near !== "") return this.chooseSatellite(near);
    const way = run.path(run.document.flows[this.flowOf(run)].there, this.clock.t_s);
    const link = run.document.links[globe.directionAt(x, y, this.clock.t_s, way?.path ?? null, this.loadOf(run), REACH_PX)];
    // Thousands of satellites leave no room between them: a link is chosen before what is further away than it may be.
    if (link !== undefined) this.chooseLink(run.name(link.a), run.name(link.b));
    else this.chooseSatellite(satellite(REACH_PX));
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
      // One after the other, then the paths again.
      b: () => this.setLoad(this.measure === null ? MEASURES[0] : (MEASURES[MEASURES.indexOf(this.measure) + 1] ?? null)),
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
      load: this.loadOf(run),
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
    this.loadBox.show(this.measure, t_s, { satellite: this.satellite, link: this.link });
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
      flow: this.many ? this.flow : this.flow || undefined,
      load: this.measure ?? (this.many ? "paths" : undefined),
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
