// SPDX-License-Identifier: Apache-2.0
// Decodes a page's compressed text into header and arrays; the encoder is python/leowarp/view/container.py.

export const MISSING = -(2 ** 31);

export type Values = Int32Array | Int16Array | Uint8Array | Float64Array;

type Kind = "i32" | "t" | "u8" | "i16";
const WIDTH: Record<Kind, number> = { i32: 4, t: 4, u8: 1, i16: 2 };

/** The document in a container; each `{"$": i}` of the header is replaced by a typed array. */
export async function unpacked(text: string): Promise<unknown> {
  const compressed = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(content.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(content.subarray(4, 4 + length))) as Record<string, unknown>;
  let at = 4 + length;
  const arrays = (header["arrays"] as [Kind, number][]).map(([kind, count]) => {
    const planes = content.subarray(at, at + count * WIDTH[kind]);
    at += planes.length;
    return values(kind, count, planes);
  });
  return filled(header, arrays);
}

function values(kind: Kind, count: number, planes: Uint8Array): Values {
  if (kind === "u8") return planes;
  if (kind === "i16") {
    const found = new Int16Array(count);
    for (let i = 0; i < count; i++) found[i] = planes[i] | (planes[count + i] << 8);
    return found;
  }
  const found = kind === "t" ? new Float64Array(count) : new Int32Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const step =
      planes[i] | (planes[count + i] << 8) | (planes[2 * count + i] << 16) | (planes[3 * count + i] << 24);
    // Times may exceed 32 bits; other values are differences modulo 2^32.
    sum = kind === "t" ? sum + step : (sum + step) | 0;
    found[i] = sum;
  }
  return found;
}

function filled(value: unknown, arrays: Values[]): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, arrays));
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "$") return arrays[(value as { $: number }).$];
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, arrays)]));
}
