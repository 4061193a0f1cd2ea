// @ts-check
// What stands beside the map: the record that was chosen with what it touches, else a list of some.

import { element } from "./site.js";

/** @typedef {import("./maplinks.js").Edge} Edge */

/** @type {[string, string, string][]} type, what it leads to, what leads to it */
const SAY = [
  ["prerequisite", "Read first", "Builds on this"],
  ["caused-by", "Caused by", "Follows from this"],
  ["superseded-by", "Superseded by", "Is superseded by this"],
  ["see-also", "See also", "Sees also"],
  ["wikilink", "Links to", "Links here"],
];
const MOST = 40;

/** The title of a record of the map. @param {HTMLElement} chip */
const title = (chip) => (chip.textContent || "").trim();

/** @param {HTMLElement} chip */
const link = (chip) => {
  const made = element("a", "kv-link", title(chip));
  made.setAttribute("href", chip.getAttribute("href") || "");
  made.dataset.kvId = chip.dataset.kvId;
  return made;
};

/** @param {HTMLElement[]} chips */
const list = (chips) => element(
  "ul", "kv-list",
  ...chips.map((chip) => element("li", `kv-${chip.dataset.severity}`, link(chip))),
);

/** @param {string} text @param {() => void} act */
const button = (text, act) => {
  const made = element("button", "md-button", text);
  made.setAttribute("type", "button");
  made.addEventListener("click", act);
  return made;
};

/**
 * A record, and the records that it touches by the kind of their link.
 * @param {HTMLElement} chip @param {Edge[]} near @param {Map<string, HTMLElement>} chips
 * @param {{around: () => void, leave: () => void}} act
 */
export const chosen = (chip, near, chips, act) => {
  const id = chip.dataset.kvId;
  const { severity = "", engine = "", gpu = "" } = chip.dataset;
  const about = [severity.replace(/-/g, " "), engine.replace(/ /g, ", "), gpu.replace(/ /g, ", ")];
  const parts = [
    element("p", `kv-chosen kv-${severity}`, link(chip)),
    element("p", "kv-type", about.filter(Boolean).join(" · ")),
  ];
  const seen = new Set([id]);
  for (const [type, to, from] of SAY) {
    for (const [say, own, other] of /** @type {[string, 0 | 1, 0 | 1][]} */ ([[to, 0, 1], [from, 1, 0]])) {
      const found = near.filter((edge) => edge[2] === type && edge[own] === id && !seen.has(edge[other]))
        .flatMap((edge) => { seen.add(edge[other]); return chips.get(edge[other]) || []; });
      if (found.length) parts.push(element("h3", "", say), list(found));
    }
  }
  if (!near.length) parts.push(element("p", "kv-type", "No link leads from it or to it."));
  const buttons = element("p", "kv-buttons", button("Close", act.leave));
  if (near.length) buttons.prepend(button("Only two steps around it", act.around));
  return [...parts, buttons];
};

/**
 * Some records under a heading, and how many more there are.
 * @param {string} heading @param {HTMLElement[]} chips
 */
export const some = (heading, chips) => {
  const more = chips.length - MOST;
  const parts = [element("h3", "", heading), list(chips.slice(0, MOST))];
  if (more > 0) parts.push(element("p", "kv-type", `and ${more} more: show titles, or narrow further`));
  return parts;
};
