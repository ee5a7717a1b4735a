/* SPDX-License-Identifier: Apache-2.0 */
/* Lines over one time axis, to zoom into: no library, no network. Drag: zoom; double-click: whole run; arrows: move;
   wheel with Ctrl: zoom at the pointer. Each pixel column shows the smallest and largest value in it, so that no dip
   is lost however many samples there are. */
"use strict";
function leowarpChart(root, data) {
  const rowHeight = 150, left = 62, right = 8, top = 6, gap = 22, dashes = [[], [6, 3], [6, 2, 2, 2], [2, 2], [10, 3]];
  const series = data.series.map((s, n) => ({ ...s, shown: data.first.includes(n), look: n, rows: s.rows.map((r) => ({ ...r, y: decode(r.y) })) }));
  let from = 0, to = data.end_s, pointer = null, drag = null;
  const canvas = document.createElement("canvas"), readout = document.createElement("p"), bar = document.createElement("p");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", data.label);
  canvas.style.cssText = "width:100%;touch-action:none;cursor:crosshair;display:block";
  readout.style.cssText = "font:12px/1.4 ui-monospace,monospace;min-height:1.4em;margin:.2rem 0;white-space:pre-wrap";
  root.append(bar, canvas, readout);

  function decode(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }
  function button(text, act) {
    const b = document.createElement("button");
    b.type = "button"; b.textContent = text; b.onclick = act; bar.append(b, " ");
    return b;
  }
  function show(a, b) {
    const span = Math.min(Math.max(b - a, 0.05), data.end_s);
    from = Math.min(Math.max(a, 0), data.end_s - span); to = from + span; draw();
  }
  function jump(step) {
    const middle = (from + to) / 2, all = data.changes;
    const next = step > 0 ? all.find((t) => t > middle + 0.01) : [...all].reverse().find((t) => t < middle - 0.01);
    if (next !== undefined) show(next - Math.min(4, (to - from) / 2), next + Math.min(4, (to - from) / 2));
  }
  button("whole run", () => show(0, data.end_s));
  if (data.changes.length) { button("◀ route change", () => jump(-1)); button("route change ▶", () => jump(1)); }
  function named(s) {
    const b = button("— " + s.label, () => {
      s.shown = !s.shown; b.style.opacity = s.shown ? 1 : 0.35; b.setAttribute("aria-pressed", String(s.shown)); draw();
    });
    b.style.color = s.colour; b.setAttribute("aria-pressed", "true");
  }
  if (data.first.length === series.length) series.forEach(named);
  else {
    /* More flows than can be told apart: those chosen get colour and dashes as they come. */
    const pick = document.createElement("select"), lead = new Option("show another of " + series.length + " flows …", "");
    let count = 0;
    const choose = (n) => {
      const s = series[n];
      s.colour = data.colours[count % data.colours.length]; s.look = count++; s.shown = true; named(s);
      for (const o of [...pick.options]) if (o.value === String(n)) o.remove();
    };
    pick.setAttribute("aria-label", "show another flow");
    pick.add(lead); series.forEach((s, n) => pick.add(new Option(s.label, String(n))));
    pick.onchange = () => { if (pick.value !== "") { choose(Number(pick.value)); pick.value = ""; draw(); } };
    bar.append(pick, " "); data.first.forEach(choose);
  }
  function nice(span, count) {
    const raw = span / count, base = 10 ** Math.floor(Math.log10(raw)), over = raw / base;
    return base * (over <= 1 ? 1 : over <= 2 ? 2 : over <= 5 ? 5 : 10);
  }
  function range(s, row) {
    const r = s.rows[row];
    return [Math.max(Math.floor((from - r.t0) / r.dt), 0), Math.min(Math.ceil((to - r.t0) / r.dt) + 1, r.y.length)];
  }
  function draw() {
    const scale = window.devicePixelRatio || 1, width = root.clientWidth || 900, rows = data.rows.length;
    const height = top + rows * (rowHeight + gap) + 16;
    canvas.width = width * scale; canvas.height = height * scale; canvas.style.height = height + "px";
    const g = canvas.getContext("2d");
    g.scale(scale, scale); g.clearRect(0, 0, width, height); g.font = "11px system-ui, sans-serif";
    const inner = width - left - right, px = (t) => left + ((t - from) / (to - from)) * inner;
    const step = nice(to - from, Math.max(inner / 110, 2)), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    data.rows.forEach((name, row) => {
      const y0 = top + row * (rowHeight + gap), y1 = y0 + rowHeight;
      let high = 0;
      for (const s of series) if (s.shown) { const [a, b] = range(s, row); for (let i = a; i < b; i++) if (s.rows[row].y[i] > high) high = s.rows[row].y[i]; }
      high = Math.min(high > 0 ? high * 1.05 : 1, data.tops[row] ?? Infinity);
      const py = (v) => y1 - (v / high) * rowHeight, tick = nice(high, 4);
      g.strokeStyle = "#ddd"; g.fillStyle = "#333"; g.lineWidth = 1; g.textAlign = "right"; g.textBaseline = "middle";
      for (let v = 0; v <= high; v += tick) {
        g.beginPath(); g.moveTo(left, py(v)); g.lineTo(width - right, py(v)); g.stroke();
        g.fillText(String(+v.toPrecision(6)), left - 5, py(v));
      }
      g.save(); g.translate(11, (y0 + y1) / 2); g.rotate(-Math.PI / 2); g.textAlign = "center"; g.fillText(name, 0, 0); g.restore();
      g.textAlign = "center"; g.textBaseline = "top";
      for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
        g.beginPath(); g.moveTo(px(t), y1); g.lineTo(px(t), y1 + 3); g.stroke();
        if (px(t) > left - 1 && px(t) < width - right - 10) g.fillText(t.toFixed(digits), px(t), y1 + 5);
      }
      g.save(); g.beginPath(); g.rect(left, y0, inner, rowHeight); g.clip();
      g.strokeStyle = "#cc79a7";
      for (const t of data.changes) if (t >= from && t <= to) { g.beginPath(); g.moveTo(px(t), y0); g.lineTo(px(t), y1); g.stroke(); }
      series.forEach((s) => { if (s.shown) line(g, s, row, s.look, px, py); });
      if (drag) { g.fillStyle = "rgba(0,114,178,.12)"; g.fillRect(Math.min(drag.x, drag.now), y0, Math.abs(drag.now - drag.x), rowHeight); }
      if (pointer !== null) { g.strokeStyle = "#999"; g.setLineDash([3, 3]); g.beginPath(); g.moveTo(px(pointer), y0); g.lineTo(px(pointer), y1); g.stroke(); }
      g.restore();
      g.strokeStyle = "#666"; g.setLineDash([]); g.beginPath(); g.moveTo(left, y0); g.lineTo(left, y1); g.lineTo(width - right, y1); g.stroke();
    });
    g.fillStyle = "#333"; g.textAlign = "center"; g.fillText("time, s", left + inner / 2, height - 13);
  }
  function line(g, s, row, n, px, py) {
    const r = s.rows[row], [a, b] = range(s, row);
    g.strokeStyle = s.colour; g.lineWidth = 1.2; g.setLineDash(series.length > 1 ? dashes[n % dashes.length] : []); g.beginPath();
    let pen = false, column = -1, low = 0, high = 0;
    const flush = () => { if (column >= 0) { if (pen) g.lineTo(column, py(low)); else g.moveTo(column, py(low)); g.lineTo(column, py(high)); pen = true; } };
    for (let i = a; i < b; i++) {
      const v = r.y[i];
      if (Number.isNaN(v)) { flush(); pen = false; column = -1; continue; }
      const at = px(r.t0 + i * r.dt), c = (b - a) > 3000 ? Math.round(at) : at;
      if (c === column) { low = Math.min(low, v); high = Math.max(high, v); } else { flush(); column = c; low = high = v; }
    }
    flush(); g.stroke(); g.setLineDash([]);
  }
  function timeAt(event) {
    const box = canvas.getBoundingClientRect();
    return from + ((event.clientX - box.left - left) / (box.width - left - right)) * (to - from);
  }
  function tell() {
    if (pointer === null || pointer < 0 || pointer > data.end_s) { readout.textContent = ""; return; }
    const lines = series.filter((s) => s.shown).map((s) => s.label + ": " + data.rows.map((name, row) => {
      const r = s.rows[row], v = r.y[Math.min(Math.max(Math.floor((pointer - r.t0) / r.dt + 1e-6), 0), r.y.length - 1)];
      return name.replace(/,.*/, "") + " " + (v === undefined || Number.isNaN(v) ? "–" : +v.toPrecision(5)) + name.replace(/.*,/, "");
    }).join(", "));
    readout.textContent = "at " + pointer.toFixed(2) + " s  " + lines.join("\n");
  }
  canvas.onpointerdown = (e) => { drag = { x: e.offsetX, now: e.offsetX, t: timeAt(e) }; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = (e) => { pointer = timeAt(e); if (drag) drag.now = e.offsetX; tell(); draw(); };
  canvas.onpointerup = (e) => { const d = drag; drag = null; if (d && Math.abs(e.offsetX - d.x) > 4) { const t = timeAt(e); show(Math.min(d.t, t), Math.max(d.t, t)); } else draw(); };
  canvas.onpointerleave = () => { pointer = null; tell(); draw(); };
  canvas.ondblclick = () => show(0, data.end_s);
  canvas.onkeydown = (e) => {
    const span = to - from, move = { ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2], ArrowUp: [0.2, -0.2], ArrowDown: [-0.25, 0.25] }[e.key];
    if (move) { e.preventDefault(); show(from + move[0] * span, to + move[1] * span); }
  };
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const t = timeAt(e), factor = e.deltaY > 0 ? 1.25 : 0.8;
    show(t - (t - from) * factor, t + (to - t) * factor);
  }, { passive: false });
  new ResizeObserver(draw).observe(root);
  draw();
}
/* The data are blocks, not scripts: the page's policy lets no other script than leowarp's run. */
for (const block of document.querySelectorAll("script.chart-data")) {
  leowarpChart(document.getElementById(block.dataset.of), JSON.parse(block.textContent));
}
