// SPDX-License-Identifier: Apache-2.0
// The only clock of a page: its position and its speed.

export type Speed = number | "auto";

/** Run seconds per real second: far from route changes, and near route changes (packets are in flight for 50 ms). */
const FAST = 12;
/** Minimum playing time of a short run. */
const LEAST_S = 10;
const SLOW = 0.04;
const BEFORE_S = 0.03;
const AFTER_S = 0.25;

export class Clock {
  t_s = 0;
  playing = false;
  speed: Speed = "auto";

  constructor(
    readonly end_s: number,
    /** Times of path changes, s, ascending. */
    readonly changes_s: number[],
  ) {}

  seek(t_s: number): void {
    this.t_s = Math.min(Math.max(t_s, 0), this.end_s);
  }

  /** Advances the clock by an amount of real time, in s. */
  advance(wall_s: number): void {
    this.seek(this.t_s + wall_s * this.rate());
    if (this.t_s >= this.end_s) this.playing = false;
  }

  /** Present speed: run seconds per real second. */
  rate(): number {
    if (this.speed !== "auto") return this.speed;
    let rate = Math.min(FAST, this.end_s / LEAST_S);
    for (const change of this.changes_s) {
      const [begin, end] = [change - BEFORE_S, change + AFTER_S];
      // The speed falls near a change, so that the change is not skipped.
      const away = this.t_s < begin ? (begin - this.t_s) / 0.5 : this.t_s > end ? (this.t_s - end) / 0.25 : 0;
      rate = Math.min(rate, SLOW + away);
    }
    return rate;
  }

  /** The change after or before the clock's position; null: there is none. */
  neighbour(step: 1 | -1): number | null {
    // A change within 1 ms counts as the present position.
    const there = this.changes_s.filter((t) => (step > 0 ? t > this.t_s + 1e-3 : t < this.t_s - 1e-3));
    return there.length === 0 ? null : step > 0 ? there[0] : there[there.length - 1];
  }
}
