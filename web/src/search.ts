// SPDX-License-Identifier: Apache-2.0

/** Index of the last of some ascending values that is not above `x`; -1: all values are above `x`. */
export function lastAt(values: ArrayLike<number>, x: number, begin = 0, end = values.length): number {
  let [low, high] = [begin, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
