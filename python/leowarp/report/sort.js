/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of class "sortable": a click on the name of a column, or Enter on it, sorts by it, the most first; again, the
   least first. Numbers by the cell's data-v; what is missing comes last either way; equal rows stay as they stand. */
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") !== "descending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const rows = [...body.rows].map((row) => ({ row, key: key(row), number: parseFloat(key(row)) }));
    const numeric = [...body.rows].some((row) => "v" in row.cells[column].dataset);
    rows.sort((a, b) => {
      if (!numeric) return (falling ? -1 : 1) * a.key.localeCompare(b.key);
      if (isNaN(a.number) || isNaN(b.number)) return isNaN(a.number) - isNaN(b.number);
      return falling ? b.number - a.number : a.number - b.number;
    });
    body.append(...rows.map((each) => each.row));
  }));
}
