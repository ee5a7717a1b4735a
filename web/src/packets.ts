// SPDX-License-Identifier: Apache-2.0
// Packets in flight at a time, and their positions on their paths.
//
// The trace contains a packet's sending time, arrival time and path. In between, the packet moves with the delays of
// the links. It spends the remaining time in queues, in proportion to the queue lengths on its path when it was sent.

import { MISSING } from "./container";
import type { InForce, Run } from "./run";
import { lastAt } from "./search";

export const LATE = 1;
export const AGAIN = 2;
export const VAIN = 4;
export const LOST = 8;
export const BACK = 16;

export interface UnderWay {
  index: number;
  flow: number;
  flags: number;
  pathId: number;
  /** Link of the packet and position on it: 0 is the beginning, where the packet waits if `waits`. */
  link: number;
  share: number;
  waits: boolean;
  route: InForce;
}

interface Course {
  route: InForce;
  /** Times at which the packet starts on each link, and at which it reaches the end, s after sending. */
  begins: Float64Array;
  ends: Float64Array;
}

export class PacketsOf {
  private readonly courses = new Map<number, Course | null>();
  private readonly longest: number;

  constructor(private readonly run: Run) {
    const packets = run.document.packets;
    this.longest = packets === null ? 0 : packets.took.reduce((most, took) => Math.max(most, took), 0);
  }

  /** Whether all packets in flight at a time are known. */
  known(t_s: number): boolean {
    return (this.run.document.packets?.windows ?? []).some(([begin, end]) => begin <= t_s && t_s < end);
  }

  /** Numbers of packets in flight; lost packets are included until they would have arrived. */
  underWay(t_s: number): number[] {
    const packets = this.run.document.packets;
    if (packets === null || !this.known(t_s)) return [];
    const now = this.run.tick(t_s);
    const found: number[] = [];
    for (let i = lastAt(packets.sent, now); i >= 0 && packets.sent[i] > now - this.longest - 1; i--) {
      const took = packets.took[i];
      if (took !== MISSING && packets.sent[i] + took > now) found.push(i);
    }
    return found.reverse();
  }

  /** Packets that were dropped within the last `span_s`. */
  lost(t_s: number, span_s: number): UnderWay[] {
    const packets = this.run.document.packets;
    if (packets === null || !this.known(t_s)) return [];
    const now = this.run.tick(t_s);
    const reach = now - (span_s + 0.5) / this.run.document.tick_s;
    const found: UnderWay[] = [];
    for (let i = lastAt(packets.sent, now); i >= 0 && packets.sent[i] > reach; i--) {
      if (!(packets.flags[i] & LOST)) continue;
      const route = this.route(i);
      if (route === null) continue;
      const link = Math.max(route.path.links.indexOf(packets.dropped[i]), 0);
      const reached_s = route.delays_s.slice(0, link).reduce((a, b) => a + b, 0);
      const since_s = (now - packets.sent[i]) * this.run.document.tick_s - reached_s;
      if (since_s >= 0 && since_s < span_s) found.push({ ...this.described(i, route), link, share: 0, waits: true });
    }
    return found;
  }

  /** Position of a packet in flight; null: its path is unknown. */
  place(index: number, t_s: number): UnderWay | null {
    let course = this.courses.get(index);
    if (course === undefined) {
      course = this.course(index);
      if (this.courses.size > 20000) this.courses.clear();
      this.courses.set(index, course);
    }
    if (course === null) return null;
    const packets = this.run.document.packets!;
    const { route, begins, ends } = course;
    const since_s = (this.run.tick(t_s) - packets.sent[index]) * this.run.document.tick_s;
    let link = 0;
    while (link < ends.length - 1 && since_s >= ends[link]) link++;
    const waits = since_s < begins[link];
    const length = ends[link] - begins[link];
    const share = waits || length <= 0 ? 0 : Math.min((since_s - begins[link]) / length, 1);
    return { ...this.described(index, route), link, share, waits };
  }

  private described(index: number, route: InForce) {
    const packets = this.run.document.packets!;
    const [flow, flags, pathId] = [packets.flow[index], packets.flags[index], packets.path_id[index]];
    return { index, flow, flags, pathId, route };
  }

  private route(index: number): InForce | null {
    const packets = this.run.document.packets!;
    const flow = this.run.document.flows[packets.flow[index]];
    const pair = packets.flags[index] & BACK ? flow.back : flow.there;
    const sent_s = packets.sent[index] * this.run.document.tick_s;
    return this.run.byId(pair, packets.path_id[index], sent_s) ?? this.run.path(pair, sent_s);
  }

  private course(index: number): Course | null {
    const packets = this.run.document.packets!;
    const route = this.route(index);
    if (route === null || route.path.links.length === 0) return null;
    const count = route.path.links.length;
    const sent_s = packets.sent[index] * this.run.document.tick_s;
    const took_s = packets.took[index] * this.run.document.tick_s;
    const moving_s = route.delays_s.reduce((a, b) => a + b, 0);
    const weights: number[] = [];
    let reached_s = sent_s;
    route.path.links.forEach((direction, link) => {
      // If no queue was seen, waiting is spread over the links in equal parts.
      weights.push(this.run.queue(direction, reached_s) + 1e-3);
      reached_s += route.delays_s[link];
    });
    const sum = weights.reduce((a, b) => a + b, 0);
    // Delays change during the flight, so all delays are scaled to the packet's measured travel time.
    const scale = moving_s > 0 ? Math.min(took_s / moving_s, 1) : 0;
    const waiting_s = Math.max(took_s - moving_s, 0);
    const [begins, ends] = [new Float64Array(count), new Float64Array(count)];
    let at = 0;
    for (let link = 0; link < count; link++) {
      begins[link] = at + (waiting_s * weights[link]) / sum;
      ends[link] = begins[link] + route.delays_s[link] * scale;
      at = ends[link];
    }
    return { route, begins, ends };
  }
}
