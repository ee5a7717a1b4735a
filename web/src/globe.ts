// SPDX-License-Identifier: Apache-2.0
// The globe of one run: satellites, links, stations, the path of each flow with its queues, packets in flight.

import { Earth, type Look } from "./earth";
import { AGAIN, BACK, LATE, type UnderWay } from "./packets";
import type { InForce, Run } from "./run";
import type { Path } from "./document";
import { drawLoad, loadedLinks, type LoadScene } from "./loaddrawing";
import { label, Surface } from "./surface";
import { queueColour, type Theme } from "./theme";

export interface Camera {
  lon: number;
  lat: number;
  zoom: number;
}

export interface Scene {
  t_s: number;
  camera: Camera;
  colours: Theme;
  /** Station pairs whose paths are drawn; the first pair is that of the chosen flow. */
  pairs: number[];
  allLinks: boolean;
  /** Measure that is drawn on all links; null: only the paths. */
  load: LoadScene | null;
  names: boolean;
  night: boolean;
  packets: UnderWay[];
  lost: UnderWay[];
  chosenSatellite: number;
  chosenLink: [number, number] | null;
}

/** Time in which an old path fades. */
const FADING_S = 1;
const PIECES = 6;
const FEW_STATIONS = 24;
/** Number of steps in which a link grows clearer while it is acquired. */
const CLEARER = 4;

