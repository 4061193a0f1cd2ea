// @ts-check
// The page that compares two releases; which ones stands in its address.

import { sentences, statesOf } from "./changes.js";
import { element, isNew } from "./site.js";

const HEADS = [
  ["auto", "The backend that is picked"], ["takes", "What each backend takes"],
  ["kv", "KV cache dtypes"], ["flag", "Flags"],
];

/** @param {HTMLElement} place */
export const comparing = (place) => {
  if (!isNew(place)) return;
  const data = JSON.parse(place.querySelector("script")?.textContent || "{}");
  const form = place.querySelector("form");
  const out = place.querySelector(".kv-changes");
  const [engine, from, to] = form ? [...form.querySelectorAll("select")] : [];
  if (!form || !out || !to) return;
  form.hidden = false;
  const asked = new URLSearchParams(location.search);
  let states = statesOf([]);
  const choose = () => {
    states = statesOf(data.engines[engine.value]);
    const versions = [...states.keys()].reverse();
    for (const select of [from, to]) {
      select.replaceChildren(...versions.map((version) => element("option", "", version)));
    }
    from.value = versions[Math.min(1, versions.length - 1)];
  };
  const show = () => {
    const found = sentences(states.get(from.value) || {}, states.get(to.value) || {});
    const blocks = HEADS.flatMap(([kind, title]) => {
      const own = found.filter(([other]) => other === kind).map(([, said]) => {
        if (kind === "flag" || kind === "kv") return said;
        const [table] = said.split(" ");
        return `${data.titles[table]}: ${said.slice(table.length + 1)}`;
      });
      if (!own.length) return [];
      return [element("h3", "", `${title} (${own.length})`),
        element("ul", "", ...own.map((said) => element("li", "", said)))];
    });
    out.replaceChildren(...(blocks.length ? blocks
      : [element("p", "", "Nothing that the catalogue knows of.")]));
    const words = new URLSearchParams({ engine: engine.value, from: from.value, to: to.value });
    history.replaceState(history.state, "", `?${words}`);
  };
  const named = asked.get("engine") || "";
  if (named in data.engines) engine.value = named;
  choose();
  if (states.has(asked.get("from") || "")) from.value = asked.get("from") || "";
  if (states.has(asked.get("to") || "")) to.value = asked.get("to") || "";
  form.addEventListener("change", (event) => {
    if (event.target === engine) choose();
    show();
  });
  show();
};
