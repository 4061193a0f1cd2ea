// @ts-check
// The map of all records: links drawn between them, what a record touches lit, the rest filtered.

import { isNew, linkAt } from "./site.js";

const SVG = "http://www.w3.org/2000/svg";
/** @type {Record<string, string>} */
const SAY = { wikilink: "links to", prerequisite: "read first" };

/** @typedef {[string, string, string]} Edge from, to, type */

/**
 * The records around one, with the steps that lead to each.
 * @param {Edge[]} edges @param {string} id @param {number} steps
 */
export const around = (edges, id, steps) => {
  /** @type {Map<string, number>} */
  const found = new Map([[id, 0]]);
  for (let step = 1; step <= steps; step += 1) {
    for (const [source, target] of edges) {
      for (const [one, other] of [[source, target], [target, source]]) {
        if (found.get(one) === step - 1 && !found.has(other)) found.set(other, step);
      }
    }
  }
  return found;
};

/** @param {HTMLElement} map */
export const mapping = (map) => {
  const field = map.querySelector(".kv-groups");
  const form = map.querySelector("form");
  if (!isNew(map) || !(field instanceof HTMLElement) || !form) return;
  /** @type {Edge[]} */
  const edges = JSON.parse(map.querySelector("script[type='application/json']")?.textContent || "[]");
  /** @type {Map<string, HTMLElement>} */
  const chips = new Map();
  for (const chip of map.querySelectorAll("a[data-kv-id]")) {
    if (chip instanceof HTMLElement) chips.set(chip.dataset.kvId || "", chip);
  }
  const lines = document.createElementNS(SVG, "svg");
  lines.setAttribute("class", "kv-lines");
  lines.setAttribute("aria-hidden", "true");
  field.prepend(lines);

  /** Draw links between chips that are shown. @param {Edge[]} wanted */
  const draw = (wanted) => {
    const frame = field.getBoundingClientRect();
    /** @type {Map<string, DOMRect>} */
    const places = new Map();
    for (const id of new Set(wanted.flatMap(([source, target]) => [source, target]))) {
      const place = chips.get(id)?.getBoundingClientRect();
      if (place?.width) places.set(id, place);
    }
    lines.replaceChildren(...wanted.flatMap(([source, target, type]) => {
      const [from, to] = [places.get(source), places.get(target)];
      if (!from || !to) return [];
      const right = from.left < to.left;
      const [x, y] = [(right ? from.right : from.left) - frame.left, from.top + from.height / 2 - frame.top];
      // Within a column both ends are on its left, where there is room for a bow.
      const over = from.left === to.left || right;
      const [u, v] = [(over ? to.left : to.right) - frame.left, to.top + to.height / 2 - frame.top];
      const start = from.left === to.left ? u : x;
      const bow = from.left === to.left ? -14 : (u - x) / 2;
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `kv-edge kv-edge-${type}`);
      path.setAttribute("d", `M${start} ${y}C${start + bow} ${y} ${from.left === to.left ? u + bow : u - bow} ${v} ${u} ${v}`);
      return [path];
    }));
  };

  /** @param {string} id */
  const own = (id) => edges.filter(([source, target]) => source === id || target === id);
  const all = () => (new FormData(form).get("links") ? edges : []);
  let lit = "";
  /** @param {Element | null} chip */
  const light = (chip) => {
    const id = chip?.getAttribute("data-kv-id") || "";
    if (id === lit) return;
    lit = id;
    map.classList.toggle("kv-lit", Boolean(id));
    for (const on of map.querySelectorAll(".kv-on")) {
      on.classList.remove("kv-on");
      on.removeAttribute("data-say");
    }
    chips.get(id)?.classList.add("kv-on");
    const near = id ? own(id) : [];
    for (const [source, target, type] of near) {
      const say = SAY[type] || type.replace(/-/g, " ");
      const other = chips.get(source === id ? target : source);
      if (!other || other.dataset.say) continue;
      other.classList.add("kv-on");
      other.dataset.say = source === id ? say : `← ${say}`;
    }
    draw(id ? near : all());
  };
  map.addEventListener("pointerover", (event) => light(linkAt(event.target)));
  map.addEventListener("pointerleave", () => light(null));
  map.addEventListener("focusin", (event) => light(linkAt(event.target)));
  map.addEventListener("focusout", () => light(null));

  const filter = () => {
    const values = new FormData(form);
    const words = String(values.get("words") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const of = String(values.get("of") || "");
    const near = chips.has(of) ? around(edges, of, 2) : null;
    const wanted = [...values.entries()]
      .filter(([name, value]) => value && !["words", "of", "links"].includes(name));
    let count = 0;
    for (const [id, chip] of chips) {
      const text = `${id} ${chip.textContent}`.toLowerCase();
      const fits = (!near || near.has(id)) && words.every((word) => text.includes(word))
        && wanted.every(([name, value]) =>
          (chip.getAttribute(`data-${name}`) || "").split(" ").includes(String(value)));
      const item = chip.closest("li");
      if (item) item.hidden = !fits;
      count += Number(fits);
    }
    for (const group of map.querySelectorAll("section")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    const out = form.querySelector("output");
    if (out) out.textContent = `${count} of ${chips.size} records`;
    const kept = new URLSearchParams(
      [...values.entries()].filter(([, value]) => value).map(([name, value]) => [name, String(value)]));
    history.replaceState(history.state, "", `${location.pathname}${kept.size ? `?${kept}` : ""}`);
    draw(all());
  };
  for (const [name, value] of new URLSearchParams(location.search)) {
    const control = form.elements.namedItem(name);
    if (control instanceof HTMLInputElement && control.type === "checkbox") control.checked = true;
    else if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement) control.value = value;
  }
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  new ResizeObserver(() => draw(lit ? own(lit) : all())).observe(field);
  if (location.search) filter();
};
