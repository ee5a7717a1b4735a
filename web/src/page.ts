// SPDX-License-Identifier: Apache-2.0
// The page: one clock, and all parts that follow it.

import { Bar, SPEEDS } from "./bar";
import { changesTable } from "./changes";
import { Clock, type Speed } from "./clock";
import type { PageDocument } from "./document";
import { make, pressed } from "./elements";
import type { Camera, Globe } from "./globe";
import { readView, type View, writtenView } from "./hash";
import { type Measure, measureNamed, MEASURES } from "./load";
import { LoadBox } from "./loadbox";
import type { LoadScene } from "./loaddrawing";
import { middleOf } from "./middle";
import { Pane, type Shown } from "./pane";
import { fillGapLegend, fillLegend, fillTop, footnote, seconds } from "./panel";
import { firstInstant, type Marks, marksOf, Plots } from "./plots";
import { Run } from "./run";
import { Side } from "./side";
import { wrapped } from "./sky";
import { fillSpans, followed } from "./spans";
import { type Theme, theme } from "./theme";

/** Interval at which the address is updated while the page is used. */
const HASH_MS = 500;
const REACH_PX = 14;
const NEAR_PX = 6;
const MANY_FLOWS = 8;
/** Share of the globe's radius that a path fills at first, within the limits of the zoom. */
const FILLED = 0.75;
const LEAST_ZOOM = 1.1;
const MOST_ZOOM = 3;

export class Page {
  readonly clock: Clock;
  readonly runs: Run[];
  private readonly panes: Pane[] = [];
  private readonly camera: Camera = { lon: 0, lat: 0, zoom: 1 };
  private colours: Theme;
  private flow = 0;
  private satellite = "";
  private link: [string, string] | null = null;
  private readonly show: Shown = { links: false, names: true, night: true, flows: false };
  private measure: Measure | null = null;
  private loadBox!: LoadBox;
  /** Length of the time span shown by the plots around the clock; 0: the whole run. */
  private span_s = 0;
  private range: [number, number];
  private plots!: Plots;
  private bar!: Bar;
  private side!: Side;
  private dirty = true;
  private wall_ms = 0;
  private hashed_ms = 0;
  private worded_ms = 0;
  private told = "";
  private readonly marks: Marks[];
  private changesBox!: HTMLElement;
  private live!: HTMLElement;
  /** Number of drawn frames and total drawing time, for measurements. */
  readonly frames = { count: 0, drawing_ms: 0, first_ms: 0 };

  constructor(
    private readonly root: HTMLElement,
    document_: PageDocument,
  ) {
    this.runs = document_.runs.map((run, number) => new Run(run, number));
    this.marks = marksOf(this.runs);
    const end_s = Math.max(...this.runs.map((run) => run.document.end_s));
    this.clock = new Clock(end_s, this.marks.map(({ t_s }) => t_s)); // prettier-ignore
    this.range = [0, end_s];
    this.colours = theme();
  }

  // --- interface for others: tests, and pages that embed this page ---

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

  /** State of a run as shown by the page at the time of the clock. */
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