export class Globe {
  private readonly surface: Surface;
  private readonly earth = new Earth();
  private look: Look = { lon: 0, lat: 0, radius: 1, x: 0, y: 0, width: 0, height: 0, ratio: 1 };
  /** x and y in pixels and depth of each node in the last frame. */
  private flat = new Float64Array(0);
  /** Areas already occupied by texts, so that texts do not cover each other. */
  private texts: [number, number, number, number][] = [];
  private linkedAt: { update: number; links: [Int32Array, Int32Array, number[]] | null } | null = null;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly run: Run,
  ) {
    this.surface = new Surface(canvas);
  }

  /** Position of a node on the canvas, px, and whether the Earth does not hide it. */
  place(node: number): { x: number; y: number; visible: boolean } {
    const [x, y, depth] = this.flat.subarray(3 * node, 3 * node + 3);
    return { x, y, visible: this.shown(x, y, depth) };
  }

  draw(scene: Scene): void {
    const sky = this.run.sky;
    if (sky === null) return;
    this.surface.fit();
    const context = this.surface.cleared();
    const { width, height, ratio } = this.surface;
    // 1.22: a shell at 1200 km has a radius of 1.19
    const radius = (Math.min(width, height) / 2 / 1.22) * scene.camera.zoom;
    const { lon, lat } = scene.camera;
    this.look = { lon, lat, radius, x: width / 2, y: height / 2, width, height, ratio };
    const unix_s = scene.night ? sky.document.unix_s + scene.t_s : null;
    this.project(sky.at(scene.t_s));
    this.texts = [];
    this.earth.draw(context, this.look, scene.colours, unix_s);
    if (scene.allLinks) this.drawLinks(context, scene);
    this.drawSatellites(context, scene);
    // Paths are few and are drawn above the names; loaded links are many and drawn below.
    if (scene.load === null) this.nameStations(context, scene);
    if (scene.load === null) {
      for (const pair of scene.pairs.slice().reverse()) this.drawWay(context, scene, pair, pair === scene.pairs[0]);
      this.drawPackets(context, scene);
    } else {
      const line = (a: number, b: number, colour: string, thick: number): void => this.line(context, a, b, colour, thick, []);
      drawLoad(context, this.run, scene.load, scene.t_s, scene.colours, line, (node) => this.place(node));
      this.nameStations(context, scene);
    }
    this.drawStations(context, scene);
    this.drawGaps(context, scene);
    this.drawChosen(context, scene);
  }

  private project(places: Float64Array): void {
    if (this.flat.length !== places.length) this.flat = new Float64Array(places.length);
    const { lon, lat, radius, x, y } = this.look;
    const rad = Math.PI / 180;
    const [cl, sl, cp, sp] = [Math.cos(lon * rad), Math.sin(lon * rad), Math.cos(lat * rad), Math.sin(lat * rad)];
    for (let i = 0; i < places.length; i += 3) {
      const [px, py, pz] = [places[i], places[i + 1], places[i + 2]];
      const level = cl * px + sl * py;
      this.flat[i] = x + radius * (cl * py - sl * px);
      this.flat[i + 1] = y - radius * (cp * pz - sp * level);
      this.flat[i + 2] = cp * level + sp * pz;
    }
  }

  private shown(x: number, y: number, depth: number): boolean {
    const [dx, dy] = [(x - this.look.x) / this.look.radius, (y - this.look.y) / this.look.radius];
    // A station may lie exactly in the plane of the limb; -0.02 keeps it visible there.
    return depth > -0.02 || dx * dx + dy * dy > 1;
  }

  private drawLinks(context: CanvasRenderingContext2D, scene: Scene): void {
    const sky = this.run.sky!;
    const interval = sky.document.links?.interval_s ?? 1;
    const update = Math.floor(scene.t_s / interval);
    if (this.linkedAt?.update !== update) this.linkedAt = { update, links: sky.linked(scene.t_s) };
    if (this.linkedAt.links === null) return;
    const [a, b, chosen] = this.linkedAt.links;
    const drawn = (links: number[]): void => {
      context.beginPath();
      for (const i of links) {
        const [m, n] = [3 * a[i], 3 * b[i]];
        if (this.flat[m + 2] < 0 || this.flat[n + 2] < 0) continue;
        context.moveTo(this.flat[m], this.flat[m + 1]);
        context.lineTo(this.flat[n], this.flat[n + 1]);
      }
      context.stroke();
    };
    const pointed = chosen.filter((i) => sky.acquired(i, scene.t_s) < 1);
    context.strokeStyle = scene.colours.isl;
    context.lineWidth = 0.5;
    drawn(pointed.length === 0 ? chosen : chosen.filter((i) => sky.acquired(i, scene.t_s) === 1));
    // A link grows clearer while it is acquired, in only a few steps, because each step is a separate canvas path.
    context.strokeStyle = scene.colours.gap;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    for (let step = 0; step < CLEARER; step++) {
      const mine = pointed.filter((i) => Math.floor(sky.acquired(i, scene.t_s) * CLEARER) === step);
      context.globalAlpha = 0.4 + (0.6 * (step + 1)) / CLEARER;
      drawn(mine);
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  private drawSatellites(context: CanvasRenderingContext2D, scene: Scene): void {
    const count = this.run.sky!.satellites;
    const size = count > 2000 ? 1.6 : 2.6;
    const half = size / 2;
    context.fillStyle = scene.colours.satellite;
    // First the nodes on the near side, then, paler, the nodes on the far side that are visible over the limb.
    for (let i = 0; i < 3 * count; i += 3) {
      if (this.flat[i + 2] >= 0) context.fillRect(this.flat[i] - half, this.flat[i + 1] - half, size, size);
    }
    context.globalAlpha = 0.35;
    for (let i = 0; i < 3 * count; i += 3) {
      const [x, y, depth] = [this.flat[i], this.flat[i + 1], this.flat[i + 2]];
      if (depth < 0 && this.shown(x, y, depth)) context.fillRect(x - half, y - half, size, size);
    }
    context.globalAlpha = 1;
  }

  private drawWay(context: CanvasRenderingContext2D, scene: Scene, pair: number, chosen: boolean): void {
    const old = this.run.replaced(pair, scene.t_s);
    const since_s = old === null ? Infinity : scene.t_s - old.until_s;
    if (old !== null && chosen && since_s < FADING_S) {
      context.globalAlpha = 0.9 * (1 - since_s / FADING_S);
      this.drawPath(context, scene, old.path, true, chosen);
      context.globalAlpha = 1;
    }
    const way = this.run.path(pair, scene.t_s);
    if (way !== null) this.drawPath(context, scene, way.path, false, chosen);
  }

  private drawPath(context: CanvasRenderingContext2D, scene: Scene, path: Path, old: boolean, chosen: boolean): void {
    const { colours, t_s } = scene;
    for (let hop = 0; hop + 1 < path.drawn.length; hop++) {
      const direction = this.run.hopDirection(path, hop);
      const fill = direction < 0 ? 0 : this.run.queue(direction, t_s) / Math.max(this.run.limit(direction), 1);
      const colour = old ? colours.old : queueColour(colours, fill);
      const thick = (chosen ? 2.2 : 1.1) + 4 * Math.min(fill, 1);
      this.line(context, path.drawn[hop], path.drawn[hop + 1], colour, thick, old ? [5, 4] : []);
    }
    if (!chosen) return;
    for (const node of path.drawn) {
      const at = this.place(node);
      if (!at.visible) continue;
      context.beginPath();
      context.arc(at.x, at.y, 3.4, 0, 7);
      context.fillStyle = old ? colours.old : colours.page;
      context.fill();
      context.strokeStyle = old ? colours.old : colours.path;
      context.lineWidth = 1.4;
      context.stroke();
      if (scene.names && !old && node < this.run.sky!.satellites && node !== scene.chosenSatellite) {
        context.font = "11px system-ui, sans-serif";
        this.text(context, this.run.name(node), at.x + 6, at.y - 5, colours.quiet, colours.page);
      }
    }
  }

  /** A straight line between two nodes; the part hidden by the Earth is thin. */
  private line(
    context: CanvasRenderingContext2D, a: number, b: number, colour: string, width: number, dashes: number[],
  ): void {
    const at = (share: number): [number, number, number] => {
      const mix = (axis: number): number =>
        this.flat[3 * a + axis] * (1 - share) + this.flat[3 * b + axis] * share;
      return [mix(0), mix(1), mix(2)];
    };
    context.strokeStyle = colour;
    context.lineCap = "round";
    for (const front of [false, true]) {
      context.beginPath();
      for (let piece = 0; piece < PIECES; piece++) {
        const middle = at((piece + 0.5) / PIECES);
        if (this.shown(...middle) !== front) continue;
        const [begin, end] = [at(piece / PIECES), at((piece + 1) / PIECES)];
        context.moveTo(begin[0], begin[1]);
        context.lineTo(end[0], end[1]);
      }
      context.setLineDash(front ? dashes : [2, 4]);
      context.lineWidth = front ? width : 0.8;
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** Pixel position on a path, given as link and distance along the link. */
  private along(route: InForce, link: number, share: number): [number, number, number] {
    const { path } = route;
    const hops = path.drawn.length - 1;
    let place = link + share;
    if (path.links.length !== hops) {
      // For links that represent several hops: the given share of the whole path.
      const total_s = route.delays_s.reduce((a, b) => a + b, 0) || 1;
      const gone_s = route.delays_s.slice(0, link).reduce((a, b) => a + b, 0) + share * route.delays_s[link];
      place = (gone_s / total_s) * hops;
    }
    const hop = Math.min(Math.floor(place), hops - 1);
    const [a, b] = [path.drawn[hop], path.drawn[hop + 1]];
    const part = place - hop;
    return [0, 1, 2].map((axis) => this.flat[3 * a + axis] * (1 - part) + this.flat[3 * b + axis] * part) as [
      number, number, number,
    ]; // prettier-ignore
  }

  private drawPackets(context: CanvasRenderingContext2D, scene: Scene): void {
    const { colours } = scene;
    const current = new Map<number, number | null>();
    for (const packet of scene.packets) {
      if (packet.waits) continue;
      const [x, y, depth] = this.along(packet.route, packet.link, packet.share);
      if (!this.shown(x, y, depth)) continue;
      const back = (packet.flags & BACK) !== 0;
      const pair = back ? this.run.document.flows[packet.flow].back : this.run.document.flows[packet.flow].there;
      if (!current.has(pair)) current.set(pair, this.run.path(pair, scene.t_s)?.path.id ?? null);
      context.fillStyle = packetColour(colours, packet, current.get(pair) ?? null);
      const size = back ? 1.5 : packet.flags & (LATE | AGAIN) ? 3.6 : 2.6;
      context.fillRect(x - size / 2, y - size / 2, size, size);
    }
    context.strokeStyle = colours.lost;
    context.lineWidth = 1.3;
    context.beginPath();
    for (const packet of scene.lost) {
      const [x, y, depth] = this.along(packet.route, packet.link, packet.share);
      if (!this.shown(x, y, depth)) continue;
      context.moveTo(x - 4, y - 4);
      context.lineTo(x + 4, y + 4);
      context.moveTo(x - 4, y + 4);
      context.lineTo(x + 4, y - 4);
    }
    context.stroke();
  }

  private drawStations(context: CanvasRenderingContext2D, scene: Scene): void {
    const sky = this.run.sky!;
    sky.document.stations.forEach((_, i) => {
      const at = this.place(sky.satellites + i);
      if (!at.visible) return;
      context.beginPath();
      context.moveTo(at.x, at.y - 5);
      context.lineTo(at.x + 4.5, at.y + 3.5);
      context.lineTo(at.x - 4.5, at.y + 3.5);
      context.closePath();
      context.fillStyle = scene.colours.ink;
      context.fill();
    });
  }

  /** Draws the links of paths that no packet passes now, and the dishes that hold packets. */
  private drawGaps(context: CanvasRenderingContext2D, scene: Scene): void {
    const { gap, page } = scene.colours;
    for (const { a, b } of this.run.gaps(scene.t_s)) {
      if (3 * Math.max(a, b) >= this.flat.length) continue;
      if (a !== b) {
        // The page's colour between the dashes covers the path's own line.
        this.line(context, a, b, page, 4, []);
        this.line(context, a, b, gap, 3, [4, 5]);
        continue;
      }
      const at = this.place(a);
      if (!at.visible) continue;
      context.beginPath();
      context.arc(at.x, at.y, 10, 0, 7);
      context.strokeStyle = gap;
      context.lineWidth = 3;
      context.setLineDash([4, 4]);
      context.stroke();
      context.setLineDash([]);
    }
  }

  private nameStations(context: CanvasRenderingContext2D, scene: Scene): void {
    const { stations } = this.run.sky!.document;
    if (stations.length > FEW_STATIONS && !scene.names) return;
    context.font = "600 12px system-ui, sans-serif";
    stations.forEach((station, i) => {
      const at = this.place(this.run.sky!.satellites + i);
      const left = at.x <= this.look.x ? at.x + 8 : at.x - 8 - context.measureText(station.name).width;
      if (at.visible) this.text(context, station.name, left, at.y + 14, scene.colours.ink, scene.colours.page);
    });
  }

  /** A text, unless the area is already occupied. */
  private text(context: CanvasRenderingContext2D, text: string, x: number, y: number, ink: string, halo: string): void {
    const [left, top, right, bottom] = [x - 2, y - 10, x + context.measureText(text).width + 2, y + 3];
    if (this.texts.some(([a, b, c, d]) => left < c && a < right && top < d && b < bottom)) return;
    this.texts.push([left, top, right, bottom]);
    context.textAlign = "left";
    label(context, text, x, y, ink, halo);
  }

  private drawChosen(context: CanvasRenderingContext2D, scene: Scene): void {
    const { chosenSatellite, chosenLink, colours } = scene;
    context.strokeStyle = colours.pick;
    if (chosenLink !== null) this.line(context, ...chosenLink, colours.pick, 4, [5, 5]);
    if (chosenSatellite < 0) return;
    const at = this.place(chosenSatellite);
    context.globalAlpha = at.visible ? 1 : 0.4;
    context.beginPath();
    context.arc(at.x, at.y, 8, 0, 7);
    context.strokeStyle = colours.pick;
    context.lineWidth = 2;
    context.stroke();
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "left";
    label(context, this.run.name(chosenSatellite), at.x + 11, at.y + 4, colours.pick, colours.page);
    context.globalAlpha = 1;
  }

  /** The satellite or station nearest to a point within a number of pixels; -1: none. */
  nodeAt(x: number, y: number, reach: number): number {
    let [best, nearest] = [-1, reach * reach];
    for (let node = 0; 3 * node < this.flat.length; node++) {
      const at = this.place(node);
      const away = (at.x - x) ** 2 + (at.y - y) ** 2;
      if (at.visible && away < nearest) [best, nearest] = [node, away];
    }
    return best;
  }

  /** The direction of a drawn link nearest to a point within a number of pixels; -1: none. */
  directionAt(x: number, y: number, t_s: number, path: Path | null, load: LoadScene | null, reach: number): number {
    const drawn =
      load !== null
        ? loadedLinks(this.run, load, t_s).map(({ number }) => ({ number, ...this.run.document.links[number] }))
        : (path?.drawn.slice(1) ?? []).map((b, hop) => ({ number: this.run.hopDirection(path!, hop), a: path!.drawn[hop], b }));
    let [best, nearest] = [-1, reach];
    for (const link of drawn) {
      const [a, b] = [this.place(link.a), this.place(link.b)];
      if (!a.visible && !b.visible) continue;
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const share = Math.min(Math.max(((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1), 0), 1);
      const away = Math.hypot(a.x + share * dx - x, a.y + share * dy - y);
      if (away < nearest) [best, nearest] = [link.number, away];
    }
    return best;
  }
}

/** Colour of a packet: by its fate if the fate is decided, otherwise by whether the packet left on the current path. */
export function packetColour(colours: Theme, packet: UnderWay, currentId: number | null): string {
  if (packet.flags & LATE) return colours.late;
  if (packet.flags & AGAIN) return colours.again;
  if (packet.flags & BACK) return colours.ack;
  return currentId !== null && packet.pathId !== currentId ? colours["packet-old"] : colours.packet;
}
