// SPDX-License-Identifier: Apache-2.0
// Data of a page about its runs; python/leowarp/view/document.py writes the same structures.

export interface Station {
  name: string;
  position_m: [number, number, number];
  up: [number, number, number];
}

export interface SkyDocument {
  satellites: string[];
  keyframe_s: number;
  first_s: number;
  unit_m: number;
  positions: Int16Array;
  radius_m: number;
  unix_s: number;
  stations: Station[];
  links: {
    interval_s: number; a: Int32Array; b: Int32Array; from: Int32Array; until: Int32Array;
    /** Time that each link takes to be acquired; absent: all links are available at once. */
    acquired_ms?: Int32Array;
  } | null; // prettier-ignore
}

export interface Path {
  id: number | null;
  nodes: number[];
  /** Direction number of each link, -1: none. */
  links: number[];
  /** Nodes at which the path is drawn on the globe. */
  drawn: number[];
}

export interface Pair {
  source: number;
  destination: number;
  paths: Path[];
  t: Float64Array;
  path: Int32Array;
  delays_us: Int32Array;
  /** For each path that is replaced by another, the time of the replacement. */
  left_us: Int32Array;
}

export interface Flow {
  /** Name of the flow as in other outputs; several flows may share a name. */
  name: string;
  kind: "tcp" | "ping" | "udp" | "program";
  source: number;
  destination: number;
  congestion_control: string | null;
  there: number;
  back: number;
  start_s: number;
  /** Time at which the flow had delivered everything, was stopped, or the run ended. */
  end_s: number;
  rows: Record<string, Int32Array>;
  probes: { sent: Float64Array; took_us: Int32Array; is_round_trip: boolean } | null;
}

export interface Changes {
  t: Float64Array;
  pair: Int32Array;
  delay_before_us: Int32Array;
  delay_after_us: Int32Array;
  late_pkts: Int32Array;
  overtaken_pkts: Int32Array;
  lost_pkts: Int32Array;
  retransmissions_pkts: Int32Array;
  spurious_retransmissions_pkts: Int32Array;
  queue_left_pkts: Int32Array;
}

export interface Link {
  a: number;
  b: number;
  kind: string;
  limit_pkts: number | null;
  offered_pkts?: number | null;
  delivered_pkts?: number | null;
  dropped_queue_pkts?: number | null;
  dropped_loss_pkts?: number | null;
  dropped_down_pkts?: number | null;
  queue_max_pkts?: number | null;
}

export interface LoadDocument {
  step_s: number;
  directions: Int32Array;
  rows: Int32Array;
  steps: Int32Array;
  busy_permille: Int32Array;
  queue_pkts: Int32Array;
  dropped_pkts: Int32Array;
  run: { directions: Int32Array; busy_permille: Int32Array; queue_pkts: Int32Array; dropped_pkts: Int32Array };
}

export interface Packets {
  windows: [number, number][];
  sent: Float64Array;
  took: Int32Array;
  flags: Uint8Array;
  flow: Int16Array | Int32Array;
  path_id: Int16Array | Int32Array;
  dropped: Int16Array | Int32Array;
}

export interface RunDocument {
  label: string;
  name: string;
  directory: string;
  leowarp: string;
  kernel: string;
  seed: number;
  medium: string;
  in_flight: string;
  warnings: string[];
  end_s: number;
  tick_s: number;
  step_s: number;
  sky: SkyDocument | null;
  others: string[];
  pairs: Pair[];
  flows: Flow[];
  changes: Changes;
  links: Link[];
  queues: { directions: Int32Array; rows: Int32Array; steps: Int32Array; pkts: Int32Array };
  drops: { t: Float64Array; direction: Int32Array; cause: Uint8Array; of: number };
  load: LoadDocument | null;
  packets: Packets | null;
  /** Times in which no packet passes a link; for a dish that holds, both ends are its station. Absent: no gaps. */
  gaps?: { t: Float64Array; lasts: Int32Array; a: Int32Array; b: Int32Array };
  /** Names of the numbers in the rows `bbr_mode`. */
  bbr_modes: string[];
  fading: { snr_db: number; smallest_cdb: Int32Array; mean_cdb: Int32Array } | null;
}

export interface PageDocument {
  version: number;
  runs: RunDocument[];
}
