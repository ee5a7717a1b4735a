// SPDX-License-Identifier: Apache-2.0
// Buttons for the time span of the traces; 0: the whole run.

export function fillSpans(spans: HTMLElement, end_s: number, choose: (span_s: number) => void): void {
  const text = document.createElement("span");
  text.textContent = "Traces over";
  spans.append(text);
  for (const [span_s, name] of [[0, "the run"], [60, "60 s"], [10, "10 s"], [2, "2 s"]] as const) {
    if (span_s >= end_s) continue;
    const button = document.createElement("button");
    button.textContent = name;
    button.dataset["span"] = String(span_s);
    button.addEventListener("click", () => choose(span_s));
    spans.append(button);
  }
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = "drag: cursor · Ctrl + wheel: zoom · double-click: the run";
  spans.append(hint);
}

/** Range of the plots that keeps a time in view. */
export function followed([begin, end]: [number, number], t_s: number, span_s: number, end_s: number): [number, number] {
  const inside = t_s > begin + 0.1 * span_s && t_s < end - 0.2 * span_s;
  if (inside && Math.abs(end - begin - span_s) < 1e-9) return [begin, end];
  const first = Math.min(Math.max(t_s - 0.35 * span_s, 0), end_s - span_s);
  return [first, first + span_s];
}
