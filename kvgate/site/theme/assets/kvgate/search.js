// @ts-check
// What the theme's search cannot do: an error pasted whole, an id, and flags with their dashes.

import { listOf } from "./finding.js";
import { find } from "./matching.js";
import { element, get, isNew } from "./site.js";

const PASTED = 24; // letters from which on a query may be a pasted line

/**
 * Records for a query that the theme's index does not rank first.
 * @param {import("./matching.js").Signed[]} records @param {string} query
 */
const certain = (records, query) => {
  const id = query.trim().toLowerCase();
  const named = records.filter((record) => record.id === id);
  if (named.length) return named.map((record) => ({ record, score: 1, text: record.id }));
  return query.length < PASTED ? [] : find(records, query).whole.slice(0, 3);
};

/** @param {HTMLInputElement} input */
export const searching = (input) => {
  if (!isNew(input)) return;
  // The theme's dialog has no name for those who hear it.
  input.closest("[role=dialog]")?.setAttribute("aria-label", input.placeholder || "Search");
  const place = element("div", "kv-search md-typeset");
  document.querySelector(".md-search-result")?.before(place);
  // Before the theme looks: to its search a dash before a word means "without", and nobody means so.
  let typed = "";
  input.form?.addEventListener("input", () => {
    typed = input.value;
    const bare = input.value.replace(/(^|\s)--?(?=[a-z])/gi, "$1");
    if (bare !== input.value) input.value = bare;
  }, true);
  let asked = 0;
  input.addEventListener("input", async () => {
    const mine = ++asked;
    const query = typed;
    if (query.length < 8) return place.replaceChildren();
    const { records } = await get("api/v1/signatures.json");
    if (mine !== asked) return;
    const finds = certain(records, query);
    place.replaceChildren(...(finds.length ? [element("p", "", "Exactly this:"), listOf(finds)] : []));
  });
};
