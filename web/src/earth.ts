// SPDX-License-Identifier: Apache-2.0
// The Earth below the satellites: land, graticule, night. It is redrawn only if the view or the sun has moved.

import { geoCircle, geoGraticule10, geoOrthographic, geoPath } from "d3-geo";
import { feature, mesh } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import atlas from "world-atlas/countries-110m.json";
import { sunAt } from "./sky";
import type { Theme } from "./theme";

const TOPOLOGY = atlas as unknown as Topology<{ countries: GeometryCollection; land: GeometryCollection }>;
const LAND = feature(TOPOLOGY, TOPOLOGY.objects.land);
const BORDERS = mesh(TOPOLOGY, TOPOLOGY.objects.countries, (a, b) => a !== b);
const GRATICULE = geoGraticule10();
/** Time in seconds in which the sun moves a quarter of a degree. */
const SUN_STEP_S = 60;

export interface Look {
  lon: number;
  lat: number;
  /** Radius of the Earth in pixels. */
  radius: number;
  x: number;
  y: number;
  width: number;
  height: number;
  ratio: number;
}

export class Earth {
  private readonly canvas = document.createElement("canvas");
  private key = "";

  draw(onto: CanvasRenderingContext2D, look: Look, colours: Theme, unix_s: number | null): void {
    const sun = unix_s === null ? null : Math.floor(unix_s / SUN_STEP_S);
    const key = JSON.stringify([look, sun, colours.ocean]);
    if (key !== this.key) {
      this.key = key;
      this.paint(look, colours, sun === null ? null : sunAt(sun * SUN_STEP_S));
    }
    onto.drawImage(this.canvas, 0, 0, look.width, look.height);
  }

  private paint(look: Look, colours: Theme, sun: [number, number] | null): void {
    this.canvas.width = Math.round(look.width * look.ratio);
    this.canvas.height = Math.round(look.height * look.ratio);
    const context = this.canvas.getContext("2d")!;
    context.scale(look.ratio, look.ratio);
    const projection = geoOrthographic()
      .rotate([-look.lon, -look.lat])
      .scale(look.radius)
      .translate([look.x, look.y])
      .clipExtent([[-2, -2], [look.width + 2, look.height + 2]])
      .precision(0.4); // prettier-ignore
    const path = geoPath(projection, context);
    const fill = (colour: string, shape: Parameters<typeof path>[0]): void => {
      context.beginPath();
      path(shape);
      context.fillStyle = colour;
      context.fill();
    };
    const stroke = (colour: string, width: number, shape: Parameters<typeof path>[0]): void => {
      context.beginPath();
      path(shape);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke();
    };
    fill(colours.ocean, { type: "Sphere" });
    fill(colours.land, LAND);
    stroke(colours.graticule, 0.5, GRATICULE);
    stroke(colours.coast, 0.35, BORDERS);
    stroke(colours.coast, 0.7, LAND);
    if (sun !== null) {
      const midnight: [number, number] = [sun[0] + 180, -sun[1]];
      context.save();
      // Astronomical, nautical and civil twilight end when the sun is 18, 12 and 6 deg below the horizon.
      for (const radius of [90, 84, 78, 72]) fill(colours.night, geoCircle().center(midnight).radius(radius)());
      context.restore();
    }
    stroke(colours.line, 1, { type: "Sphere" });
  }
}
