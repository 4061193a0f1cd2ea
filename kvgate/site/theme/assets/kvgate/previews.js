// @ts-check
// Previews of links to records: on hover, on keyboard focus, and under a finger that rests on a link.

import { element, get, linkAt } from "./site.js";

/**
 * @typedef {{engine: string, introduced?: string, fixed?: string, last_affected?: string}} Range
 * @typedef {{id: string, title: string, severity: string, status: string, summary: string,
 *   fix?: string, affects: Range[]}} Summary
 */

/** @type {HTMLElement | null} */
let card = null;
/** @type {Element | null} */
let anchor = null;
let timer = 0;
let held = false;
let finger = false; // whether what is down is one

export const hide = () => {
  clearTimeout(timer);
  if (anchor) anchor.removeAttribute("aria-describedby");
  if (card) card.remove();
  card = anchor = null;
};

/** @param {Summary} record */
const cardOf = (record) => {
  const about = record.affects.map((a) => {
    const end = a.fixed ? `fixed in ${a.fixed}` : a.last_affected ? `up to ${a.last_affected}` : "";
    return [a.engine, a.introduced && `from ${a.introduced}`, end].filter(Boolean).join(" ");
  });
  const state = record.status === "active" ? "" : ` · ${record.status}`;
  const made = element(
    "div", `kv-preview kv-${record.severity}`,
    element("strong", "", record.title),
    element("p", "kv-type", [record.severity.replace(/-/g, " "), ...about].join(" · ") + state),
    element("p", "", record.summary),
  );
  if (record.fix) made.append(element("p", "", element("strong", "", "In short. "), record.fix));
  made.id = "kv-preview";
  made.setAttribute("role", "tooltip");
  return made;
};

/** @param {Element} link */
const show = async (link) => {
  const id = link.getAttribute("data-kv-id") || "";
  /** @type {Summary} */
  let record;
  try {
    record = await get(`api/v1/gotchas/${encodeURIComponent(id)}.json`);
  } catch {
    return; // a link without a preview is still a link
  }
  if (anchor !== link) return; // the reader has gone on
  if (card) card.remove();
  card = cardOf(record);
  document.body.append(card);
  link.setAttribute("aria-describedby", card.id);
  const place = link.getBoundingClientRect();
  const below = place.bottom + card.offsetHeight + 12 < innerHeight || place.top < innerHeight / 2;
  const left = Math.max(8, Math.min(place.left, innerWidth - card.offsetWidth - 8));
  const top = below ? place.bottom + 6 : place.top - card.offsetHeight - 6;
  card.style.left = `${left + scrollX}px`;
  card.style.top = `${Math.max(top, 8) + scrollY}px`;
};

/** @param {Element} link @param {number} wait */
const soon = (link, wait) => {
  if (anchor === link) return clearTimeout(timer);
  hide();
  anchor = link;
  timer = window.setTimeout(() => show(link), wait);
};

document.addEventListener("pointerover", (event) => {
  if (event.pointerType === "touch") return;
  const link = linkAt(event.target);
  if (link) soon(link, 120);
  else if (card && event.target instanceof Node && card.contains(event.target)) clearTimeout(timer);
  else if (anchor) {
    clearTimeout(timer);
    timer = window.setTimeout(hide, 200);
  }
});
document.addEventListener("focusin", (event) => {
  const link = linkAt(event.target);
  // A point of the map that is walked to is told beside the map.
  if (link && link.matches(":focus-visible") && !link.matches(".kv-dots .kv-chip")) soon(link, 0);
  else if (!held) hide();
});
document.addEventListener("focusout", () => !held && hide());
document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
// Touch: a tap follows the link as ever, a finger that rests on it shows the preview.
document.addEventListener("pointerdown", (event) => {
  held = false;
  finger = event.pointerType === "touch";
  if (!finger) return;
  const link = linkAt(event.target);
  if (!link) {
    if (card && event.target instanceof Node && !card.contains(event.target)) hide();
    return;
  }
  hide();
  anchor = link;
  timer = window.setTimeout(() => {
    held = true;
    show(link);
  }, 350);
});
for (const name of ["pointerup", "pointercancel", "scroll"]) {
  document.addEventListener(name, () => {
    if (finger && !held && !card) hide(); // it went on before its time
  }, { passive: true });
}
document.addEventListener("contextmenu", (event) => held && event.preventDefault());
document.addEventListener("click", (event) => {
  if (held && linkAt(event.target)) {
    event.preventDefault();
    event.stopPropagation();
  } else hide();
  held = false;
}, true);
