// SPDX-License-Identifier: Apache-2.0
// The path of a flow hop by hop: links drawn in proportion to their delays, queues in front of them, packets in flight.
// The previous path is drawn above it while packets are still on that path.

import type { Path } from "./document";
import { packetColour } from "./globe";
import { BACK, LATE, AGAIN, type UnderWay } from "./packets";
import type { InForce, Run } from "./run";
import { label, Surface } from "./surface";
import { queueColour, type Theme } from "./theme";

const MARGIN = 14;
const BAR = 34;
const KEPT_S = 1;
const SPREAD = 11;

interface Row {
  route: InForce;
  y: number;
  back: boolean;
  old: boolean;
}

export class Strip {
  private readonly surface: Surface;
  private rows: Row[] = [];
  private scale = 1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly run: Run,
  ) {
    this.surface = new Surface(canvas);
  }

  draw(t_s: number, flow: number, packets: UnderWay[], lost: UnderWay[], colours: Theme, chosen: number): void {
    this.surface.fit();
    const context = this.surface.cleared();
    const { width, height } = this.surface;
    const { there, back } = this.run.document.flows[flow];
    const mine = packets.filter((packet) => packet.flow === flow);
    const way = this.run.path(there, t_s);
    const old = this.run.replaced(there, t_s);
    const waysBack = this.run.path(back, t_s);
    this.rows = [];
    const abandoned = old !== null && t_s - old.until_s < KEPT_S;
    if (abandoned) this.rows.push({ route: old, y: 0.3 * height, back: false, old: true });
    if (way !== null) this.rows.push({ route: way, y: 0.66 * height, back: false, old: false });
    if (waysBack !== null) this.rows.push({ route: waysBack, y: 0.9 * height, back: true, old: false });
    const longest_s = Math.max(...this.rows.map(({ route }) => route.delays_s.reduce((a, b) => a + b, 0)), 1e-9);
    this.scale = (width - 2 * MARGIN) / longest_s;
    for (const row of this.rows) this.drawRow(context, row, t_s, colours, chosen);
    this.drawPackets(context, mine, lost.filter((packet) => packet.flow === flow), colours, way?.path.id ?? null);
    if (way === null) {
      context.font = "13px system-ui, sans-serif";
      context.textAlign = "center";
      label(context, "no path", width / 2, 0.66 * height, colours.lost, colours.panel);
    }
  }

  private x(row: Row, link: number, share: number): number {
    const gone = row.route.delays_s.slice(0, link).reduce((a, b) => a + b, 0) + share * row.route.delays_s[link];
    const x = MARGIN + gone * this.scale;
    return row.back ? this.surface.width - x : x;
  }

  private drawRow(context: CanvasRenderingContext2D, row: Row, t_s: number, colours: Theme, chosen: number): void {
    const { path } = row.route;
    context.globalAlpha = row.old ? 0.75 : 1;
    const hops = path.links.length;
    path.links.forEach((direction, link) => {
      const [a, b] = [this.x(row, link, 0), this.x(row, link, 1)];
      context.beginPath();
      context.moveTo(a, row.y);
      context.lineTo(b, row.y);
      context.strokeStyle = direction === chosen && direction >= 0 ? colours.pick : row.old ? colours.old : colours.line;
      context.lineWidth = row.back ? 1 : direction === chosen && direction >= 0 ? 3 : 2;
      context.setLineDash(row.old ? [5, 4] : []);
      context.stroke();
      context.setLineDash([]);
      if (!row.back && direction >= 0) this.drawQueue(context, a, row.y, direction, t_s, colours);
    });
    context.font = "11px system-ui, sans-serif";
    const stops = hops === path.nodes.length - 1 ? path.nodes : [path.nodes[0], path.nodes[path.nodes.length - 1]];
    let free = -Infinity;
    for (let stop = 0; stop <= hops; stop++) {
      const x = stop === hops ? this.x(row, hops - 1, 1) : this.x(row, stop, 0);
      context.beginPath();
      context.arc(x, row.y, row.back ? 2 : 3.5, 0, 7);
      context.fillStyle = row.old ? colours.old : colours.path;
      context.fill();
      if (row.back) continue;
      const node = hops === path.nodes.length - 1 ? stops[stop] : stop === 0 ? stops[0] : stop === hops ? stops[1] : -1;
      const text = node < 0 ? this.endOf(path, stop) : this.run.name(node);
      const wide = context.measureText(text).width;
      context.textAlign = stop === 0 ? "left" : stop === hops ? "right" : "center";
      const begin = stop === 0 ? x - 4 : stop === hops ? x - wide : x - wide / 2;
      const last = stop === hops ? -Infinity : this.surface.width - MARGIN - 60;
      if (begin < free || (stop > 0 && stop < hops && begin + wide > last)) continue;
      label(context, text, stop === 0 ? x - 4 : stop === hops ? x + 4 : x, row.y + 16, colours.quiet, colours.panel);
      free = begin + wide + 8;
    }
    context.textAlign = "left";
    const total = row.route.delays_s.reduce((a, b) => a + b, 0) * 1e3;
    const text = row.back ? "back" : `${row.old ? "the path before" : "path"}, ${total.toFixed(2)} ms`;
    if (!row.back) {
      context.font = "600 11px system-ui, sans-serif";
      context.textAlign = "right";
      label(context, text, this.surface.width - MARGIN + 4, row.y - 10, row.old ? colours.old : colours.ink, colours.panel);
    }
    context.globalAlpha = 1;
  }

  private endOf(path: Path, stop: number): string {
    const link = this.run.document.links[path.links[stop]];
    return link === undefined ? "" : this.run.name(link.a);
  }

  private drawQueue(
    context: CanvasRenderingContext2D, x: number, y: number, direction: number, t_s: number, colours: Theme,
  ): void {
    const waiting = this.run.queue(direction, t_s);
    if (waiting <= 0) return;
    const fill = Math.min(waiting / Math.max(this.run.limit(direction), 1), 1);
    const high = Math.max(fill * BAR, 2);
    context.fillStyle = queueColour(colours, Math.max(fill, 0.03));
    context.fillRect(x - 5, y - 5 - high, 10, high);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(x - 5, y - 5 - BAR, 10, BAR);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    label(context, String(waiting), x + 9, y - 5 - high + 8, colours.ink, colours.panel);
  }

  private drawPackets(
    context: CanvasRenderingContext2D, packets: UnderWay[], lost: UnderWay[], colours: Theme, current: number | null,
  ): void {
    for (const packet of packets) {
      const row = this.rowOf(packet);
      if (row === null || packet.waits) continue;
      const back = (packet.flags & BACK) !== 0;
      const x = this.x(row, packet.link, packet.share);
      context.fillStyle = packetColour(colours, packet, current);
      const size = back ? 1.6 : packet.flags & (LATE | AGAIN) ? 4 : 3;
      // Each packet has its own fixed vertical offset, because consecutive packets would otherwise merge into a bar.
      const layer = back ? 0 : ((Math.imul(packet.index, 2654435761) >>> 8) % 1000) / 1000 - 0.5;
      context.fillRect(x - size / 2, row.y - size / 2 + layer * SPREAD, size, size);
    }
    context.strokeStyle = colours.lost;
    context.lineWidth = 1.4;
    context.beginPath();
    for (const packet of lost) {
      const row = this.rowOf(packet);
      if (row === null) continue;
      const x = this.x(row, packet.link, packet.share);
      context.moveTo(x - 4, row.y - 4);
      context.lineTo(x + 4, row.y + 4);
      context.moveTo(x - 4, row.y + 4);
      context.lineTo(x + 4, row.y - 4);
    }
    context.stroke();
  }

  private rowOf(packet: UnderWay): Row | null {
    const back = (packet.flags & BACK) !== 0;
    const same = this.rows.filter((row) => row.back === back);
    return same.find((row) => row.route.path === packet.route.path) ?? (back ? (same[0] ?? null) : null);
  }

  /** Number of the direction of the link at a point; -1: no link is there. */
  directionAt(x: number, y: number): number {
    for (const row of this.rows) {
      if (Math.abs(row.y - y) > 14 && !(y < row.y && y > row.y - BAR - 8)) continue;
      for (let link = 0; link < row.route.path.links.length; link++) {
        const [a, b] = [this.x(row, link, 0), this.x(row, link, 1)];
        if (x >= Math.min(a, b) && x <= Math.max(a, b)) return row.route.path.links[link];
      }
    }
    return -1;
  }
}
