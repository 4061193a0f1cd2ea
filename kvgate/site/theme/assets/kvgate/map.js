// @ts-check
// The map of all records: what a record touches lights up, and filters leave out the rest.

import { isNew, linkAt } from "./site.js";

/** @param {HTMLElement} map */
export const mapping = (map) => {
  if (!isNew(map)) return;
  const data = map.querySelector("script[type='application/json']");
  /** @type {[string, string, string][]} */
  const edges = JSON.parse(data?.textContent || "[]");
  /** @type {Map<string, Map<string, string>>} */
  const beside = new Map();
  const SAY = { wikilink: "links to", prerequisite: "read first" };
  for (const [source, target, type] of edges) {
    const say = /** @type {Record<string, string>} */ (SAY)[type] || type.replace(/-/g, " ");
    for (const [one, other, words] of [[source, target, say], [target, source, `← ${say}`]]) {
      if (!beside.has(one)) beside.set(one, new Map());
      const known = beside.get(one);
      if (known && !known.has(other)) known.set(other, words);
    }
  }
  const chips = [...map.querySelectorAll("a[data-kv-id]")];
  /** @param {Element | null} chip */
  const light = (chip) => {
    map.classList.toggle("kv-lit", Boolean(chip));
    const own = chip?.getAttribute("data-kv-id") || "";
    const near = beside.get(own);
    for (const other of chips) {
      const id = other.getAttribute("data-kv-id") || "";
      const words = chip && near ? near.get(id) : undefined;
      other.classList.toggle("kv-on", Boolean(chip) && (id === own || words !== undefined));
      if (words) other.setAttribute("data-say", words);
      else other.removeAttribute("data-say");
    }
  };
  map.addEventListener("pointerover", (event) => light(linkAt(event.target)));
  map.addEventListener("pointerleave", () => light(null));
  map.addEventListener("focusin", (event) => light(linkAt(event.target)));
  map.addEventListener("focusout", () => light(null));
  const form = map.querySelector("form");
  if (!form) return;
  form.removeAttribute("hidden");
  form.addEventListener("input", () => {
    const wanted = [...new FormData(form).entries()].filter(([, value]) => value);
    for (const chip of chips) {
      const fits = wanted.every(([name, value]) =>
        (chip.getAttribute(`data-${name}`) || "").split(" ").includes(String(value)));
      const item = chip.closest("li");
      if (item) item.hidden = !fits;
    }
    for (const group of map.querySelectorAll("section")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
};
