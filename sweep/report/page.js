"use strict";
// Sort a table by the column whose heading is pressed; numbers by size.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
  const body = table.tBodies[0];
  for (let i = 0; i < heads.length; i++) {
    heads[i].querySelector("button").addEventListener("click", () => {
      const up = heads[i].getAttribute("aria-sort") !== "ascending";
      for (const h of heads) h.setAttribute("aria-sort", "none");
      heads[i].setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[i];
        const text = cell.dataset.v ?? cell.textContent;
        if (text === "—") return null;
        const n = Number(text);
        return text.trim() === "" || Number.isNaN(n) ? text : n;
      };
      const rows = Array.from(body.rows, (row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null); // what is not there stands last
        const c = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
        return up ? c : -c;
      });
      body.append(...rows.map(([, row]) => row));
    });
  }
}
// Show only what contains all the words.
for (const input of document.querySelectorAll("input[type=search]")) {
  const said = input.closest(".filter").querySelector("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const items = input.dataset.table ? document.getElementById(input.dataset.table).tBodies[0].rows : document.getElementById(input.dataset.list).children;
    let shown = 0;
    for (const item of items) {
      const text = (input.dataset.table ? item : item.querySelector("summary")).textContent.toLowerCase();
      item.hidden = !words.every((w) => text.includes(w));
      shown += item.hidden ? 0 : 1;
    }
    said.textContent = words.length ? `${shown} of ${items.length}` : "";
  });
}
// A link to a cell opens it.
function open() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const details = target && target.closest("details");
  if (details) {
    details.hidden = false;
    details.open = true;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }
}
addEventListener("hashchange", open);
open();
