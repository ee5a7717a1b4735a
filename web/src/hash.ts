// SPDX-License-Identifier: Apache-2.0
// The part of the address after #, which encodes a view.

export interface View {
  t?: number;
  sat?: string;
  link?: string;
  flow?: number;
  speed?: string;
  span?: number;
  load?: string;
  lon?: number;
  lat?: number;
  zoom?: number;
  play?: boolean;
}

export function readView(hash: string): View {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key: string): number | undefined => {
    const value = given.get(key);
    return value === null || value === "" || !Number.isFinite(Number(value)) ? undefined : Number(value);
  };
  return {
    t: number("t"),
    sat: given.get("sat") ?? undefined,
    link: given.get("link") ?? undefined,
    flow: number("flow"),
    speed: given.get("speed") ?? undefined,
    span: number("span"),
    load: given.get("load") ?? undefined,
    lon: number("lon"),
    lat: number("lat"),
    zoom: number("zoom"),
    play: given.get("play") === "1" ? true : undefined,
  };
}

export function writtenView(view: View): string {
  const parts: string[] = [];
  for (const [key, value] of Object.entries(view)) {
    if (value === undefined || value === false) continue;
    // "~" and ">" stay unescaped, so that names of links are readable
    const text = encodeURIComponent(value === true ? "1" : String(value)).replace(/%3E/g, ">");
    parts.push(`${key}=${text}`);
  }
  return `#${parts.join("&")}`;
}
