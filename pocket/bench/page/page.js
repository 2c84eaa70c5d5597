"use strict";
// Numbers sort as numbers, empty cells always last, everything else as text in the reader's language.
const key = (row, column) => row.cells[column].dataset.sort;
const compare = (a, b) => {
  if (a === "" || b === "") return null;
  const [x, y] = [Number(a), Number(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
};

function sort(head, table) {
  const column = head.cellIndex;
  const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => {
    const [x, y] = [key(a, column), key(b, column)];
    return (compare(x, y) ?? (x === "") - (y === "")) * (x === "" || y === "" ? 1 : direction);
  });
  table.tBodies[0].append(...rows);
}

function filter(text, table) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.tBodies[0].rows) {
    const found = row.textContent.toLowerCase();
    row.hidden = !wanted.every((word) => found.includes(word));
  }
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) head.addEventListener("click", () => sort(head, table));
  const input = table.closest(".sheet").querySelector("input.filter");
  if (input) input.addEventListener("input", () => filter(input.value, table));
}
