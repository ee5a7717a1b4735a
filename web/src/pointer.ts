// SPDX-License-Identifier: Apache-2.0
// Pointer input of a globe: turning, zooming, clicking.

export interface Pointed {
  camera(): { lon: number; lat: number; zoom: number };
  look(lon: number, lat: number, zoom: number): void;
  pick(x: number, y: number): void;
  /** The pointer was released. */
  done(): void;
  home(): void;
}

export function listen(canvas: HTMLCanvasElement, acts: Pointed): void {
  let from: { x: number; y: number; lon: number; lat: number } | null = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const { lon, lat } = acts.camera();
    from = { x: event.clientX, y: event.clientY, lon, lat };
    moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(dx, dy) > 4) moved = true;
    if (!moved) return;
    // The point of the Earth under the pointer follows the pointer: a movement of one radius turns by a radian.
    const { zoom } = acts.camera();
    const degrees = 57.3 / ((Math.min(canvas.clientWidth, canvas.clientHeight) / 2 / 1.22) * zoom);
    acts.look(from.lon - dx * degrees, from.lat + dy * degrees, zoom);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from !== null && !moved) {
      const box = canvas.getBoundingClientRect();
      acts.pick(event.clientX - box.left, event.clientY - box.top);
    }
    from = null;
    acts.done();
  });
  canvas.addEventListener("pointercancel", () => (from = null));
  canvas.addEventListener("dblclick", () => acts.home());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { lon, lat, zoom } = acts.camera();
      acts.look(lon, lat, zoom * Math.exp(-0.0015 * event.deltaY));
    },
    { passive: false },
  );
}
