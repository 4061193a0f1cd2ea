// @ts-check
// The box that a log is pasted into; nothing that is pasted leaves the page.

import { LONGEST, find } from "./matching.js";
import { element, get, isNew, root } from "./site.js";

const SENTENCE = 500; // letters up to which a text may be words of a reader's own

/** @param {import("./matching.js").Find[]} finds */
export const listOf = (finds) => {
  const list = element("ul", "kv-list");
  for (const { record, text } of finds) {
    const link = element("a", "kv-link", record.title);
    link.setAttribute("href", new URL(record.path, root()).href);
    link.setAttribute("data-kv-id", record.id);
    list.append(element("li", `kv-${record.severity}`, link, element("span", "kv-type", text)));
  }
  return list;
};

/** @param {HTMLFormElement} form */
export const finding = (form) => {
  if (!isNew(form)) return;
  form.removeAttribute("hidden");
  const box = form.querySelector("textarea");
  const out = form.querySelector("output");
  if (!box || !out) return;
  let asked = 0;
  /** @param {boolean} go whether a single find is gone to */
  const look = async (go) => {
    const mine = ++asked;
    if (!box.value.trim()) return out.replaceChildren();
    /** @type {import("./matching.js").Signed[]} */
    let records;
    try {
      records = (await get("api/v1/signatures.json")).records;
    } catch {
      return out.replaceChildren("The signatures could not be loaded; the page Signatures lists them.");
    }
    if (mine !== asked) return;
    const { whole, similar } = find(records, box.value);
    if (go && whole.length === 1) return location.replace(new URL(whole[0].record.path, root()));
    if (whole.length) out.replaceChildren(element("p", "", "This is in the text:"), listOf(whole));
    else if (similar.length) {
      const say = "No signature is in the text as a whole. These share its rarest words:";
      out.replaceChildren(element("p", "", say), listOf(similar));
    } else {
      const say = "No signature is in this text. kvgate diagnose also finds lines that were cut.";
      const words = box.value.replace(/\s+/g, " ").trim();
      const search = element("button", "md-button md-button--primary", "Search all pages for its words");
      search.setAttribute("type", "button");
      search.setAttribute("data-kv-open-search", words);
      out.replaceChildren(element("p", "", say), ...(words.length <= SENTENCE ? [search] : []));
    }
    if (box.value.length > LONGEST) {
      const most = LONGEST.toLocaleString("en");
      out.prepend(element("p", "", `Only the last ${most} characters of it were looked through.`));
    }
  };
  let pause = 0;
  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = window.setTimeout(() => look(false), 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    look(false);
  });
  const q = form.dataset.kvFind === "page" && new URLSearchParams(location.search).get("q");
  if (q) {
    box.value = q;
    look(true);
  }
};