  /** Positions of satellites on the globe of a run, canvas px, by name. */
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
      // If there are many flows, most are short: the longest flow is chosen first.
      const lives = this.runs[0].document.flows.map(({ start_s, end_s }) => end_s - start_s);
      this.chooseFlow(lives.indexOf(Math.max(...lives)));
    }
    this.clock.seek(firstInstant(this.marks));
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
    const way = run.path(run.document.flows[this.flowOf(run)]?.there ?? 0, firstInstant(this.marks));
    // With many flows, no path is a better choice than the others.
    const nodes = this.many ? run.sky.document.stations.map((_, i) => run.sky!.satellites + i) : (way?.path.drawn ?? []);
    const { lon, lat, widest } = middleOf(places, nodes);
    this.look(lon, lat * 0.85, Math.min(Math.max(FILLED / widest, LEAST_ZOOM), MOST_ZOOM));
  }

  /** Turns the globe towards some nodes if one of them is hidden. */
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
    this.root.replaceChildren();
    fillTop(make("header", "top", this.root), this.runs);
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
    this.changesBox = make("div", "changes", side);
    const paneActs = {
      camera: () => this.camera,
      look: (lon: number, lat: number, zoom: number) => this.look(lon, lat, zoom),
      pick: (x: number, y: number, globe: Globe, run: Run) => this.pick(x, y, globe, run),
      done: () => this.writeHash(true),
      home: () => this.lookAtPath(),
      link: chooseLink,
    };
    for (const run of this.runs) {
      const colour = this.runs.length > 1 ? this.colours.runs[run.number % this.colours.runs.length] : null;
      this.panes.push(new Pane(run, views, colour, paneActs));
    }
    const acts = {
      measure: (measure: Measure) => this.setLoad(measure),
      link: (a: string, b: string, t_s: number | null) => {
        if (t_s !== null) this.scrub(t_s);
        this.chooseLink(a, b, true);
      },
      satellite: (name: string) => this.chooseSatellite(name, true),
    };
    this.loadBox = new LoadBox(loads, make("div", "legend load-legend", views), this.runs, acts);
    fillGapLegend(strips, this.runs);
    for (const pane of this.panes) strips.append(pane.strip.canvas.parentElement!);
    if (this.runs.some((run) => run.document.packets !== null)) fillLegend(make("p", "legend", strips));
    const spans = make("div", "spans", this.root);
    const box = make("div", "plots", this.root);
    this.plots = new Plots(box, this.runs, this.clock.end_s, this.marks, (t) => this.scrub(t), (range) => this.setRange(range)); // prettier-ignore
    const barActs = {
      toggle: () => this.toggle(),
      jump: (step: 1 | -1) => this.jump(step),
      speed: (speed: Speed) => this.setSpeed(speed),
      flow: (flow: number) => this.chooseFlow(flow),
      load: (measure: Measure | null) => this.setLoad(measure),
      scrub: (t_s: number) => this.scrub(t_s),
      changed: () => this.changed(),
      recolour: () => this.recolour(),
    };
    this.bar = new Bar(bar, this.runs, this.clock, this.marks, this.word(), this.show, barActs);
    fillSpans(spans, this.clock.end_s, (span_s) => this.setSpan(span_s));
    this.plots.build(this.flow, this.colours);
    this.buildChanges();
    make("footer", "foot", this.root).append(footnote());
    this.live = make("div", "unseen", this.root);
    this.live.setAttribute("aria-live", "polite");
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private buildChanges(): void {
    const table = changesTable(this.runs, (run) => this.flowOf(run), `${this.word()}s`, (t_s) => this.seek(t_s));
    this.changesBox.replaceChildren(...table);
  }

  // --- user actions ---

  /** Whether there are so many flows that the page first shows the network instead of a path. */
  private get many(): boolean {
    return this.runs[0].document.flows.length > MANY_FLOWS && this.bar.hasLoad;
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
    this.bar.setSpeed(speed);
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
    this.bar.setFlow(flow);
    this.plots.build(flow, this.colours);
    this.buildChanges();
    this.changed();
  }

  /** Selects the measure drawn on all links; null: only the paths. */
  private setLoad(measure: Measure | null): void {
    if (!this.bar.hasLoad) return;
    this.measure = measure;
    this.bar.setLoad(measure);
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
    // Thousands of satellites leave no free space between them: a link takes precedence over a satellite that is
    // farther away than the limit.
    if (link !== undefined) this.chooseLink(run.name(link.a), run.name(link.b));
    else this.chooseSatellite(satellite(REACH_PX));
  }

  private key(event: KeyboardEvent): void {
    const small_s = this.clock.speed === "auto" ? 0.01 : Math.min(Number(this.clock.speed) / 10, 1);
    const done = pressed(event, {
      " ": () => this.toggle(),
      ArrowRight: () => (event.shiftKey ? this.scrub(this.clock.t_s + small_s) : this.jump(1)),
      ArrowLeft: () => (event.shiftKey ? this.scrub(this.clock.t_s - small_s) : this.jump(-1)),
      Home: () => this.seek(0),
      End: () => this.seek(this.clock.end_s),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      l: () => this.bar.flip("links"),
      n: () => this.bar.flip("names"),
      d: () => this.bar.flip("night"),
      f: () => this.bar.flip("flows"),
      // Shows each measure in turn, then only the paths again.
      b: () => this.setLoad(this.measure === null ? MEASURES[0] : (MEASURES[MEASURES.indexOf(this.measure) + 1] ?? null)),
      Escape: () => this.chooseSatellite(""),
    });
    if (done) this.changed();
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
    // A hidden page gets no frames: the clock then continues from its position.
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
    if (this.span_s > 0) this.range = followed(this.range, t_s, this.span_s, this.clock.end_s);
    for (const pane of this.panes) this.drawPane(pane, t_s);
    this.plots.show(this.range, t_s);
    this.bar.draw(this.range, this.colours);
    this.words(t_s);
    this.writeHash(false);
  }

  private drawPane(pane: Pane, t_s: number): void {
    const { run } = pane;
    pane.draw({
      t_s,
      camera: this.camera,
      colours: this.colours,
      flow: this.flowOf(run),
      show: this.show,
      load: this.loadOf(run),
      satellite: this.satellite,
      link: this.link,
    });
  }

  /** Texts beside the globe; ten updates per second are enough for reading. */
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
    if (this.live.textContent !== told) this.live.textContent = told;
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
    // A page inside a notebook's frame must not change the address.
    if (location.protocol !== "about:" && location.hash !== this.told) history.replaceState(null, "", this.told);
  }
}
