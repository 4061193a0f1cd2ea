// @ts-check
// Tables that can be sorted by a column and filtered by words.

import { element, isNew } from "./site.js";

/** What a cell is sorted by. @param {HTMLTableRowElement} row @param {number} at */
const valueOf = (row, at) => {
  const cell = row.cells[at];
  return cell.dataset.v ?? (cell.textContent || "").trim();
};

/** @param {HTMLTableElement} table @param {number} at @param {boolean} numbers @param {number} sign */
const sort = (table, at, numbers, sign) => {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.sort((a, b) => {
    const [left, right] = [valueOf(a, at), valueOf(b, at)];
    // What has no value comes last in either direction.
    if (left === "" || right === "") return Number(left === "") - Number(right === "");
    const order = numbers ? Number(left) - Number(right) : left.localeCompare(right);
    return sign * order;
  });
  body.append(...rows);
};

/** @param {HTMLTableElement} table */
export const sortable = (table) => {
  if (!isNew(table)) return;
  const heads = [...table.tHead?.rows[0].cells ?? []];
  heads.forEach((head, at) => {
    const button = element("button", "", head.textContent || "");
    button.setAttribute("type", "button");
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, at, "kvNumber" in head.dataset, down ? -1 : 1);
    });
  });
};

/** @param {HTMLInputElement} input */
export const filtering = (input) => {
  const table = document.getElementById(input.dataset.kvFilter || "");
  if (!(table instanceof HTMLTableElement) || !isNew(input)) return;
  input.closest("[hidden]")?.removeAttribute("hidden");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = (row.textContent || "").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
};
