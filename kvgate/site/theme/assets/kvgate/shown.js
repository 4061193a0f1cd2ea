// @ts-check
// HTML that the worker answered with, as nodes. Its text was escaped where it was made; what could
// run is taken out here all the same, because a link may bring any input along.

const ELEMENTS = new Set(
  ("a caption code dd details div dl dt figure h2 h3 h4 li p pre section span strong summary table "
    + "tbody td th thead tr ul svg title desc rect text line polyline").split(" "));
const ATTRIBUTES = new Set(
  ("class data-kv-id open scope tabindex role aria-label viewbox xmlns font-family font-size width "
    + "height fill fill-opacity stroke stroke-width stroke-dasharray x y x1 x2 y1 y2 points "
    + "text-anchor").split(" "));

/** @param {string} html @returns {DocumentFragment} */
export const nodesOf = (html) => {
  // A document made so has no page: it loads nothing and runs nothing.
  const made = new DOMParser().parseFromString(html, "text/html");
  for (const one of [...made.body.querySelectorAll("*")]) {
    if (!ELEMENTS.has(one.localName)) {
      one.remove();
      continue;
    }
    for (const { name, value } of [...one.attributes]) {
      const link = name === "href" && new URL(value, location.href).origin === location.origin;
      if (!link && !ATTRIBUTES.has(name.toLowerCase())) one.removeAttribute(name);
    }
  }
  const fragment = document.createDocumentFragment();
  fragment.append(...made.body.childNodes);
  return fragment;
};
