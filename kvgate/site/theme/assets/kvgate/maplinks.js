// @ts-check
// The links of the map: which there are, what is around a record, and their lines.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {[string, string, string]} Edge from, to, type */

/**
 * The links as the page holds them, by the places of its records.
 * @param {{types: string[], edges: [number, number, number][]}} links @param {string[]} ids
 * @returns {Edge[]}
 */
export const named = ({ types, edges }, ids) =>
  edges.map(([source, target, type]) => [ids[source], ids[target], types[type]]);

/**
 * The links that begin or end at each record.
 * @param {Edge[]} edges
 */
export const ends = (edges) => {
  /** @type {Map<string, Edge[]>} */
  const found = new Map();
  for (const edge of edges) {
    for (const id of new Set([edge[0], edge[1]])) {
      const own = found.get(id);
      if (own) own.push(edge);
      else found.set(id, [edge]);
    }
  }
  return found;
};

/**
 * The records around one, with the steps that lead to each.
 * @param {Map<string, Edge[]>} touching @param {string} id @param {number} steps
 */
export const around = (touching, id, steps) => {
  /** @type {Map<string, number>} */
  const found = new Map([[id, 0]]);
  let last = [id];
  for (let step = 1; step <= steps; step += 1) {
    /** @type {string[]} */
    const next = [];
    for (const one of last) {
      for (const [source, target] of touching.get(one) || []) {
        const other = source === one ? target : source;
        if (found.has(other)) continue;
        found.set(other, step);
        next.push(other);
      }
    }
    last = next;
  }
  return found;
};

/** From the middle of a point to another's, a little bent. @param {DOMRect} a @param {DOMRect} b */
const bent = (a, b) => {
  const [x, y, u, v] = [a.left + a.width / 2, a.top + a.height / 2, b.left + b.width / 2, b.top + b.height / 2];
  return `M${x} ${y}Q${(x + u) / 2 + (v - y) / 8} ${(y + v) / 2 - (u - x) / 8} ${u} ${v}`;
};

/** From the side of a title to another's. @param {DOMRect} a @param {DOMRect} b */
const beside = (a, b) => {
  const same = a.left === b.left;
  const right = a.left < b.left;
  // Within a column both ends are on its left, where there is room for a bow.
  const [x, y] = [same || !right ? a.left : a.right, a.top + a.height / 2];
  const [u, v] = [same || right ? b.left : b.right, b.top + b.height / 2];
  const bow = same ? -14 : (u - x) / 2;
  return `M${x} ${y}C${x + bow} ${y} ${same ? u + bow : u - bow} ${v} ${u} ${v}`;
};

/**
 * The lines between elements of a field. They lie beside it in the page, not in it: columns are
 * laid out anew when anything in them changes.
 * @param {HTMLElement} field @param {Map<string, HTMLElement>} chips
 */
export const lines = (field, chips) => {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "kv-lines");
  picture.setAttribute("aria-hidden", "true");
  field.before(picture);
  /** @param {Edge[]} wanted @param {boolean} points */
  return (wanted, points) => {
    const frame = field.getBoundingClientRect();
    /** @type {Map<string, DOMRect>} */
    const places = new Map();
    for (const id of new Set(wanted.flatMap(([source, target]) => [source, target]))) {
      const box = chips.get(id)?.getBoundingClientRect();
      if (box?.width) places.set(id, new DOMRect(box.x - frame.x, box.y - frame.y, box.width, box.height));
    }
    picture.replaceChildren(...wanted.flatMap(([source, target, type]) => {
      const [from, to] = [places.get(source), places.get(target)];
      if (!from || !to) return [];
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `kv-edge kv-edge-${type}`);
      path.setAttribute("d", points ? bent(from, to) : beside(from, to));
      return [path];
    }));
  };
};
