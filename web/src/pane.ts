// SPDX-License-Identifier: Apache-2.0
// One run on the page: its globe, the sky above a dish, and the strip of its path.

import { make } from "./elements";
import { type Camera, Globe } from "./globe";
import type { LoadScene } from "./loaddrawing";
import { BACK, PacketsOf, type UnderWay } from "./packets";
import { pathInWords } from "./panel";
import { listen } from "./pointer";
import type { Run } from "./run";
import { SkyView } from "./skyview";
import { Strip } from "./strip";
import type { Theme } from "./theme";

const LOST_S = 0.03;

/** Elements that are drawn in addition to the paths. */
export interface Shown {
  links: boolean;
  names: boolean;
  night: boolean;
  flows: boolean;
}

export interface PaneScene {
  t_s: number;
  camera: Camera;
  colours: Theme;
  flow: number;
  show: Shown;
  load: LoadScene | null;
  satellite: string;
  link: [string, string] | null;
}

export interface PaneActs {
  camera(): Camera;
  look(lon: number, lat: number, zoom: number): void;
  pick(x: number, y: number, globe: Globe, run: Run): void;
  done(): void;
  home(): void;
  link(a: string, b: string): void;
}

export class Pane {
  readonly packets: PacketsOf;
  readonly globe: Globe | null = null;
  readonly strip: Strip;
  private readonly sky: SkyView | null = null;
  private readonly readout: HTMLElement;

  /** `colour`: colour of the run's name; null: the page has only one run. */
  constructor(
    readonly run: Run,
    views: HTMLElement,
    colour: string | null,
    acts: PaneActs,
  ) {
    this.packets = new PacketsOf(run);
    const frame = make("figure", "pane", views);
    const caption = make("figcaption", "", frame);
    const name = make("b", "", caption);
    name.textContent = run.document.label;
    if (colour !== null) name.style.color = colour;
    this.readout = make("span", "readout", caption);
    if (run.sky !== null) {
      const canvas = make("canvas", "globe", frame);
      canvas.setAttribute("role", "img");
      canvas.tabIndex = 0;
      const globe = new Globe(canvas, run);
      this.globe = globe;
      listen(canvas, {
        camera: () => acts.camera(),
        look: (lon, lat, zoom) => acts.look(lon, lat, zoom),
        pick: (x, y) => acts.pick(x, y, globe, run),
        done: () => acts.done(),
        home: () => acts.home(),
      });
      if (run.document.medium === "access") {
        const above = make("canvas", "sky", frame);
        above.setAttribute("role", "img");
        above.setAttribute("aria-label", "The sky above the dish: satellites by azimuth and elevation");
        this.sky = new SkyView(above, run);
      }
    }
    const stripBox = document.createElement("div");
    stripBox.className = "strip";
    if (colour !== null) make("b", "strip-name", stripBox).textContent = run.document.label;
    const canvas = make("canvas", "", stripBox);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The path hop by hop: links, queues, packets");
    this.strip = new Strip(canvas, run);
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const direction = this.strip.directionAt(event.clientX - box.left, event.clientY - box.top);
      const link = run.document.links[direction];
      if (link !== undefined) acts.link(run.name(link.a), run.name(link.b));
    });
  }

  draw({ t_s, camera, colours, flow, show, load, satellite, link: chosen }: PaneScene): void {
    const { run, packets } = this;
    const { there } = run.document.flows[flow];
    const under = packets
      .underWay(t_s)
      .map((index) => packets.place(index, t_s))
      .filter((packet): packet is UnderWay => packet !== null);
    const lost = packets.lost(t_s, LOST_S);
    const pairs = show.flows ? [there, ...new Set(run.document.flows.map((each) => each.there))] : [there];
    const direction = chosen === null ? -1 : run.direction(...chosen);
    const link = run.document.links[direction];
    const onGlobe = link !== undefined && run.sky !== null && Math.max(link.a, link.b) < run.sky.places.length / 3;
    this.globe?.draw({
      t_s,
      camera,
      colours,
      pairs,
      allLinks: show.links,
      load,
      names: show.names,
      night: show.night,
      packets: show.flows ? under : under.filter((packet) => packet.flow === flow),
      lost: show.flows ? lost : lost.filter((packet) => packet.flow === flow),
      chosenSatellite: run.satellite(satellite),
      chosenLink: onGlobe ? [link.a, link.b] : null,
    });
    this.sky?.draw(t_s, there, colours);
    this.strip.draw(t_s, flow, under, lost, colours, direction);
    const mine = under.filter((packet) => packet.flow === flow);
    const back = mine.filter((packet) => packet.flags & BACK).length;
    const count = packets.known(t_s) ? { there: mine.length - back, back } : null;
    const text = pathInWords(run, there, t_s, count);
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }
}
