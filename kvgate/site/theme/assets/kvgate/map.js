// @ts-check
// The map of all records: chosen, narrowed down, walked with keys. Its points are links, in the
// order of the page; one of them is a stop of the Tab key, arrows lead from there to the others.

import { chosen as aboutChosen, some } from "./mapbeside.js";
import { around, ends, lines, named } from "./maplinks.js";
import { isNew, linkAt } from "./site.js";

/** @typedef {import("./maplinks.js").Edge} Edge */

/** Links that are drawn unasked between the records that a filter leaves, at most. */
const FEW = 120;

/** The next point in a direction, by where the points stand. @param {HTMLElement[]} all @param {HTMLElement} from @param {number} down */
const across = (all, from, down) => {
  const here = from.getBoundingClientRect();
  let [best, least] = [from, Infinity];
  for (const one of all) {
    const there = one.getBoundingClientRect();
    const [y, x] = [(there.top - here.top) * down, Math.abs(there.left - here.left)];
    if (y > 4 && y + 3 * x < least) [best, least] = [one, y + 3 * x];
  }
  return best;
};

/** @param {HTMLElement} map */
export const mapping = (map) => {
  const field = map.querySelector(".kv-groups");
  const beside = map.querySelector(".kv-beside");
  const form = map.querySelector("form");
  if (!isNew(map) || !(field instanceof HTMLElement) || !beside || !form) return;
  /** @type {Map<string, HTMLElement>} */
  const chips = new Map();
  for (const chip of field.querySelectorAll("a[data-kv-id]")) {
    if (chip instanceof HTMLElement) chips.set(chip.dataset.kvId || "", chip);
  }
  const held = JSON.parse(map.querySelector("script[type='application/json']")?.textContent || "{}");
  const edges = named({ types: [], edges: [], ...held }, [...chips.keys()]);
  const touching = ends(edges);
  const texts = new Map([...chips].map(([id, chip]) => [id, `${id} ${chip.textContent}`.toLowerCase()]));
  const draw = lines(field, chips);
  const scripting = matchMedia("(scripting: enabled)").matches; // where the page knows points at all
  /** @type {Set<string>} */
  let shown = new Set(chips.keys());
  let [lit, chosen, points, stepped] = ["", "", false, false];

  /** @param {string} name */
  const control = (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
  const among = () => {
    const every = Boolean(new FormData(form).get("links"));
    if (!every && shown.size === chips.size) return [];
    const found = edges.filter(([source, target]) => shown.has(source) && shown.has(target));
    return every || points && found.length <= FEW ? found : [];
  };
  const redraw = () => draw(lit ? touching.get(lit) || [] : among(), points);

  /** @param {string} id */
  const light = (id) => {
    if (id === lit) return;
    lit = id;
    map.classList.toggle("kv-lit", Boolean(id));
    for (const on of field.querySelectorAll(".kv-on")) on.classList.remove("kv-on");
    for (const [source, target] of id ? touching.get(id) || [] : []) {
      chips.get(source)?.classList.add("kv-on");
      chips.get(target)?.classList.add("kv-on");
    }
    chips.get(id)?.classList.add("kv-on");
    redraw();
  };

  const to = new Map([...chips.keys()].map((id) => [id, new Set()]));
  for (const [source, target] of edges) to.get(target)?.add(source);
  const most = [...chips].sort(([a], [b]) => (to.get(b)?.size || 0) - (to.get(a)?.size || 0));

  const tell = () => {
    const chip = chips.get(chosen);
    if (chip) {
      beside.replaceChildren(...aboutChosen(chip, touching.get(chosen) || [], chips, {
        around: () => { control("of").value = chosen; filter(); },
        leave: () => choose(""),
      }));
    } else if (points && shown.size < chips.size) {
      const found = [...chips].filter(([id]) => shown.has(id)).map(([, one]) => one);
      beside.replaceChildren(...some(`${found.length} record${found.length === 1 ? "" : "s"}`, found));
    } else {
      beside.replaceChildren(...some(
        "Where most links lead",
        most.filter(([id]) => shown.has(id)).slice(0, 8).map(([, one]) => one),
      ));
    }
    beside.scrollTop = 0;
  };

  /** @type {HTMLElement | undefined} */
  let stopped;
  /** The one point that the Tab key stops at. @param {HTMLElement | undefined} [chip] */
  const stop = (chip) => {
    const one = chip || chips.get(chosen) || [...chips].find(([id]) => shown.has(id))?.[1];
    if (stopped) stopped.tabIndex = -1;
    if (one) one.tabIndex = 0;
    stopped = one;
  };

  /** @param {string} id */
  const choose = (id) => {
    if (id === chosen) return light(id);
    chips.get(chosen)?.removeAttribute("aria-current");
    chosen = id;
    chips.get(id)?.setAttribute("aria-current", "true");
    map.classList.toggle("kv-has-chosen", Boolean(id));
    if (id && points) stop(chips.get(id));
    light(id);
    tell();
  };

  const filter = () => {
    const values = new FormData(form);
    points = scripting && !values.get("view");
    map.classList.toggle("kv-dots", points);
    if (points !== stepped) for (const chip of chips.values()) chip.tabIndex = points ? -1 : 0;
    stepped = points;
    const words = String(values.get("words") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const of = String(values.get("of") || "");
    const near = chips.has(of) ? around(touching, of, 2) : null;
    const wanted = [...values.entries()]
      .filter(([name, value]) => value && ["severity", "engine", "gpu", "concept"].includes(name));
    shown = new Set([...chips].filter(([id, chip]) => (!near || near.has(id))
      && words.every((word) => texts.get(id)?.includes(word))
      && wanted.every(([name, value]) =>
        (chip.getAttribute(`data-${name}`) || "").split(" ").includes(String(value)))).map(([id]) => id));
    for (const [id, chip] of chips) chip.parentElement?.classList.toggle("kv-off", !shown.has(id));
    for (const group of field.querySelectorAll("section")) {
      group.classList.toggle("kv-off", !group.querySelector("li:not(.kv-off)"));
    }
    const out = form.querySelector("output");
    const where = near ? `, two steps around ${chips.get(of)?.textContent?.trim()}` : "";
    if (out) out.textContent = `${shown.size} of ${chips.size} records${where}`;
    const narrowed = Boolean(near || words.length || wanted.length);
    form.querySelector("button")?.toggleAttribute("hidden", !narrowed);
    const kept = new URLSearchParams(
      [...values.entries()].filter(([, value]) => value).map(([name, value]) => [name, String(value)]));
    history.replaceState(history.state, "", `${location.pathname}${kept.size ? `?${kept}` : ""}`);
    if (chosen && !shown.has(chosen)) choose("");
    if (points) stop();
    tell();
    redraw();
  };

  map.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") light(linkAt(event.target)?.getAttribute("data-kv-id") || chosen);
  });
  map.addEventListener("pointerleave", () => light(chosen));
  let before = "";
  field.addEventListener("pointerdown", () => { before = chosen; });
  field.addEventListener("focusin", (event) => choose(linkAt(event.target)?.getAttribute("data-kv-id") || chosen));
  field.addEventListener("click", (event) => {
    const id = linkAt(event.target)?.getAttribute("data-kv-id") || "";
    // A point says nothing yet: the first click or tap chooses it, the next one follows it.
    const plain = !(event.metaKey || event.ctrlKey || event.shiftKey);
    if (id && points && event.detail && plain && id !== before) event.preventDefault();
    if (id || event.target === field) choose(id);
  });
  field.addEventListener("keydown", (event) => {
    const from = linkAt(event.target);
    if (!points || !(from instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...chips].filter(([id]) => shown.has(id)).map(([, chip]) => chip);
    const at = all.indexOf(from);
    const to = {
      ArrowRight: () => all[at + 1], ArrowLeft: () => all[at - 1], Home: () => all[0], End: () => all.at(-1),
      ArrowDown: () => across(all, from, 1), ArrowUp: () => across(all, from, -1),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to()?.focus();
  });
  map.addEventListener("keydown", (event) => event.key === "Escape" && choose(""));

  for (const [name, value] of new URLSearchParams(location.search)) {
    const found = form.elements.namedItem(name);
    if (found instanceof HTMLInputElement && found.type === "checkbox") found.checked = true;
    else if (found) /** @type {HTMLInputElement} */ (found).value = value;
  }
  form.addEventListener("input", (event) => {
    if (event.target === control("links")) choose(""); // else its own links alone are drawn
    filter();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { control("of").value = ""; filter(); }));
  new ResizeObserver(redraw).observe(field);
  filter();
  const of = control("of").value;
  if (chips.has(of)) choose(of);
};
