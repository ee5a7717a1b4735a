// SPDX-License-Identifier: Apache-2.0
// A canvas at the screen's resolution.

export class Surface {
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  ratio = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d")!;
  }

  /** Adopts the size that the style sets; returns whether the size changed. */
  fit(): boolean {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return false;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    return true;
  }

  /** Clears the canvas; lengths are in CSS pixels. */
  cleared(): CanvasRenderingContext2D {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }
}

/** A text with a halo, so that it is readable on any background. */
export function label(
  context: CanvasRenderingContext2D, text: string, x: number, y: number, ink: string, halo: string,
): void {
  context.lineJoin = "round";
  context.lineWidth = 3.5;
  context.strokeStyle = halo;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}
