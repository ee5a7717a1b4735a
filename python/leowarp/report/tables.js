/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a page: a click on a head sorts by its column (again: the other way), a button copies them for a sheet. */
"use strict";
(() => {
  /* A cell's exact number is in its data-v; "1,998 (0.385 %)" is 1998, "94.89 Mbit/s" 94.89e6; what is missing comes
     last whichever way, and equal rows stay as they stand. */
  const units = { G: 1e9, M: 1e6, k: 1e3, m: 1e-3, u: 1e-6, n: 1e-9 };
  const weight = (text) => {
    const found = /^[-+−]?[\d,]*\.?\d+(?:e[-+]?\d+)?/.exec(text);
    if (!found) return null;
    const unit = /^\s*([GMkmun])(?:bit\/s|B\b|iB\b|s\b)/.exec(text.slice(found[0].length));
    return Number(found[0].replaceAll(",", "").replace("−", "-")) * (unit ? units[unit[1]] : 1);
  };
  const number = (row, at) => ("v" in row.cells[at].dataset ? Number(row.cells[at].dataset.v) : weight(said(row, at)));
  const said = (row, at) => row.cells[at].innerText.trim();
  const sort = (table, at, head) => {
    const direction = head.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const body = table.tBodies[0], rows = [...body.rows];
    const compare = (a, b) => {
      const [x, y] = [said(a, at), said(b, at)], [p, q] = [number(a, at), number(b, at)];
      if ((x === "–") !== (y === "–")) return x === "–" ? 1 : -1;
      return direction * (p !== null && q !== null ? q - p : y.localeCompare(x, "en", { numeric: true }));
    };
    rows.sort(compare).forEach((row) => body.append(row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction === 1 ? "descending" : "ascending");
  };
  for (const table of document.querySelectorAll("table")) {
    if (!table.tHead || table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button"; button.title = "sort by this column"; button.append(...head.childNodes);
      button.onclick = () => sort(table, at, head);
      head.append(button);
    });
    const copy = document.createElement("button");
    copy.type = "button"; copy.className = "copy"; copy.textContent = "copy";
    copy.onclick = async () => {
      const lines = [...table.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()).join("\t"));
      await navigator.clipboard.writeText(lines.join("\n"));
      copy.textContent = "copied";
    };
    table.caption?.firstElementChild.append(copy);
  }
})();
