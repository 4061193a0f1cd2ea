// @ts-check
// Records that the address of a page that is not there could have meant.

import { listOf } from "./finding.js";
import { element, get, isNew } from "./site.js";

/** @param {HTMLElement} place */
export const suggesting = async (place) => {
  if (!isNew(place)) return;
  const asked = decodeURIComponent(location.pathname).toLowerCase();
  const words = new Set(asked.split(/[^a-z0-9]+/).filter((word) => word.length > 1));
  /** @type {import("./matching.js").Signed[]} */
  const records = (await get("api/v1/signatures.json")).records;
  const finds = records
    .map((record) => {
      const own = new Set(`${record.id} ${record.title.toLowerCase()}`.split(/[^a-z0-9]+/));
      return { record, text: record.id, score: [...words].filter((word) => own.has(word)).length };
    })
    .filter((found) => found.score > 1)
    .sort((a, b) => b.score - a.score)
    .slice(0, 5);
  if (finds.length) place.replaceChildren(element("p", "", "Perhaps one of these:"), listOf(finds));
};
