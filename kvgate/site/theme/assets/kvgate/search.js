// @ts-check
// The search of the site: an error pasted whole is looked for among the signatures, and words in
// Pagefind's index, of which only the parts that a query needs are fetched.

import { listOf } from "./finding.js";
import { go } from "./instant.js";
import { find } from "./matching.js";
import { element, get, isNew, root } from "./site.js";

/**
 * @typedef {{title: string, url: string, excerpt: string}} Part
 * @typedef {{url: string, excerpt: string, sub_results: Part[],
 *   meta: {title?: string, severity?: string, about?: string, summary?: string}}} Page
 * @typedef {{id: string, data: () => Promise<Page>}} Result
 * @typedef {{search: (words: string) => Promise<{results: Result[]}>}} Pagefind
 */

const PASTED = 12; // letters from which on a query may be a pasted line
const SHOWN = 8;
const MANY = 16; // words that a sentence is looked for by
const PAGES = 1000; // more than a word that tells anything is on
const WHOLE = 4; // pages with a name as it was typed, before those with its parts

/** @type {Promise<Pagefind> | undefined} */
let loading;
const pagefind = () => {
  loading ??= import(new URL("pagefind/pagefind.js", root()).href);
  loading.catch(() => { loading = undefined; });
  return loading;
};

/**
 * Records that a query names, or whose signature stands in it: nothing to be ranked.
 * @param {import("./matching.js").Signed[]} records @param {string} query
 */
const certain = (records, query) => {
  const id = query.trim().toLowerCase();
  const named = records.filter((record) => record.id === id);
  if (named.length) return { exact: named.map((record) => ({ record, score: 1, text: "its id" })), near: [] };
  if (query.length < PASTED) return { exact: [], near: [] };
  const { whole, similar } = find(records, query);
  return { exact: whole.slice(0, 3), near: similar.slice(0, 3) };
};

/**
 * What the index finds; of `head_dim` its parts, too, wherever the whole stands first.
 * @param {string} query
 */
const worded = async (query) => {
  const index = await pagefind();
  const meant = query.replace(/\boom\b/gi, "out of memory"); // as everyone says, and no page writes
  const { results } = await index.search(meant);
  const parts = meant.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  if (parts === meant.trim()) return { results, loose: false };
  const all = [...results.slice(0, WHOLE), ...(await index.search(parts)).results];
  return { results: all, loose: false };
};

/**
 * Pages with some of the words, for a sentence of which no page has all; a rare word counts more.
 * @param {string} query
 */
const loosely = async (query) => {
  const index = await pagefind();
  const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu));
  const found = await Promise.all([...words].slice(0, MANY).map((word) => index.search(word)));
  /** @type {Map<string, {result: Result, score: number, words: number}>} */
  const scored = new Map();
  for (const { results } of found) {
    results.forEach((result, at) => {
      const known = scored.get(result.id) || { result, score: 0, words: 0 };
      known.words += 1;
      // Its rank for the word parts those that have the same words.
      known.score += Math.log(1 + PAGES / results.length) * (1 + 1 / (1 + at));
      scored.set(result.id, known);
    });
  }
  // For a word that is nowhere the index gives what begins like it: one such is no find.
  const best = [...scored.values()].filter((one) => one.words > 1);
  best.sort((a, b) => b.score - a.score);
  return { results: best.map(({ result }) => result), loose: true };
};

