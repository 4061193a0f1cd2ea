// @ts-check
// What the site does besides showing text. Plain JavaScript; every request goes to the site itself,
// and all text is set as text, or as HTML that can't run.

import { comparing } from "./comparing.js";
import { finding } from "./finding.js";
import { instant } from "./instant.js";
import { suggesting } from "./lost.js";
import { mapping } from "./map.js";
import { hide } from "./previews.js";
import { searching } from "./search.js";
import { filtering, sortable } from "./tables.js";

/**
 * @template {HTMLElement} T
 * @param {string} where @param {(place: T) => unknown} what
 */
const each = (where, what) => {
  /** @type {NodeListOf<T>} */
  const places = document.querySelectorAll(where);
  places.forEach(what);
};

const page = () => {
  hide();
  each("table[data-kv-sort]", sortable);
  // The theme puts wide tables into boxes that scroll, which keys don't reach.
  requestAnimationFrame(() => each(".md-typeset__scrollwrap", (box) => { box.tabIndex = 0; }));
  each("input[data-kv-filter]", filtering);
  each("dialog.kv-search", searching);
  each("form[data-kv-find]", finding);
  each("[data-kv-map]", mapping);
  // What asks the web worker is fetched where it is needed; the worker itself, when it is asked.
  each("[data-kv-planner]", async (place) => (await import("./planning.js")).planning(place));
  each("[data-kv-log]", async (place) => (await import("./looking.js")).looking(place));
  if (document.querySelector("[data-kv-run]")) {
    each("article", async (place) => (await import("./claims.js")).changing(place));
  }
  each("[data-kv-compare]", comparing);
  each("[data-kv-suggest]", (place) => suggesting(place).catch(() => null));
};

// The feed. The theme, which begins once the page is read, takes an `alternate` alone for the page in
// another language, and asks for all addresses there.
for (const link of document.querySelectorAll("link[rel=alternate][type='application/atom+xml']")) {
  link.setAttribute("rel", "alternate feed");
}
instant();
// Further pages are shown without loading this script again, and the theme is told so.
const pages = /** @type {any} */ (window).document$;
if (pages) pages.subscribe(page);
else page();
