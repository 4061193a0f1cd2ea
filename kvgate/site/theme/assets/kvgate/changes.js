// @ts-check
// What changed between two releases, of the facts that a page holds. Pure: nothing here knows of it.

/** @typedef {Record<string, string>} Facts */

const SHORT = 60; // letters; a longer default is a configuration of its own

/**
 * The facts of each release, from those of the first and what each later one changed.
 * @param {[string, Facts, string[]][]} steps
 */
export const statesOf = (steps) => {
  /** @type {Map<string, Facts>} */
  const states = new Map();
  /** @type {Facts} */
  let facts = {};
  for (const [version, set, gone] of steps) {
    facts = { ...facts, ...set };
    for (const key of gone) delete facts[key];
    states.set(version, facts);
  }
  return states;
};

/** @param {string} value */
const parts = (value) => new Set(value.split(", ").map((part) => part.replace(/^[{}()[\] ]+|[{}()[\] ]+$/g, "")));

/** Text in the order of its code points. @param {string} a @param {string} b */
const order = (a, b) => (a < b ? -1 : Number(a > b));

/**
 * [kind, what changed], as the build says it for neighbouring releases.
 * @param {Facts} before @param {Facts} after @returns {[string, string][]}
 */
export const sentences = (before, after) => {
  /** @type {[string, string][]} */
  const plain = [];
  /** @type {Map<string, [string, string, string[]]>} */
  const where = new Map();
  /** @param {Facts} facts */
  const asked = (facts) => new Set(Object.keys(facts).filter((key) => key.startsWith("auto|"))
    .map((key) => { const [, table, , at] = key.split("|"); return `${table}|${at}`; }));
  const [then, since] = [asked(before), asked(after)];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, now] = [before[key], after[key]];
    if (was === now) continue;
    const [kind, ...rest] = key.split("|");
    if (kind === "flag" || kind === "kv") {
      const what = kind === "flag" ? rest.join("|") : `KV cache dtype ${rest.join("|")}`;
      if (was === undefined) plain.push([kind, `${what} is new`]);
      else if (now === undefined) plain.push([kind, `${what} is gone`]);
      else if (Math.max(was.length, now.length) > SHORT) {
        const [old, fresh] = [parts(was), parts(now)];
        const more = [...fresh].filter((part) => !old.has(part)).sort(order);
        const less = [...old].filter((part) => !fresh.has(part)).sort(order);
        if (more.length) plain.push([kind, `${what} has now ${more.join(", ")}`]);
        if (less.length) plain.push([kind, `${what} no longer has ${less.join(", ")}`]);
      } else plain.push([kind, `${what}: the default is ${now || "unset"}, was ${was || "unset"}`]);
      continue;
    }
    const [table, name, at] = rest;
    if (!then.has(`${table}|${at}`) || !since.has(`${table}|${at}`)) continue;
    const said = kind === "auto"
      ? `${table} heads of ${name}: the choice is ${now || "none"}, was ${was || "none"}`
      : `${table} ${name} takes heads of ${now || "no size"}, took ${was || "no size"}`;
    const known = where.get(`${kind} ${said}`);
    if (known) known[2].push(at);
    else where.set(`${kind} ${said}`, [kind, said, [at]]);
  }
  plain.sort((a, b) => order(a[1], b[1]));
  const placed = [...where.values()].sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]));
  return [...plain, .../** @type {[string, string][]} */ (
    placed.map(([kind, said, places]) => [kind, `${said} (on ${places.join(", ")})`]))];
};