/** Text of Pagefind's with its marks, as nodes: nothing of it becomes HTML. @param {string} text */
const marked = (text) => text.split(/<mark>|<\/mark>/).map((part, at) => {
  const plain = part.replace(/&(lt|gt|amp|quot|#39|#x27);/g, (_, name) =>
    /** @type {Record<string, string>} */ ({ lt: "<", gt: ">", amp: "&", quot: '"' })[name] || "'");
  return at % 2 ? element("mark", "", plain) : plain;
});

/** @param {string} url */
const here = (url) => new URL(url, location.href).href;

/** @param {Page[]} pages */
const pagesOf = (pages) => {
  const list = element("ol", "kv-finds");
  for (const page of pages) {
    const link = element("a", "", page.meta.title || page.url);
    link.setAttribute("href", here(page.url));
    const { severity, about, summary } = page.meta;
    const item = element("li", severity ? `kv-${severity}` : "", link);
    if (severity) {
      const said = [severity.replace(/-/g, " "), about].filter(Boolean).join(" · ");
      item.append(element("p", "kv-type", said), element("p", "", summary || ""));
    } else item.append(element("p", "", ...marked(page.excerpt)));
    const places = page.sub_results.filter((part) => part.url.includes("#")).slice(0, 3);
    if (places.length) {
      const links = places.map((part) => {
        const place = element("a", "", part.title);
        place.setAttribute("href", here(part.url));
        return place;
      });
      item.append(element("p", "kv-places", ...links.flatMap((one, at) => (at ? [" · ", one] : [one]))));
    }
    list.append(item);
  }
  return list;
};

/** @param {HTMLDialogElement} dialog */
export const searching = (dialog) => {
  if (!isNew(dialog)) return;
  const input = dialog.querySelector("input");
  const out = dialog.querySelector("output");
  if (!input || !out) return;
  let asked = 0;
  const look = async () => {
    const mine = ++asked;
    const query = input.value;
    if (query.trim().length < 2) return out.replaceChildren();
    /** @type {import("./matching.js").Signed[]} */
    let records = [];
    /** @type {Result[]} */
    let results = [];
    let lost = "";
    let loose = false;
    // Either answers alone: a reader with an error needs the signatures, and not the index.
    await Promise.all([
      query.length < 4 || get("api/v1/signatures.json").then((all) => { records = all.records; })
        .catch(() => { lost = "The signatures could not be loaded; these are pages with its words."; }),
      worded(query).then((found) => { ({ results, loose } = found); })
        .catch(() => { lost = "The search index could not be loaded; all signatures stand on one page."; }),
    ]);
    const { exact, near } = certain(records, query);
    if (!lost && !results.length && !exact.length && !near.length) {
      ({ results, loose } = await loosely(query).catch(() => ({ results, loose })));
    }
    const pages = await Promise.all(results.slice(0, 2 * SHOWN).map((result) => result.data()));
    if (mine !== asked) return; // the reader has typed on
    const known = new Set(exact.map((found) => new URL(found.record.path, root()).href));
    /** @type {Page[]} */
    const rest = [];
    for (const page of pages) {
      const url = here(page.url);
      if (!known.has(url) && rest.length < SHOWN) rest.push(page);
      known.add(url);
    }
    const count = exact.length + rest.length;
    const said = lost || (loose && count ? "Nothing has all these words. These have some of them:"
      : count ? "" : near.length ? "Not found as it stands. These share its rarest words:"
        : "Nothing has all these words.");
    out.replaceChildren(
      ...(exact.length ? [element("p", "kv-say", "Exactly this:"), listOf(exact)] : []),
      ...(said ? [element("p", "kv-say", said)] : []),
      ...(count ? [] : [listOf(near)]),
      ...(rest.length && !loose
        ? [element("p", "kv-say", exact.length ? "And pages with its words:" : "Pages:")] : []),
      ...(rest.length ? [pagesOf(rest)] : []),
    );
    out.dataset.kvFor = query;
  };
  /** @param {string} [words] what to look for at once */
  const open = (words) => {
    if (dialog.open) return;
    dialog.showModal();
    if (words) {
      input.value = words;
      look();
    }
    input.select();
    pagefind().catch(() => null);
  };
  let pause = 0;
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = window.setTimeout(look, 100);
  });
  dialog.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = out.querySelector("a");
    if (!first || out.dataset.kvFor !== input.value) return;
    dialog.close();
    go(new URL(first.href));
  });
  dialog.addEventListener("click", (event) => {
    const inside = event.target instanceof Element && event.target.closest("a, button");
    if (event.target === dialog || inside) dialog.close();
  });
  // Arrows go from one find to the next, and back into the box.
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [input, ...out.querySelectorAll("a")];
    const at = stops.indexOf(/** @type {any} */ (document.activeElement));
    const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  });
  document.addEventListener("click", (event) => {
    const opener = event.target instanceof Element && event.target.closest("[data-kv-open-search]");
    if (!opener) return;
    event.preventDefault();
    open(opener.getAttribute("data-kv-open-search") || "");
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element
      && event.target.closest("input, textarea, select, [contenteditable]");
    const command = (event.metaKey || event.ctrlKey) && event.key === "k";
    const plain = !event.metaKey && !event.ctrlKey && !event.altKey && !typing;
    if (!command && !(plain && ["/", "s", "f"].includes(event.key))) return;
    event.preventDefault();
    open();
  });
};
