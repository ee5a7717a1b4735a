// SPDX-License-Identifier: Apache-2.0
// Buttons for the span that the traces show; 0: the whole run.

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
